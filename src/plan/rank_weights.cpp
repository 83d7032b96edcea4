#include "plan/rank_weights.h"

#include <algorithm>
#include <numeric>

#include "engines/parallel.h"
#include "plan/steps.h"
#include "weights/loaded.h"
#include "weights/share.h"
#include "weights/weigh.h"

namespace kvplan {

namespace {

// The weights that vLLM can move to the host, until the budget is used up: parameters of the decoder's layers.
bool in_layers(Component component) {
  switch (component) {
    case Component::kAttention:
    case Component::kMlp:
    case Component::kExperts:
    case Component::kSharedExperts:
    case Component::kRouter:
    case Component::kStateMixer:
    case Component::kNorms: return true;
    default: return false;
  }
}

// Whether a stage reads the tensor for a decoded token. Of a look-up table it reads one row, unless the table is also
// the head. Towers ran before.
bool is_read(Component component, bool embedding_is_head) {
  switch (component) {
    case Component::kEmbedding: return embedding_is_head;
    case Component::kEncoder:
    case Component::kVision:
    case Component::kAudio:
    case Component::kProjector:
    case Component::kMtp: return false;
    default: return true;
  }
}

void take_to_host(WeightLine& line, Bytes bytes) {
  if (bytes == Bytes(0)) return;
  line.bytes = line.bytes - bytes;
  line.low = line.low > bytes ? line.low - bytes : Bytes(0);
  line.high = line.high - bytes;
  line.formula += {", less {moved} B in host memory", {{"moved", bytes}}};
}

// Moves the first `budget` bytes of the layers' weights, proportionally from each line.
Bytes offload(std::vector<WeightLine>& lines, Bytes budget) {
  Bytes all;
  for (const WeightLine& line : lines)
    if (in_layers(line.component)) all += line.bytes;
  const Bytes moved = std::min(all, budget);
  if (moved == Bytes(0)) return moved;
  // Whole bytes, rounded down. The remainder comes from lines that still have bytes.
  const long double share = static_cast<long double>(moved.count()) / static_cast<long double>(all.count());
  std::vector<Bytes> parts;
  Bytes left = moved;
  for (const WeightLine& line : lines) {
    const auto part = static_cast<std::uint64_t>(static_cast<long double>(line.bytes.count()) * share);
    parts.push_back(in_layers(line.component) ? std::min({Bytes(part), line.bytes, left}) : Bytes(0));
    left = left - parts.back();
  }
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (!in_layers(lines[i].component)) continue;
    const Bytes more = std::min(left, lines[i].bytes - parts[i]);
    left = left - more;
    take_to_host(lines[i], parts[i] + more);
  }
  return moved;
}

Bytes bytes_of(const std::vector<WeightLine>& lines, Component component) {
  Bytes out;
  for (const WeightLine& line : lines)
    if (line.component == component) out += line.bytes;
  return out;
}

void count_reads(const std::vector<WeightLine>& lines, bool embedding_is_head, Bytes& always, Bytes& experts) {
  for (const WeightLine& line : lines) {
    if (line.component == Component::kExperts)
      experts += line.bytes;
    else if (is_read(line.component, embedding_is_head))
      always += line.bytes;
  }
}

// The attention layers of a stage, with or without their own cache.
std::uint64_t attention_layers(const ModelSpec& model, std::uint64_t first, std::uint64_t count) {
  const auto attends = [](const Mixer& mixer) {
    return !std::holds_alternative<Ssm>(mixer) && !std::holds_alternative<Linear>(mixer) &&
           !std::holds_alternative<ShortConv>(mixer) && !std::holds_alternative<Rwkv>(mixer) &&
           !std::holds_alternative<RgLru>(mixer) && !std::holds_alternative<None>(mixer);
  };
  std::uint64_t out = 0;
  for (std::uint64_t i = first; i < std::min<std::uint64_t>(first + count, model.layers.size()); ++i)
    out += static_cast<std::uint64_t>(
        std::count_if(model.layers[i].mixers.begin(), model.layers[i].mixers.end(), attends));
  return out;
}

std::uint64_t index_topk(const ModelSpec& model) {
  for (const Layer& layer : model.layers)
    for (const Mixer& mixer : layer.mixers)
      if (const auto* sparse = std::get_if<SparseMla>(&mixer)) return sparse->index_topk;
  return 0;
}

// Memory that loading takes in addition to the tensors: rotary tables, and memory that the allocator keeps unused. It
// does not depend on the sizes in a checkpoint's headers.
std::vector<LedgerLine> loading_lines(const ModelSpec& model, const Weigher& weigher, const WeightRequest& asked,
                                      const Request& request, std::vector<Bytes>& segments) {
  const Engine& engine = engine_of(request);
  if (engine.loading.counted == CountedAs::kTensors || model.is_gguf) return {};
  const std::uint64_t element = engine.loading.rotary_in_float32 ? 4 : plain_bytes(asked.dtype.value_or(model.dtype));
  Request on_card = request;
  on_card.card.memory = card_memory(request);
  const std::uint64_t layers = asked.share.layers.value_or(model.layers.size());
  const SideTensorsInput beside{model.known_as->id,
                                model.architecture,
                                &on_card,
                                &model.quantization,
                                attention_layers(model, asked.share.first_layer, layers),
                                index_topk(model)};
  std::vector<Bytes> tables;
  Template formula;
  for (const RotaryTable& table : model.rotary_tables) {
    const Bytes bytes = engine.loading.rotary_table != nullptr ? engine.loading.rotary_table(table, beside, element)
                                                               : Bytes(table.positions) * table.width * element;
    if (bytes == Bytes(0)) continue;
    tables.push_back(bytes);
    constexpr std::uint64_t kTable = 1024;  // rows; a smaller table has frequencies, not angles
    const std::uint64_t rows = std::min(table.positions, bytes.count() / table.width / element);
    const std::uint64_t each = bytes.count() / std::max<std::uint64_t>(rows, 1) / table.width;
    if (!formula.empty()) formula += " + ";
    if (rows < std::min(kTable, table.positions))
      formula += {"{bytes} B of frequencies", {{"bytes", bytes}}};
    else
      formula += {"{rows} positions x {width} x {each} B", {{"rows", rows}, {"width", table.width}, {"each", each}}};
  }
  const bool reserves = engine.loading.counted == CountedAs::kReserved;
  const auto keeps_rests = engine.loading.keeps_large_rests;
  LoadedWeights loaded = loaded_weights(model, weigher, asked, reserves, tables,
                                        keeps_rests && keeps_rests(request) ? TorchPieces(20 * kMiB) : TorchPieces());
  segments = std::move(loaded.segments);
  std::vector<LedgerLine> out;
  if (loaded.rotary > Bytes(0))
    out.push_back(of_kind(LineId::kRotary,
                          exact_line(Section::kWeights, "rotary tables", loaded.rotary, std::move(formula),
                                     engine.loading.rotary_in_float32 ? "RotaryEmbedding.cos_sin_cache, in float32"
                                                                      : "RotaryEmbedding.cos_sin_cache")));
  if (engine.loading.side_tensors != nullptr) {
    const std::vector<LedgerLine> lines = engine.loading.side_tensors(beside);
    out.insert(out.end(), lines.begin(), lines.end());
  }
  const Bytes taken = reserves ? loaded.reserved : loaded.allocated;
  const Bytes exact = loaded.tensors + loaded.rotary;
  if (taken <= exact) return out;
  const Bytes more = taken - exact;
  // Quantized tensors are repacked while they load, which is not modelled.
  out.push_back(
      {Section::kWeights,
       "loading: fragmentation of PyTorch's allocator",
       more,
       loaded.is_packed ? std::min(more, loaded.absorbed) : more,
       loaded.is_packed ? more * 2 : more,
       {loaded.absorbed > Bytes(0) ? "{absorbed} B of kv_b_proj split in two, and unused parts of PyTorch's segments"
                                   : "unused parts of PyTorch's segments",
        {{"absorbed", loaded.absorbed}}},
       "PyTorch CUDACachingAllocator.cpp",
       LineId::kLoading});
  return out;
}

LedgerLine ledger_line(const WeightLine& line, const std::string& source) {
  return {Section::kWeights,
          {"{part}", {{"part", name(line.component)}}},
          line.bytes,
          line.low,
          line.high,
          line.formula,
          source,
          static_cast<LineId>(static_cast<int>(line.component) + 1)};
}

template <class Groups>
bool has_towers(const Groups& groups) {
  return std::any_of(groups.begin(), groups.end(), [](const auto& part) { return is_tower(part.component); });
}

bool has_audio(const ModelSpec& model) {
  return std::any_of(model.towers.begin(), model.towers.end(),
                     [](const TowerModel& side) { return side.what == TowerKind::kAudio; });
}

// Whether the checkpoint is quantized but the engine ignores that.
bool ignores_quantization(const ModelSpec& model, const Request& request) {
  return engine_of(request).loading.asks_quant_method && is_declared(model.quantization) &&
         !model.quantization.names_method;
}

// Which ranks split which tensors, and which tensors the engine loads.
WeightRequest weight_request(const ModelSpec& model, const Request& request) {
  const Engine& engine = engine_of(request);
  WeightRequest out;
  out.type = asked_weights(model, request);
  out.dtype = loaded_dtype(request, model.known_as->traits, model.dtype);
  out.with_mtp = request.mtp;
  // A GGUF has only the text model. Image and audio encoders are in a projector file, so a model that is a projector
  // file has them.
  const bool leaves_towers = engine.loading.leaves_towers != nullptr &&
                             engine.loading.leaves_towers(request, model.known_as->id, has_audio(model));
  out.with_towers = (engine.extras.image_buffer == nullptr || model.is_gguf) && !leaves_towers;
  WeightShare& share = out.share;
  share.tensor_parallel = request.parallel.tensor;
  const TensorCuts cuts = tensor_cuts(request);
  share.attention_parallel = cuts.attention;
  share.embedding_parallel = cuts.embedding;
  const std::uint64_t flat = checked_mul(request.parallel.tensor, request.parallel.data, "the number of ranks");
  share.expert_tensor_parallel = engine.parallel.data_ranks_share_experts ? flat : request.parallel.tensor;
  if (request.parallel.expert) share.expert_parallel = share.expert_tensor_parallel;
  share.redundant_experts = request.parallel.redundant_experts;
  share.embedding_on_host = engine.loading.embedding_on_host;
  share.cuts_towers = engine.parallel.cuts_towers && !request.extras.whole_towers;
  share.keeps_types = engine.loading.keeps_types;
  share.pads_vocab = engine.parallel.pads_vocab;
  share.refines_blocks = engine.parallel.refines_blocks != nullptr && engine.parallel.refines_blocks(request);
  if (engine.loading.mxfp4_layout != nullptr) share.mxfp4 = engine.loading.mxfp4_layout(request);
  return out;
}

std::optional<LedgerLine> padding_line(const ModelSpec& model, const Request& request, const StageShare& stage,
                                       bool on_host) {
  const auto padding = engine_of(request).loading.padding;
  if (padding == nullptr || !model.is_gguf || request.weights) return std::nullopt;
  LedgerLine line = padding(model.tensors, stage, request, on_host);
  return line.bytes > Bytes(0) ? std::optional(std::move(line)) : std::nullopt;
}

// EPLB receives a layer's new experts while the old ones are still in use.
std::optional<LedgerLine> balance_line(const ModelSpec& model, const WeightRequest& asked, const Request& request,
                                       const WeightReport& report) {
  if (!request.parallel.balances_experts || asked.share.expert_parallel <= 1) return std::nullopt;
  std::uint64_t layers = 0;
  for (const TensorGroup& group : model.tensors)
    if (group.is_expert) layers = std::max(layers, HeldLayers{group, asked.share}.count());
  const Bytes experts = bytes_of(report.lines, Component::kExperts);
  if (layers == 0 || experts == Bytes(0)) return std::nullopt;
  const bool at_start = engine_of(request).parallel.has_expert_buffer;
  return exact_line(at_start ? Section::kWeights : Section::kRuntime, "experts in transfer",
                    Bytes(experts.count() / layers),
                    {"the rank's experts of one of {layers} layers", {{"layers", layers}}},
                    at_start ? "vLLM distributed/eplb/eplb_state.py expert_buffer"
                             : "SGLang eplb/expert_location_updater.py create_temp_buffers");
}

// The bytes that options move from the GPUs to host memory, over all stages.
struct Moved {
  Bytes layers, experts;
};

// Adds the lines of one rank of a stage.
void add_stage(const ModelSpec& model, const Weigher& weigher, const WeightRequest& asked, const Request& request,
               const StageShare& stage, WeightReport& report, Moved& moved, RankWeights& out) {
  if (const std::uint64_t on_host = request.llama_cpp.cpu_moe_layers.value_or(0); on_host > stage.first_layer) {
    WeightRequest first = asked;
    first.share.layers = std::min(stage.layers, on_host - stage.first_layer);
    const Bytes bytes = bytes_of(weigher.weigh(first).lines, Component::kExperts);
    for (WeightLine& line : report.lines)
      if (line.component == Component::kExperts) take_to_host(line, std::min(bytes, line.bytes));
    moved.experts += bytes;
    out.host_experts += bytes;
  }
  if (request.cpu_offload) {
    const Bytes bytes = offload(report.lines, *request.cpu_offload);
    moved.layers += bytes * request.parallel.tensor;
    out.host_always += std::min(bytes, out.read_always - out.host_always);
  }
  std::vector<LedgerLine>& lines = out.lines.emplace_back();
  std::vector<Bytes>& segments = out.segments.emplace_back();
  for (const WeightLine& line : report.lines) lines.push_back(ledger_line(line, line.source));
  if (!out.is_known) return;
  for (LedgerLine& line : loading_lines(model, weigher, asked, request, segments)) lines.push_back(std::move(line));
  if (auto line = balance_line(model, asked, request, report)) lines.push_back(std::move(*line));
  if (auto line = padding_line(model, request, stage, false)) lines.push_back(std::move(*line));
}

void add_moved(const ModelSpec& model, const Request& request, const Moved& moved, RankWeights& out) {
  if (moved.layers > Bytes(0))
    out.host.push_back(exact_line(Section::kWeights, "weights moved from the GPUs", moved.layers,
                                  request.transformers.device_map ? "the layers that do not fit on the GPUs"
                                                                  : "--cpu-offload-gb of every rank's layers",
                                  request.transformers.device_map
                                      ? "transformers integrations/accelerate.py: device_map=\"auto\""
                                      : std::string(engine_of(request).name) + " --cpu-offload-gb"));
  if (moved.experts > Bytes(0))
    out.host.push_back(
        exact_line(Section::kWeights, "experts", moved.experts,
                   {"of the first {num_layers} layers",
                    {{"num_layers", std::min<std::uint64_t>(model.layers.size(), *request.llama_cpp.cpu_moe_layers)}}},
                   "llama.cpp --n-cpu-moe"));
}

// If the embedding stays in host memory: adds it, the layers before the first one on a GPU, and the head if no GPU has
// it.
void add_host_layers(const ModelSpec& model, const Weigher& weigher, const WeightRequest& asked, const Request& request,
                     std::uint64_t num_layers, const std::vector<StageShare>& stages, bool ties_head,
                     RankWeights& out) {
  constexpr const char* kSource = "llama.cpp load_tensors";
  StageShare on_host{0, num_layers, true, !stages.back().has_head};
  for (const StageShare& stage : stages) on_host.layers -= std::min(stage.layers, on_host.layers);
  WeightRequest rest = asked;
  rest.share.embedding_on_host = false;
  rest.share.tensor_parallel = rest.share.attention_parallel = rest.share.embedding_parallel = 1;  // no GPU's part
  rest.share.expert_tensor_parallel = 1;
  set_stage(on_host, rest.share);
  const std::vector<WeightLine> lines = weigher.weigh(rest).lines;
  Bytes always, experts;
  count_reads(lines, false, always, experts);
  out.host_always += always;
  out.host_experts += experts;
  out.read_always += always;
  out.experts += experts;
  out.host_layers = on_host.layers;
  for (const WeightLine& line : lines)
    if (line.bytes > Bytes(0)) out.host.push_back(ledger_line(line, kSource));
  if (on_host.has_head && ties_head && model.known_as->traits.head_before_table) {
    rest.share.embedding_on_host = true;
    for (const WeightLine& line : weigher.weigh(rest).lines)
      if (line.component == Component::kLmHead) out.host.push_back(ledger_line(line, kSource));
  }
  if (auto line = padding_line(model, request, on_host, true)) out.host.push_back(std::move(*line));
}

// --split-mode row: each GPU has some rows of every matrix, except the experts.
void share_rows(const Request& request, RankWeights& out) {
  constexpr LineId kWhole[] = {LineId::kExperts, LineId::kNorms, LineId::kRouter};
  std::vector<double> shares = request.llama_cpp.tensor_split;
  if (shares.empty()) shares.assign(out.lines.size(), 1);
  const double all = std::accumulate(shares.begin(), shares.end(), 0.0);
  const std::vector<LedgerLine> kinds = out.lines.back();
  for (const LedgerLine& kind : kinds) {
    if (std::find(std::begin(kWhole), std::end(kWhole), kind.id) != std::end(kWhole)) continue;
    Bytes sum;
    for (const std::vector<LedgerLine>& stage : out.lines)
      for (const LedgerLine& line : stage)
        if (line.id == kind.id) sum += line.bytes;
    for (std::size_t i = 0; i < out.lines.size(); ++i) {
      std::vector<LedgerLine>& lines = out.lines[i];
      auto own = std::find_if(lines.begin(), lines.end(), [&](const LedgerLine& line) { return line.id == kind.id; });
      if (own == lines.end()) own = lines.insert(lines.end(), kind);
      own->bytes = own->low = own->high =
          Bytes(static_cast<std::uint64_t>(static_cast<double>(sum.count()) * shares[i] / all));
      own->formula = {"its part of the rows of {bytes} B (--split-mode row)", {{"bytes", sum}}};
    }
  }
}

// Bits of a weight as stored, on average over GPUs and host.
double mean_bits(const ModelSpec& model, bool with_towers, const RankWeights& weights) {
  const Parameters parameters = count_parameters(model);
  Elements left_out;
  for (const TensorGroup& group : model.tensors)
    if (!with_towers && is_tower(group.component)) left_out += group.stored();
  if (!parameters.is_known || parameters.total <= left_out.count()) return weights.bits;
  Bytes all;
  for (const std::vector<LedgerLine>& stage : weights.lines)
    for (const LedgerLine& line : stage) all += line.bytes;
  for (const LedgerLine& line : weights.host) all += line.bytes;
  return 8 * static_cast<double>(all.count()) / static_cast<double>(parameters.total - left_out.count());
}

}  // namespace

