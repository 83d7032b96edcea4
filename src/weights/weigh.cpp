#include "weights/weigh.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <memory>
#include <numeric>

#include "kvplan/error.h"
#include "kvplan/strings.h"
#include "weights/gguf_mixture.h"
#include "weights/rules.h"
#include "weights/share.h"
#include "weights/stored.h"
#include "weights/types.h"

namespace kvplan {

static bool counts(const TensorGroup& group, const WeightRequest& request) {
  if (group.component == Component::kMtp) return request.with_mtp;
  return request.with_towers || !is_tower(group.component);
}

static WeightType plain_type(Dtype dtype) {
  WeightType type;
  type.name = name(dtype);
  type.scope = Scope::kEverything;
  const std::uint64_t bytes = plain_bytes(dtype);
  type.millibits = static_cast<std::uint32_t>(8000 * (bytes == 0 ? 2 : bytes));
  return type;
}

// How the tensors of one plan are stored.
class Weigher::Storer {
 public:
  Storer(const WeightModel& model, const std::optional<std::string>& type, std::optional<Dtype> dtype,
         const Storer* like)
      : model_(model), plain_(plain_type(dtype.value_or(model.dtype))) {
    for (const TensorGroup& group : model.tensors) has_experts_ = has_experts_ || group.is_expert;
    eight_bit_ = with_scales_of(plain_, *find_weight_type("mlx-8bit"));
    if (type) {
      what_if(*type);
    } else if (!model.stored_weights.empty()) {
      name_ = model.stored_weights;
      as_stored_ = true;
      type_ = plain_;
    } else if (is_declared(model.quantization)) {
      declared_ = true;
      name_ = declared_weight_type(model);
      rules_ = like != nullptr && like->rules_ ? std::make_unique<RuleBook>(*like->rules_, model.quantization.rules)
                                               : std::make_unique<RuleBook>(model.quantization.rules);
      head_ = model.quantization.head_scheme ? std::optional(weight_type_of(*model.quantization.head_scheme))
                                             : std::nullopt;
      if (model.quantization.scheme) type_ = weight_type_of(*model.quantization.scheme);
      if (model.quantization.expert_scheme) expert_type_ = weight_type_of(*model.quantization.expert_scheme);
    } else {
      name_ = std::string(plain_.name);
      type_ = plain_;
    }
  }

  const WeightModel& model() const { return model_; }
  const std::string& name() const { return name_; }

  // Notes on rules in the declaration's lists that match nothing. Found once.
  const std::vector<Note>& notes() const {
    const bool is_known = !model_.tensors.empty() || !model_.stored.empty();
    if (!notes_) notes_ = declared_ && is_known ? notes_of_unmatched(model_, *rules_) : std::vector<Note>();
    return *notes_;
  }

  // Bytes of the group's share, over all layers and copies.
  Bytes bytes(const TensorGroup& group, const WeightShare& share) const {
    if (group.is_derived && !share.keeps_types) return Bytes(0);
    const HeldLayers held{group, share};
    const Piece piece = piece_of(group, share);
    Bytes sum;
    const bool keeps = share.keeps_types && !as_stored_ && !mixture_;
    if (keeps && group.kept == Kept::kEightBit && tables_ && is_whole_groups(group))
      return one(group, &eight_bit_, piece, share) * held.count();
    if (keeps && (group.kept == Kept::kPlain || group.kept == Kept::kFloat32))
      return one(group, nullptr, piece, share) * held.count();
    if (keeps && group.kept == Kept::kTwoBit)
      return Bytes(ceil_div(piece.rows, 4)) * piece.columns * piece.copies * held.count();
    if (as_stored_ && group.stored_bytes > Bytes(0)) {
      // A split matrix has its part of the blocks.
      const auto cut = static_cast<long double>(piece.rows) * static_cast<long double>(piece.columns) /
                       (static_cast<long double>(group.rows) * static_cast<long double>(group.columns));
      const bool whole = piece.rows == group.rows && piece.columns == group.columns;
      const Bytes mine =
          whole ? group.stored_bytes
                : Bytes(static_cast<std::uint64_t>(cut * static_cast<long double>(group.stored_bytes.count()) + 0.5L));
      return mine * piece.copies * held.count();
    }
    if (mixture_) {
      held.each(
          [&](std::uint64_t layer) { sum += mixture_->bytes(group, layer, piece.rows, piece.columns) * piece.copies; });
      return sum;
    }
    if (declared_ && !rules_->empty() && group.role != TensorRole::kPlain && group.role != TensorRole::kConv) {
      for (const Ruled& part : ruled(group)) {
        const std::uint64_t layers = group.place == Place::kLayers ? held.count(part.run) : held.count();
        if (layers > 0) sum += one(group, part.type, piece, share) * layers;
      }
      return sum;
    }
    return one(group, usual(group), piece, share) * held.count();
  }

