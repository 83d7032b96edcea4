#include "weights/gguf_mixture.h"

#include <algorithm>
#include <array>
#include <string>

#include "kvplan/error.h"
#include "kvplan/ggml_types.h"
#include "kvplan/strings.h"

namespace kvplan {

namespace {

struct Ftype {
  std::string_view name, base;
};

constexpr std::array kFtypes{
    Ftype{"q8_0", "q8_0"},       Ftype{"q6_k", "q6_k"},       Ftype{"q5_k_m", "q5_k"},     Ftype{"q5_k_s", "q5_k"},
    Ftype{"q5_1", "q5_1"},       Ftype{"q5_0", "q5_0"},       Ftype{"q4_k_m", "q4_k"},     Ftype{"q4_k_s", "q4_k"},
    Ftype{"q4_1", "q4_1"},       Ftype{"q4_0", "q4_0"},       Ftype{"iq4_nl", "iq4_nl"},   Ftype{"iq4_xs", "iq4_xs"},
    Ftype{"q3_k_l", "q3_k"},     Ftype{"q3_k_m", "q3_k"},     Ftype{"q3_k_s", "q3_k"},     Ftype{"iq3_m", "iq3_s"},
    Ftype{"iq3_s", "iq3_s"},     Ftype{"iq3_xs", "iq3_s"},    Ftype{"iq3_xxs", "iq3_xxs"}, Ftype{"q2_k", "q2_k"},
    Ftype{"q2_k_s", "q2_k"},     Ftype{"iq2_m", "iq2_s"},     Ftype{"iq2_s", "iq2_xs"},    Ftype{"iq2_xs", "iq2_xs"},
    Ftype{"iq2_xxs", "iq2_xxs"}, Ftype{"iq1_m", "iq1_m"},     Ftype{"iq1_s", "iq1_s"},     Ftype{"tq2_0", "tq2_0"},
    Ftype{"tq1_0", "tq1_0"},     Ftype{"mxfp4_moe", "mxfp4"}, Ftype{"q2_0", "q2_0"},       Ftype{"q1_0", "q1_0"},
};

constexpr auto kNames = [] {
  std::array<std::string_view, kFtypes.size()> out{};
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = kFtypes[i].name;
  return out;
}();

const Ftype* find_ftype(std::string_view name) {
  std::string wanted = lower(name);
  std::replace(wanted.begin(), wanted.end(), '-', '_');
  // llama-quantize's short names.
  for (const auto& [alias, full] :
       {std::pair<std::string_view, std::string_view>{"q3_k", "q3_k_m"}, {"q4_k", "q4_k_m"}, {"q5_k", "q5_k_m"}})
    if (wanted == alias) wanted = full;
  const auto* row = std::find_if(kFtypes.begin(), kFtypes.end(), [&](const Ftype& f) { return f.name == wanted; });
  return row == kFtypes.end() ? nullptr : row;
}

bool one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// The type that is used instead if the blocks do not divide a row.
std::string_view fallback(std::string_view type) {
  if (type.starts_with("iq1") || type.starts_with("iq2") || type.starts_with("iq3") || type == "iq4_xs")
    return "iq4_nl";
  if (one_of(type, {"q2_k", "q3_k", "tq1_0", "tq2_0", "q2_0", "q1_0"})) return "q4_0";
  if (type == "q4_k") return "q5_0";
  if (type == "q5_k") return "q5_1";
  if (type == "q6_k") return "q8_0";
  return "f16";
}

bool more_bits(std::uint64_t i, std::uint64_t n) {
  return i < n / 8 || i >= 7 * n / 8 || (i - n / 8) % 3 == 2;
}

}  // namespace

std::span<const std::string_view> gguf_mixture_names() {
  return kNames;
}

bool is_gguf_mixture(std::string_view name) {
  return find_ftype(name) != nullptr;
}

GgufMixture::Category GgufMixture::category(const TensorGroup& group) {
  if (group.role == TensorRole::kEmbedding) return Category::kEmbedding;
  if (group.role == TensorRole::kHead) return Category::kOutput;
  const std::string_view module = group.module;
  const auto ends = [&](std::string_view word) { return module.ends_with(word); };
  if (group.component == Component::kAttention || group.component == Component::kStateMixer) {
    if (ends(".qkv_proj") || ends(".in_proj_qkv") || ends(".in_proj_qkvz")) return Category::kQkv;
    if (ends(".kv_b_proj")) return Category::kKvB;
    if (ends(".q_proj")) return Category::kQuery;
    if (ends(".k_proj")) return Category::kKey;
    if (ends(".v_proj")) return Category::kValue;
    if (ends(".o_proj")) return Category::kAttnOut;
    return Category::kOther;
  }
  if (ends(".down_proj")) return Category::kDown;
  if (ends(".gate_proj")) return Category::kGate;
  if (ends(".up_proj") || ends(".gate_up_proj")) return Category::kUp;
  return Category::kOther;
}

GgufMixture::GgufMixture(std::string_view name, const WeightModel& model) {
  const Ftype* row = find_ftype(name);
  if (row == nullptr)
    refuse("\"" + one_line(name, 40) + "\" is not a llama.cpp quantization", "use one such as q4_k_m");
  ftype_ = row->name;
  base_ = row->base;
  num_layers_ = model.num_layers;
  is_falcon_ = model.is_falcon;
  std::vector<bool> has_value(model.num_layers, false);
  std::vector<std::uint64_t> downs(model.num_layers + 1, 0);
  for (const TensorGroup& group : model.tensors) {
    if (group.component == Component::kMtp) continue;
    if (group.is_tied) tied_ = true;
    if (group.is_expert) num_experts_ = std::max(num_experts_, group.copies);
    const Category kind = group.role == TensorRole::kLinear ? category(group) : Category::kOther;
    const bool is_value = kind == Category::kValue || kind == Category::kQkv;
    if (!is_value && kind != Category::kDown) continue;
    for (const LayerRun& run : group.layers)
      for (std::uint64_t i = 0; i < run.count; ++i) {
        const std::uint64_t layer = run.first + i * run.step;
        if (layer >= has_value.size()) continue;
        if (is_value) has_value[layer] = true;
        if (!is_value) ++downs[layer + 1];
      }
  }
  for (std::size_t i = 1; i < downs.size(); ++i) downs[i] += downs[i - 1];
  downs_before_ = std::move(downs);
  for (std::uint64_t i = 0; i < has_value.size(); ++i)
    if (has_value[i]) value_layers_.push_back(i);
  gqa_ = model.group;
  nope_ = model.nope;
  value_width_ = model.value_width;
  // llama.cpp calls every model of 80 Llama layers with grouped heads "70B".
  is_70b_ = num_layers_ == 80 && gqa_ == 8 && num_experts_ == 0 && model.is_plain_decoder;
}

std::uint64_t GgufMixture::value_index(std::uint64_t layer) const {
  return static_cast<std::uint64_t>(std::lower_bound(value_layers_.begin(), value_layers_.end(), layer) -
                                    value_layers_.begin());
}

std::string_view GgufMixture::type_of(Category category, std::uint64_t layer, const TensorGroup& group) const {
  const std::string_view f = ftype_;
  const std::uint64_t n = num_layers_;
  const bool eight = num_experts_ == 8;
  const bool low = one_of(f, {"iq2_xxs", "iq2_xs", "iq2_s", "iq2_m", "iq1_s", "iq1_m"});
  const bool is_value = category == Category::kValue || category == Category::kQkv;
  if (f == "q8_0" && category != Category::kEmbedding) return "q8_0";
  if (category == Category::kOutput || (tied_ && category == Category::kEmbedding)) {
    if (f == "mxfp4_moe" || is_falcon_ || f == "q8_0") return "q8_0";
    if (low || f == "iq3_xxs") return "q5_k";
    return "q6_k";
  }
  if (f == "mxfp4_moe") return group.is_expert || category == Category::kKvB ? "mxfp4" : "q8_0";
  if (category == Category::kEmbedding) {
    if (one_of(f, {"iq2_xxs", "iq2_xs", "iq1_s", "iq1_m"})) return "q2_k";
    if (one_of(f, {"iq2_s", "iq2_m", "iq3_xxs"})) return "iq3_s";
    if (one_of(f, {"tq1_0", "tq2_0", "q2_0"})) return "q4_k";
    return base_;
  }
  if (low) {
    const bool wider = f == "iq2_s" || f == "iq2_m";
    if (is_value) return gqa_ >= 4 || num_experts_ >= 4 ? "q4_k" : wider ? "iq3_s" : "q2_k";
    if (eight && category == Category::kKey) return "q4_k";
    // llama.cpp counts tensors here, not layers, so with shared experts it reaches the limit earlier.
    const std::uint64_t before = layer < downs_before_.size() ? downs_before_[layer] : layer;
    if (category == Category::kDown && before + (group.component == Component::kSharedExperts ? 1 : 0) < n / 8)
      return wider ? "iq3_s" : "q2_k";
    if (category == Category::kAttnOut) {
      if (eight) return "q5_k";
      if (f.starts_with("iq1")) return "iq2_xxs";
      if (wider) return "iq3_s";
    }
    return base_;
  }
  if (is_value) {
    std::string_view type = base_;
    const std::uint64_t i = value_index(layer);
    const bool grouped = gqa_ >= 4;
    if (f == "q2_k")
      type = grouped ? "q4_k" : "q3_k";
    else if (f == "q2_k_s" && grouped)
      type = "q4_k";
    else if (f == "iq3_xxs")
      type = grouped ? "q4_k" : "iq3_s";
    else if ((f == "iq3_xs" || f == "iq3_s") && grouped)
      type = "q4_k";
    else if (f == "iq3_m")
      type = "q4_k";
    else if (f == "q3_k_m")
      type = i < 2 ? "q5_k" : "q4_k";
    else if (f == "q3_k_l")
      type = "q5_k";
    else if ((f == "iq4_nl" || f == "iq4_xs") && grouped)
      type = "q5_k";
    else if ((f == "q4_k_m" || f == "q5_k_m") && more_bits(i, value_layers_.size()))
      type = "q6_k";
    else if (f == "q4_k_s" && i < 4)
      type = "q5_k";
    if (is_70b_ && (type == "q3_k" || type == "q4_k")) type = "q5_k";
    if (eight) type = "q8_0";
    return type;
  }
  switch (category) {
    case Category::kKey:
      if (eight) return "q8_0";
      [[fallthrough]];
    case Category::kQuery:
      if (f == "iq3_xs") return "iq3_xxs";
      if (f == "iq3_xxs") return "iq2_s";
      return base_;
    case Category::kDown: {
      const bool first = layer < n / 8;
      if (f == "q2_k") return "q3_k";
      if (f == "q2_k_s" && first) return "q4_k";
      if (f == "iq3_xxs") return first ? "q4_k" : "q3_k";
      if (f == "q3_k_m") {
        if (layer < n / 16) return "q5_k";
        return !is_falcon_ || more_bits(layer, n) ? "q4_k" : "q3_k";
      }
      if (f == "iq3_m" && (first || (eight && more_bits(layer, n)))) return "q4_k";
      if (f == "q3_k_l") return is_falcon_ ? "q4_k" : "q5_k";
      if (f == "q4_k_m") {
        if (is_falcon_) return layer < n / 16 ? "q6_k" : more_bits(layer, n) ? "q5_k" : "q4_k";
        return more_bits(layer, n) ? "q6_k" : "q4_k";
      }
      if (first && (f == "iq4_nl" || f == "iq4_xs")) return "q5_k";
      if (f == "q5_k_m" && more_bits(layer, n)) return "q6_k";
      if (f == "q4_k_s" && !is_falcon_ && first) return "q5_k";
      return base_;
    }
    case Category::kAttnOut:
      if (is_falcon_) return f == "q3_k_l" ? "q4_k" : base_;
      if (eight)
        return one_of(f, {"q2_k", "iq3_xs", "iq3_xxs", "q3_k_s", "q3_k_m", "iq4_nl", "q4_k_s", "q4_k_m", "iq3_s",
                          "iq3_m", "iq4_xs"})
                   ? "q5_k"
                   : base_;
      if (f == "q2_k") return "q3_k";
      if (f == "iq3_xxs") return "iq3_s";
      if (f == "q3_k_m" || f == "iq3_m") return "q4_k";
      if (f == "q3_k_l") return "q5_k";
      return base_;
    case Category::kGate:
    case Category::kUp: return f == "iq3_xs" && layer >= n / 8 && layer < 7 * n / 8 ? "iq3_xxs" : base_;
    default: return base_;
  }
}

Bytes GgufMixture::bytes_as(std::string_view name, bool is_output, std::uint64_t rows, std::uint64_t columns) const {
  auto type = find_ggml_type(name);
  // For the output, llama.cpp first checks the base type's blocks, and then those of the output's type.
  const auto base = find_ggml_type(base_);
  if (is_output && base && columns % base->block != 0) type = find_ggml_type("q8_0");
  if (type && columns % type->block != 0) type = find_ggml_type(fallback(type->name));
  if (!type || columns % type->block != 0) type = find_ggml_type("f16");
  const std::array<std::uint64_t, 2> dims{columns, rows};
  return tensor_bytes(*type, dims);
}

Bytes GgufMixture::bytes(const TensorGroup& group, std::uint64_t layer, std::uint64_t rows,
                         std::uint64_t columns) const {
  const bool is_table = (group.role == TensorRole::kEmbedding && group.place != Place::kLayers &&
                         !group.module.ends_with("embed_positions") && !group.module.ends_with("wpe")) ||
                        group.role == TensorRole::kHead;
  const bool packed = is_table || (group.role == TensorRole::kLinear && group.component != Component::kRouter);
  if (!packed || columns <= 1) return Elements(rows) * columns == Elements(0) ? Bytes(0) : Bytes(rows) * columns * 4;
  const Category kind = category(group);
  const std::string_view name = type_of(kind, layer, group);
  if (kind == Category::kKvB && nope_ + value_width_ > 0) {
    // llama.cpp stores the latent's projections to keys and to values separately, the first one transposed.
    const std::uint64_t heads = rows / (nope_ + value_width_);
    return bytes_as(name, false, Elements(heads).count() * columns, nope_) +
           bytes_as(name, false, heads * value_width_, columns);
  }
  const bool is_output = group.role == TensorRole::kHead || (tied_ && group.role == TensorRole::kEmbedding);
  return bytes_as(name, is_output, rows, columns);
}

}  // namespace kvplan