std::vector<StageShare> layer_stages(std::uint64_t layers, const Request& request) {
  if (const auto stages = engine_of(request).parallel.stages; stages != nullptr) return stages(layers, request);
  if (request.parallel.pipeline == 1) return {{0, layers, true, true}};
  return stage_shares(layers, request.parallel, StageSplit::kSpareLast);
}

void set_stage(const StageShare& stage, WeightShare& share) {
  share.first_layer = stage.first_layer;
  share.layers = stage.layers;
  share.first_stage = stage.has_embedding;
  share.last_stage = stage.has_head;
}

ModelSpec as_made(const ModelSpec& model, const Request& request) {
  ModelSpec out = model;
  const Engine& engine = engine_of(request);
  if (engine.loading.reads_quant_file_first && model.quant_file) {
    out.quantization = model.quant_file->quantization;
    out.declared_kv_dtype = model.quant_file->kv_dtype;
  }
  if (engine.loading.make_tensors == nullptr || model.is_gguf) return out;
  if (!model.stored.empty()) out.declared_bytes = Weigher::declared_bytes(model);
  Request on_card = request;
  on_card.card.memory = card_memory(request);
  EngineTensors tensors{model.known_as->id, out.root_type,     out.model_type, out.architecture,
                        &on_card,           out.layers.size(), out.tensors,    out.unknown_tensors,
                        out.quantization,   out.notes,         model.facts,    model.decoder_ties_head,
                        &out.dtype};
  engine.loading.make_tensors(tensors);
  return out;
}

