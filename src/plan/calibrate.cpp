#include "plan/calibrate.h"

#include <algorithm>
#include <array>

#include "kvplan/error.h"
#include "kvplan/gpus.h"
#include "kvplan/strings.h"
#include "plan/steps.h"

namespace kvplan {

// Release 0.33 is 0.33.0.
static bool same_release(std::string_view one, std::string_view other) {
  const auto short_name = [](std::string_view name) {
    return name.ends_with(".0") ? name.substr(0, name.size() - 2) : name;
  };
  return short_name(one) == short_name(other);
}

// The model and the options that the engine's weights and blocks depend on.
static std::string engine_subject(const Pieces& pieces, const Load& load) {
  const auto& [engine, input, layout, weights, extras, notes, no_verdict] = pieces;
  std::string out = calibration_subject(input) + ", weights " + weights.type + ", KV " + cache_types_name(input.types) +
                    ", context " + std::to_string(load.max_model_len.count());
  if (const auto block = layout.block_size()) out += ", blocks of " + std::to_string(*block);
  if (const auto drafted = input.request.num_speculative_tokens) out += ", drafts of " + std::to_string(drafted);
  return out;
}

static void note_applied(AppliedFigure found, const char* what, std::vector<AppliedFigure>& applied) {
  found.what = what;
  if (std::none_of(applied.begin(), applied.end(), [&](const auto& a) { return a.name == found.name; }))
    applied.push_back(std::move(found));
}

static bool of_card(std::string_view name) {
  return name == kContextFigure || name == kUsableFigure || name == kBandwidthFigure;
}

// Whether the record is for the request's GPU: `ours` in the catalogue, or a GPU with exactly the same name.
static bool same_card(const CalibrationRecord& record, const GpuCatalogue& known, std::string_view card,
                      const Gpu* ours) {
  if (folded(record.device) == folded(card)) return true;
  if (ours == nullptr || known.find(record.device) != ours) return false;
  // The same name may be sold with two memory sizes.
  if (record.memory == Bytes(0)) return true;
  const double ratio = static_cast<double>(record.memory.count()) / static_cast<double>(ours->budget().count());
  return ratio > 0.95 && ratio < 1.05;
}

static std::string release_name(const Request& request) {
  return request.engine_version.empty() ? std::string(engine_of(request).versions.back().version)
                                        : request.engine_version;
}

// Whether a figure replaces the estimate in `line`.
static bool stands_for(std::string_view figure, const LedgerLine& line) {
  if (figure == kActivationFigure) return line.part == Section::kActivation;
  if (figure == kGraphsFigure) return line.id == LineId::kGraphs;
  if (figure == kNonTorchFigure) return line.id == LineId::kOutsideTorch;
  return figure == kContextFigure && line.id == LineId::kContext;
}

static const char* figure_name(std::string_view figure) {
  if (figure == kActivationFigure) return "activation peak";
  if (figure == kGraphsFigure) return "CUDA graphs";
  if (figure == kNonTorchFigure) return "outside PyTorch";
  return "driver context";
}

std::string calibration_layout(const Request& request) {
  return "any model, TP " + std::to_string(request.parallel.tensor) + ", PP " +
         std::to_string(request.parallel.pipeline);
}

std::string calibration_subject(const EngineInput& input) {
  const ModelShape& model = input.model;
  const Request& request = input.request;
  const auto option = [&](std::string_view name, std::optional<std::uint64_t> value) {
    return value ? ", " + std::string(name) + " " + std::to_string(*value) : std::string();
  };
  std::string out = std::string(model.is_gguf ? model.architecture : model.model_type) + " of " +
                    std::to_string(model.num_layers) + " layers, hidden " + std::to_string(model.hidden_size) +
                    ", vocabulary " + std::to_string(model.vocab_size) + ", TP " +
                    std::to_string(request.parallel.tensor) + ", PP " + std::to_string(request.parallel.pipeline);
  out += option("chunk",
                request.max_num_batched_tokens ? std::optional(request.max_num_batched_tokens->count()) : std::nullopt);
  out += option("max-num-seqs", request.max_num_seqs);
  out += option("batch", request.llama_cpp.n_batch);
  out += option("ubatch", request.llama_cpp.n_ubatch);
  if (request.enforce_eager) out += ", eager";
  // Compute buffers of llama.cpp and ollama also depend on the context.
  const Engine& engine = engine_of(request);
  if (engine.slot_tokens != nullptr || engine.default_context != nullptr) {
    const std::optional<Tokens>& tokens =
        request.llama_cpp.ctx_size ? request.llama_cpp.ctx_size : request.max_model_len;
    out += option("context", tokens ? std::optional(tokens->count()) : std::nullopt);
    if (request.num_seqs > 1) out += ", " + std::to_string(request.num_seqs) + " sequences";
    if (request.llama_cpp.flash_attention != FlashAttention::kAuto)
      out += request.llama_cpp.flash_attention == FlashAttention::kOn ? ", flash attention" : ", no flash attention";
  }
  return out;
}

std::optional<AppliedFigure> find_figure(const Request& request, std::string_view name, std::string_view subject) {
  // A size does not identify a GPU.
  const CardRequest& card = request.card;
  if (!request.calibration || (!card.gpu && !card.measured)) return std::nullopt;
  const std::string name_of_card = card.gpu ? std::string(card.gpu->name) : *card.measured;
  const Gpu* ours = card.gpu ? card.gpu : card.known().find(name_of_card);
  const std::string release = release_name(request), layout = calibration_layout(request);
  const CalibrationRecord* best = nullptr;
  for (const CalibrationRecord& record : request.calibration->records) {
    if (record.find(name) == nullptr) continue;
    if (!of_card(name)) {
      if (record.engine != engine_of(request).name || !same_release(record.engine_version, release)) continue;
      if (record.model != subject && record.model != layout) continue;
    }
    // If several match, records of the same engine come first, then the newest.
    const auto rank = [&](const CalibrationRecord& each) {
      return std::pair(each.engine == engine_of(request).name, each.date);
    };
    if (best != nullptr && !(rank(*best) < rank(record))) continue;
    if (same_card(record, card.known(), name_of_card, ours)) best = &record;
  }
  if (best == nullptr) return std::nullopt;
  const Figure& figure = *best->find(name);
  const std::string times = figure.n == 1 ? "once" : std::to_string(figure.n) + " times";
  return AppliedFigure{std::string(name), "", figure,
                       (best->source == "log"      ? "read from a log "
                        : best->source == "verify" ? "from the engine's own code "
                                                   : "measured ") +
                           times + " on " + best->device + (best->driver.empty() ? "" : ", driver " + best->driver) +
                           ", " + best->date};
}

std::optional<Bytes> calibrated_memory(const Request& request) {
  if (!request.card.gpu) return std::nullopt;
  const auto found = find_figure(request, kUsableFigure);
  return found ? std::optional(found->figure.mean_bytes()) : std::nullopt;
}

std::optional<Figure> calibrated_bandwidth(const Request& request) {
  const auto found = find_figure(request, kBandwidthFigure);
  return found ? std::optional(found->figure) : std::nullopt;
}

void calibrate(const EngineInput& input, std::vector<LedgerLine>& lines, std::vector<AppliedFigure>& applied) {
  if (!input.request.calibration) return;
  const std::string subject = calibration_subject(input);
  for (const std::string_view name : {kActivationFigure, kNonTorchFigure, kContextFigure, kGraphsFigure}) {
    auto found = find_figure(input.request, name, subject);
    if (!found) continue;
    const auto first = std::find_if(lines.begin(), lines.end(), [&](const auto& l) { return stands_for(name, l); });
    if (first == lines.end()) continue;  // the engine's plan does not have this part
    LedgerLine line{first->part,
                    figure_name(name),
                    found->figure.mean_bytes(),
                    found->figure.low_bytes(),
                    found->figure.high_bytes(),
                    Template::quoted(found->source),
                    "calibration: " + found->source,
                    first->id,
                    Basis::kCalibrated};
    if (name == kContextFigure) {
      // Only the bare context was measured. The same line has what an engine's kernels and cuBLAS load.
      constexpr Bytes kLibraries(160 * kMiB);
      line.what = first->what;
      line.bytes = std::max(line.bytes + kLibraries, first->bytes);
      line.high = std::max(line.bytes, first->high);
    }
    found->what = in_words(line.what);
    *first = std::move(line);
    const auto rest = static_cast<std::size_t>(first - lines.begin()) + 1;
    lines.erase(std::remove_if(lines.begin() + static_cast<std::ptrdiff_t>(rest), lines.end(),
                               [&](const auto& l) { return stands_for(name, l); }),
                lines.end());
    const bool known = std::any_of(applied.begin(), applied.end(), [&](const auto& a) { return a.name == name; });
    if (!known) applied.push_back(std::move(*found));
  }
}

CalibrationRecord calibration_of_engine(const Pieces& pieces, const Load& load, const std::string& said,
                                        std::string_view date) {
  const Request& request = pieces.input.request;
  CalibrationRecord out;
  out.device = request.card.name_or("");
  out.engine = pieces.engine.name;
  out.engine_version = release_name(request);
  out.model = engine_subject(pieces, load);
  out.source = "verify";
  out.date = date;
  for (const std::string_view pair : split(said, ',')) {
    const std::string_view name = pair.substr(0, pair.find('='));
    double value = -1;
    if (name.size() < pair.size()) parse_real(pair.substr(name.size() + 1), value);
    constexpr std::array kKnown{kWeightsFigure,    kBlockFigure, kRequestFigure, kBlockSizeFigure,
                                kGraphSizesFigure, kTokenFigure, kPrefixFigure};
    if (std::find(kKnown.begin(), kKnown.end(), name) == kKnown.end() || value < 0)
      fail("--said: \"" + one_line(pair, 60) + "\" is not a figure of the engine", "kvplan verify writes this option");
    out.add(name, value);
  }
  return out;
}

void calibrate_weights(const Pieces& pieces, const Load& load, std::vector<LedgerLine>& lines,
                       std::vector<AppliedFigure>& applied) {
  if (!pieces.input.request.calibration) return;
  const auto found = find_figure(pieces.input.request, kWeightsFigure, engine_subject(pieces, load));
  if (!found) return;
  const auto stays = [](const LedgerLine& line) {
    return line.id == LineId::kLoading || line.id == LineId::kMtp || line.id == LineId::kDraftWeights;
  };
  std::erase_if(lines, [&](const LedgerLine& line) { return !stays(line); });
  const Bytes bytes = found->figure.mean_bytes();
  lines.insert(lines.begin(), LedgerLine{Section::kWeights, "weights as the engine's class has them", bytes, bytes,
                                         bytes, Template::quoted(found->source), "calibration: " + found->source,
                                         LineId::kOther, Basis::kCalibrated});
  note_applied(*found, "weights", applied);
}

// A pool has whole pages of tokens.
static void calibrate_pool(const Pieces& pieces, const std::string& subject, Capacity& capacity,
                           std::vector<AppliedFigure>& applied) {
  const auto token = find_figure(pieces.input.request, kTokenFigure, subject);
  if (!token || token->figure.mean < 1 || capacity.tokens.value_or(0) == 0) return;
  if (pieces.input.request.extras.max_total_tokens) return;
  const std::uint64_t page = pieces.layout.block_size().value_or(1);
  const auto tokens_in = [&](Bytes budget) {
    return static_cast<std::uint64_t>(static_cast<double>(budget.count()) / token->figure.mean) / page * page;
  };
  const auto before = static_cast<double>(*capacity.tokens);
  capacity.tokens = tokens_in(capacity.kv_cache_memory);
  if (capacity.tokens_low) capacity.tokens_low = tokens_in(*capacity.kv_cache_memory_low);
  if (capacity.tokens_high) capacity.tokens_high = tokens_in(*capacity.kv_cache_memory_high);
  capacity.max_concurrency *= static_cast<double>(*capacity.tokens) / before;
  note_applied(*token, "bytes of a token", applied);
}

void calibrate_capacity(const Pieces& pieces, const Load& load, Capacity& capacity,
                        std::vector<AppliedFigure>& applied) {
  if (!pieces.input.request.calibration) return;
  const std::string subject = engine_subject(pieces, load);
  calibrate_pool(pieces, subject, capacity, applied);
  if (!capacity.num_blocks) return;
  const auto block = find_figure(pieces.input.request, kBlockFigure, subject);
  const auto request = find_figure(pieces.input.request, kRequestFigure, subject);
  if (!block || !request || block->figure.mean_bytes() == Bytes(0)) return;
  // The log prints the tokens of this many sequences of full length.
  const auto sequences_in = [&](Bytes budget) {
    return static_cast<double>(budget.count() / block->figure.mean_bytes().count()) / request->figure.mean;
  };
  const auto tokens_in = [&](Bytes budget) {
    return static_cast<std::uint64_t>(sequences_in(budget) * static_cast<double>(load.max_model_len.count()));
  };
  capacity.num_blocks = capacity.kv_cache_memory.count() / block->figure.mean_bytes().count();
  capacity.tokens = tokens_in(capacity.kv_cache_memory);
  if (capacity.tokens_low) capacity.tokens_low = tokens_in(*capacity.kv_cache_memory_low);
  if (capacity.tokens_high) capacity.tokens_high = tokens_in(*capacity.kv_cache_memory_high);
  capacity.max_concurrency = sequences_in(capacity.kv_cache_memory);
  note_applied(*block, "blocks of the cache", applied);
  note_applied(*request, "blocks of a sequence", applied);
}

void calibrate_sizes(const Pieces& pieces, Plan& plan) {
  if (!plan.request.calibration) return;
  const std::string subject = engine_subject(pieces, plan.load);
  if (const auto block = find_figure(plan.request, kBlockSizeFigure, subject); block && plan.kv_cache.block_size) {
    plan.kv_cache.block_size = block->figure.mean_bytes().count();
    note_applied(*block, "block size", plan.calibrated);
  }
  if (const auto sizes = find_figure(plan.request, kGraphSizesFigure, subject);
      sizes && plan.settings.cuda_graph_sizes) {
    plan.settings.cuda_graph_sizes = sizes->figure.mean_bytes().count();
    note_applied(*sizes, "CUDA graph sizes", plan.calibrated);
  }
  if (const auto caches = find_figure(plan.request, kPrefixFigure, subject); caches && plan.settings.prefix_caching) {
    plan.settings.prefix_caching = caches->figure.mean > 0;
    note_applied(*caches, "prefix caching", plan.calibrated);
  }
}

}  // namespace kvplan