  // The bytes of a part whose number of elements is estimated. It is stored like the linear layers next to it.
  Bytes bytes(const UnknownTensors& part, Elements elements) const {
    TensorGroup guess;
    guess.component = part.component;
    guess.role = part.component == Component::kEmbedding ? TensorRole::kEmbedding : TensorRole::kLinear;
    guess.module = part.component == Component::kEmbedding ? "model.embed_tokens" : "";
    guess.place = part.component == Component::kEmbedding ? Place::kFirst : Place::kLayers;
    guess.columns = kEstimatedColumns;
    guess.rows = ceil_div(elements.count(), kEstimatedColumns);
    if (mixture_) return mixture_->bytes(guess, 0, guess.rows, guess.columns);
    const WeightType* type = as_stored_ ? nullptr : usual(guess);
    if (type != nullptr && elements > Elements(0)) return matrix_bytes(*type, guess.rows, guess.columns);
    return Bytes(elements.count()) * (plain_.millibits / 8000);
  }

 private:
  static constexpr std::uint64_t kEstimatedColumns = 4096;

  // Consecutive layers with the same type; null if they are not quantized.
  struct Ruled {
    LayerRun run;
    const WeightType* type = nullptr;
  };

  // The rules that apply to a group, looked up once.
  const std::vector<Ruled>& ruled(const TensorGroup& group) const {
    if (ruled_.empty()) ruled_.resize(model_.tensors.size());
    std::vector<Ruled>& out = ruled_[static_cast<std::size_t>(&group - model_.tensors.data())];
    if (!out.empty()) return out;
    const RuleBook::Named named = rules_->named(names_of(group));
    if (group.place != Place::kLayers) {
      out.push_back({{0, 1, 1}, type_by(named.find(0), group)});
      return out;
    }
    for (const LayerRun& run : group.layers) {
      for (std::uint64_t i = 0; i < run.count; ++i) {
        const std::uint64_t layer = run.first + i * run.step;
        const WeightType* type = type_by(named.find(layer), group);
        if (i > 0 && out.back().type == type)
          ++out.back().run.count;
        else
          out.push_back({{layer, 1, run.step}, type});
      }
    }
    return out;
  }

  const WeightType* type_by(const SchemeRule* rule, const TensorGroup& group) const {
    if (rule == nullptr) return usual(group);
    if (!rule->scheme) return group.role == TensorRole::kHead && head_ ? &*head_ : nullptr;
    auto known = resolved_.find(*rule->scheme);
    if (known == resolved_.end()) known = resolved_.emplace(*rule->scheme, weight_type_of(*rule->scheme)).first;
    return &known->second;
  }

  void what_if(const std::string& asked) {
    if (is_gguf_mixture(asked)) {
      mixture_ = std::make_unique<GgufMixture>(asked, model_);
      name_ = lower(asked);
      return;
    }
    if (const WeightType* row = find_weight_type(asked)) {
      type_ = *row;
      name_ = row->name;
      if (row->scope == Scope::kEverything) plain_ = *row;
      if (row->scope == Scope::kTables) tables_ = true;
      if (row->scope == Scope::kTables) type_ = with_scales_of(plain_, *row);
      if (row->scope == Scope::kExperts) experts_only_ = has_experts_;
      return;
    }
    if (auto fraction = fractional_type(asked)) {
      type_ = *fraction;
      name_ = asked;
      head_ = *fraction;
      head_->millibits = 6000;
      return;
    }
    check_weight_type(asked);
  }