std::optional<std::string> asked_weights(const ModelSpec& model, const Request& request) {
  const std::string_view unpacked = engine_of(request).loading.unpacks_gguf;
  if (model.is_gguf && !request.weights && !unpacked.empty())
    return std::string(request.dtype ? name(*request.dtype) : unpacked);
  if (const auto makes = engine_of(request).loading.makes_single_nf4;
      request.weights == "bnb-nf4" && makes && makes(request))
    return "bnb-nf4-single";
  if (request.weights || !ignores_quantization(model, request)) return request.weights;
  return std::string(name(loaded_dtype(request, model.known_as->traits, model.dtype).value_or(model.dtype)));
}

RankWeights rank_weights(const ModelSpec& model, const Request& request, std::vector<Note>& notes) {
  const std::optional<Dtype> dtype = loaded_dtype(request, model.known_as->traits, model.dtype);
  const Weigher weigher(model, asked_weights(model, request), dtype);
  notes.insert(notes.end(), weigher.notes().begin(), weigher.notes().end());
  return rank_weights(model, weigher, request, notes);
}

RankWeights rank_weights(const ModelSpec& model, const Weigher& weigher, const Request& request,
                         std::vector<Note>& notes) {
  const Engine& engine = engine_of(request);
  RankWeights out;
  WeightRequest asked = weight_request(model, request);
  if (ignores_quantization(model, request) && !request.weights)
    warn(notes, "no_quant_method",
         {"the quantization config has no quant_method: {engine} ignores it and loads the weights as {type} without "
          "their scales",
          {{"engine", engine.name}, {"type", *asked.type}}});
  const std::uint64_t layers = checked_add(
      model.layers.size(), engine.parallel.places_nextn_layers ? model.num_nextn_layers : 0, "a number of layers");
  const std::vector<StageShare> stages = layer_stages(layers, request);
  const bool ties_head =
      std::any_of(model.tensors.begin(), model.tensors.end(), [](const TensorGroup& group) { return group.is_tied; });
  Moved moved;
  for (const StageShare& stage : stages) {
    set_stage(stage, asked.share);
    const bool is_whole = stage.layers == layers && stage.has_embedding && stage.has_head;
    if (is_whole) asked.share.layers.reset();
    WeightReport report = weigher.weigh(asked);
    out.type = report.type;
    out.is_known = report.is_known;
    count_reads(report.lines, ties_head && stage.has_embedding && stage.has_head, out.read_always, out.experts);
    add_stage(model, weigher, asked, request, stage, report, moved, out);
    if (&stage == &stages.front()) notes.insert(notes.end(), report.notes.begin(), report.notes.end());
  }
  if (!out.is_known) return out;
  if (engine.extras.image_buffer != nullptr && !engine.extras.brings_projector && !asked.with_towers &&
      !request.extras.projector &&
      (has_towers(model.tensors) || has_towers(model.unknown_tensors) || has_towers(model.stored)))
    inform(notes, "towers_left_out",
           "a GGUF of this model has only the text part: for images or audio add --mmproj FILE. llama-server -hf loads "
           "that file by itself unless --no-mmproj is given");
  if (request.llama_cpp.split == LlamaSplit::kRow && out.lines.size() > 1) share_rows(request, out);
  add_moved(model, request, moved, out);
  if (!engine.loading.embedding_on_host) return out;
  add_host_layers(model, weigher, asked, request, layers, stages, ties_head, out);
  out.bits = mean_bits(model, asked.with_towers, out);
  return out;
}

}  // namespace kvplan