  // The type of a group that no rule matches; null: it is not quantized.
  const WeightType* usual(const TensorGroup& group) const {
    if (type_ && type_->scope == Scope::kEverything) return nullptr;
    switch (group.role) {
      case TensorRole::kPlain:
      case TensorRole::kConv: return nullptr;
      case TensorRole::kEmbedding: return tables() && type_ && is_whole_groups(group) ? &*type_ : nullptr;
      case TensorRole::kHead: return head_ ? &*head_ : tables() && type_ && is_whole_groups(group) ? &*type_ : nullptr;
      case TensorRole::kLinear: break;
    }
    // Packers leave towers unchanged. The exception is bitsandbytes, which replaces every linear layer that its list
    // does not exclude.
    if (is_tower(group.component) && group.kept != Kept::kPacked &&
        !(declared_ && model_.quantization.dialect == "bitsandbytes"))
      return nullptr;
    if (group.component == Component::kRouter && !tables()) return nullptr;
    if (group.component == Component::kEmbedding && !tables()) return nullptr;
    if (tables_ && !is_whole_groups(group)) return nullptr;
    if (group.is_expert && expert_type_) return &*expert_type_;
    if (experts_only() && !group.is_expert) return nullptr;
    return type_ ? &*type_ : nullptr;
  }
  // mlx-lm does not quantize a layer if groups do not divide its inputs (utils.py quantize_model).
  bool is_whole_groups(const TensorGroup& group) const {
    return !type_ || type_->group == 0 || group.columns % type_->group == 0;
  }
  bool tables() const { return tables_ || (declared_ && model_.quantization.has_embedding); }
  bool experts_only() const { return experts_only_ || (declared_ && model_.quantization.experts_only && has_experts_); }

  bool expert_is_mxfp4() const {
    const std::optional<WeightType>& type = expert_type_ ? expert_type_ : type_;
    return type && type->name == "mxfp4";
  }

  // If blocks do not divide a rank's width, the largest smaller blocks that do are used, down to 32.
  static WeightType refined(WeightType type, std::uint64_t width) {
    constexpr std::uint64_t kFinest = 32;
    const auto finer = static_cast<std::uint32_t>(std::gcd<std::uint64_t>(type.block, width));
    if (finer >= kFinest) type.block = finer;
    return type;
  }

  Bytes one(const TensorGroup& group, const WeightType* type, Piece piece, const WeightShare& share) const {
    const bool is_mxfp4_bias = group.is_expert && group.role == TensorRole::kPlain && expert_is_mxfp4();
    if (is_mxfp4_bias) piece.rows = mxfp4_bias_rows(group, piece.rows, share.mxfp4);
    if (type == nullptr) {
      const bool in_float32 = group.is_float32 || (group.kept == Kept::kFloat32 && share.keeps_types) ||
                              (is_mxfp4_bias && share.mxfp4.second_scale_rows > 0);
      const std::uint64_t element = in_float32 ? 4 : plain_.millibits / 8000;
      return Bytes(piece.rows) * piece.columns * element * piece.copies;
    }
    if (declared_ && type->group > 0 && group.columns % type->group != 0 && group.columns >= type->group &&
        !is_tower(group.component))
      refuse("a group of " + std::to_string(type->group) + " weights does not divide the " +
                 std::to_string(group.columns) + " inputs of " + group.module,
             "correct group_size in the quantization config");
    if (group.is_expert && share.refines_blocks && type->block > 0)
      return matrix_bytes(refined(*type, group.split == Split::kColumns ? piece.columns : piece.rows), piece.rows,
                          piece.columns) *
             piece.copies;
    if (group.is_expert && type->name == "mxfp4") return mxfp4_matrix(*type, group, piece, share.mxfp4) * piece.copies;
    return matrix_bytes(*type, piece.rows, piece.columns) * piece.copies;
  }

  const WeightModel model_;
  WeightType plain_;
  WeightType eight_bit_;
  std::string name_;
  std::optional<WeightType> type_, expert_type_, head_;
  std::unique_ptr<GgufMixture> mixture_;
  std::unique_ptr<RuleBook> rules_;
  mutable std::vector<std::vector<Ruled>> ruled_;                     // by tensor group
  mutable std::map<WeightScheme, WeightType, SchemeOrder> resolved_;  // entries do not move
  mutable std::optional<std::vector<Note>> notes_;
  bool declared_ = false;
  bool as_stored_ = false;
  bool tables_ = false;
  bool experts_only_ = false;
  bool has_experts_ = false;
};

namespace {

std::string percent(double ratio) {
  char text[32];
  std::snprintf(text, sizeof text, "%+.2f %%", 100 * ratio);
  return text;
}

// All of the model on one rank.
bool is_whole(const WeightShare& share) {
  return !share.layers && share.tensor_parallel == 1 && share.expert_parallel == 1 && !share.embedding_on_host;
}

struct Sum {
  Bytes bytes, low, high;
  Elements elements;
};

// A rank's part of an estimated part, split like other tensors of its kind.
Elements share_of(const UnknownTensors& part, Elements elements, const WeightModel& model, const WeightShare& share) {
  TensorGroup like;
  like.component = part.component;
  like.place = is_tower(part.component) || part.component == Component::kEmbedding ? Place::kFirst : Place::kLayers;
  like.split = Split::kRows;
  like.rows = elements.count();
  if (like.place == Place::kLayers && share.layers && model.num_layers > 0)
    like.rows = static_cast<std::uint64_t>(static_cast<long double>(like.rows) *
                                           static_cast<long double>(std::min(*share.layers, model.num_layers)) /
                                           static_cast<long double>(model.num_layers));
  else if (like.place == Place::kFirst && HeldLayers{like, share}.count() == 0)
    return Elements(0);
  return Elements(piece_of(like, share).rows);
}

template <class Storer>
void add_unknown(const WeightModel& model, const Storer& storer, const WeightRequest& request,
                 std::map<Component, Sum>& sums, WeightReport& report) {
  for (const UnknownTensors& part : model.unknown_tensors) {
    if (is_tower(part.component) && !request.with_towers) continue;
    const auto mine = [&](Elements elements) { return share_of(part, elements, model, request.share); };
    if (mine(part.high) > Elements(0)) {
      Sum& sum = sums[part.component];
      sum.bytes += storer.bytes(part, mine(part.estimate));
      sum.low += storer.bytes(part, mine(part.low));
      sum.high += storer.bytes(part, mine(part.high));
      sum.elements += mine(part.estimate);
    }
    warn(report.notes, "estimated_weights",
         {"the config does not give the size of {part}: its weights are an estimate", {{"part", part.what}}});
  }
}

// The sums of a rank's groups and estimated parts, by component.
std::map<Component, Sum> sums_of(const WeightModel& model, const auto& storer, const WeightRequest& request,
                                 WeightReport& report) {
  std::map<Component, Sum> out;
  for (const TensorGroup& group : model.tensors) {
    if (!counts(group, request)) continue;
    const Bytes bytes = storer.bytes(group, request.share);
    if (bytes == Bytes(0)) continue;
    Sum& sum = out[group.component];
    for (Bytes* const end : {&sum.bytes, &sum.low, &sum.high}) *end += bytes;
    const Piece piece = piece_of(group, request.share);
    sum.elements += Elements(piece.rows) * piece.columns * piece.copies * HeldLayers{group, request.share}.count();
  }
  add_unknown(model, storer, request, out, report);
  return out;
}

Template elements_formula(Elements elements, Bytes bytes) {
  Template out("{elements} elements", {{"elements", elements}});
  if (elements > Elements(0))
    out +=
        {" * {bits} bits", {{"bits", 8 * static_cast<double>(bytes.count()) / static_cast<double>(elements.count())}}};
  return out;
}

void note_files(const StoredSizes& files, WeightReport& report) {
  // The sums of headers are exact. The sum of an index is divided among the parts that the config declares.
  constexpr double kIndexOff = 0.01;
  // If they differ by more, the config belongs to another model.
  constexpr double kHeadersOff = 0.25;
  const double off = files.off();
  const bool warns = std::abs(off) > (files.is_index() ? kIndexOff : kHeadersOff);
  if (files.declared() > Bytes(0))
    report.notes.push_back(
        {warns ? NoteLevel::kWarning : NoteLevel::kInfo,
         "weights_from_headers",
         {"the weights come from the checkpoint's {source}; from the config they would be {guess} bytes ({off})",
          {{"source", files.is_index() ? "index" : "headers"}, {"guess", files.declared()}, {"off", percent(off)}}}});
}

// A rank's parts, by the sizes in the checkpoint's files.
void use_files(const StoredSizes& files, const std::map<Component, Sum>& sums, bool is_whole, WeightReport& report) {
  note_files(files, report);
  PartBytes computed;
  for (const auto& [part, sum] : sums) computed[part] = sum.bytes;
  for (const auto& [part, bytes] : files.scaled(computed)) {
    if (bytes == Bytes(0)) continue;
    const std::string& types = files.types(part);
    report.lines.push_back(
        {part, bytes, bytes, bytes,
         is_whole && !types.empty() ? Template::quoted(types) : elements_formula(sums.at(part).elements, bytes),
         files.is_index() ? "index of the checkpoint" : "headers of the checkpoint"});
    report.total += bytes;
  }
  report.low = report.high = report.total;
}

// For a model whose config declares no tensors: a rank has an equal part of the files, or all of them.
void divide_files(const StoredSizes& files, const WeightRequest& request, std::uint64_t num_layers,
                  WeightReport& report) {
  const WeightShare& share = request.share;
  const std::uint64_t stages =
      share.layers && *share.layers > 0 ? std::max<std::uint64_t>(num_layers / *share.layers, 1) : 1;
  const std::uint64_t ranks = checked_mul(share.tensor_parallel, stages, "the number of ranks");
  const Bytes even(ceil_div(files.stored().count(), ranks));
  report.lines.push_back({Component::kOther, even, even, files.stored(),
                          ranks == 1
                              ? Template("{stored} B", {{"stored", files.stored()}})
                              : Template("{stored} B / {ranks} ranks", {{"stored", files.stored()}, {"ranks", ranks}}),
                          files.is_index() ? "index of the checkpoint" : "headers of the checkpoint"});
  report.total = report.low = even;
  report.high = files.stored();
}

}  // namespace

Weigher::Weigher(const WeightModel& model, const std::optional<std::string>& type, std::optional<Dtype> dtype,
                 const Weigher* like)
    : storer_(std::make_unique<const Storer>(model, type, dtype, like == nullptr ? nullptr : like->storer_.get())) {
  if (!model.stored.empty() && !type)
    files_ = std::make_unique<const StoredSizes>(
        model.stored, model.declared_bytes.empty() ? declared_bytes(model) : model.declared_bytes);
}

Weigher::~Weigher() = default;

std::vector<std::pair<const TensorGroup*, Bytes>> Weigher::groups(const WeightRequest& request) const {
  std::vector<std::pair<const TensorGroup*, Bytes>> out;
  for (const TensorGroup& group : storer_->model().tensors)
    if (counts(group, request)) out.emplace_back(&group, storer_->bytes(group, request.share));
  return out;
}

std::map<Component, Bytes> Weigher::declared_bytes(const WeightModel& model) {
  const Storer storer(model, std::nullopt, std::nullopt, nullptr);
  WeightRequest all;
  all.with_mtp = true;
  WeightReport unused;
  std::map<Component, Bytes> out;
  for (const auto& [part, sum] : sums_of(model, storer, all, unused)) out[part] = sum.bytes;
  return out;
}

const std::vector<Note>& Weigher::notes() const {
  return storer_->notes();
}

WeightReport weigh(const WeightModel& model, const WeightRequest& request) {
  const Weigher weigher(model, request.type, request.dtype);
  WeightReport report = weigher.weigh(request);
  report.notes.insert(report.notes.begin(), weigher.notes().begin(), weigher.notes().end());
  return report;
}

WeightReport Weigher::weigh(const WeightRequest& request) const {
  WeightReport report;
  const Storer& storer = *storer_;
  const WeightModel& model = storer.model();
  report.type = storer.name();
  report.is_known = !model.tensors.empty() || !model.stored.empty();
  if (!report.is_known) return report;
  std::map<Component, Sum> sums = sums_of(model, storer, request, report);
  if (files_) {
    if (model.tensors.empty())
      divide_files(*files_, request, model.num_layers, report);
    else
      use_files(*files_, sums, is_whole(request.share), report);
    return report;
  }
  // An unknown dialect may pack its weights to two bits, or may not pack them.
  const bool vague = !request.type && is_declared(model.quantization) && !model.quantization.is_known;
  if (vague)
    warn(report.notes, "unknown_quantization",
         {"the quantization \"{method}\" is not known: the weights are an estimate, between 2 and 16 "
          "bits each",
          {{"method", one_line(model.quantization.dialect, 40)}}});
  // The types of a mixture's tensors changed from build to build: logs of 2024 have up to 1.4 % more. Files made with
  // --pure or an importance matrix have up to 5 % less.
  const bool mixed = request.type && is_gguf_mixture(*request.type) &&
                     (report.type.find("_k") != std::string::npos || report.type.starts_with("iq"));
  if (mixed)
    inform(report.notes, "mixture_recipe",
           {"files of {type} differ by some percent (--pure, importance matrix): name the GGUF file for its own size",
            {{"type", *request.type}}});
  for (auto& [component, sum] : sums) {
    if (mixed && component != Component::kNorms) {
      sum.low = Bytes(sum.low.count() / 20 * 19);
      sum.high = sum.high + Bytes(sum.high.count() / 200 * 3);
    }
    if (vague && component != Component::kEmbedding && component != Component::kLmHead &&
        component != Component::kNorms && component != Component::kRouter) {
      sum.low = Bytes(sum.elements.count() / 4);
      sum.high = std::max(sum.bytes, Bytes(sum.elements.count()) * 2);
    }
    report.total += sum.bytes;
    report.low += sum.low;
    report.high += sum.high;
    report.lines.push_back(
        {component, sum.bytes, sum.low, sum.high, elements_formula(sum.elements, sum.bytes), report.type});
  }
  return report;
}

}  // namespace kvplan
