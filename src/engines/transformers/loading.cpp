// What from_pretrained makes of a checkpoint's weights: which tensors a quantizer packs, which formats it unpacks, and
// the type of unquantized tensors.
//
// Source: transformers 4.57 and 5.0 to 5.24, quantizers/*.py (validate_environment, param_needs_quantization) and
// integrations/bitsandbytes.py. Run on the meta device in 5.24 (tests/conformance): what the quantizers of
// bitsandbytes, torchao, quanto and FP8 pack of every real config.
#include "engines/release.h"
#include "engines/tensor_edits.h"
#include "engines/transformers/rules.h"
#include "kvplan/strings.h"

namespace kvplan {

namespace {

// A checkpoint's format that is unpacked to 16 bit: on every GPU, or below a compute capability.
struct UnpackedFormat {
  std::string_view dialects;
  std::uint32_t below;  // 0: on every GPU
  const char* words;
};
constexpr UnpackedFormat kUnpacked[] = {
    {"mxfp4", 75, "transformers dequantizes MXFP4 weights to 16 bit below compute capability 7.5"},
    {"mxfp4", 0,
     "transformers dequantizes MXFP4 weights to 16 bit unless the packages kernels and triton 3.4 are installed. With "
     "them, plan --weights mxfp4"},
    {"fp8 mxfp8", 89, "transformers dequantizes FP8 weights to 16 bit below compute capability 8.9"},
    {"compressed-tensors", 0,
     "transformers decompresses compressed-tensors weights to 16 bit in the first forward pass. vLLM and SGLang "
     "compute "
     "with the packed weights"},
    {"modelopt", 0, "transformers has no quantizer for modelopt: it ignores the quantization and loads 16 bit weights"},
};

bool is_below(const Request& request, std::uint32_t capability) {
  const std::uint32_t own = request.card.capability();
  return own > 0 && own < capability;
}

bool is_type(std::string_view dialects, std::string_view type) {
  for (const std::string_view dialect : split(dialects))
    if (type.starts_with(dialect)) return true;
  return false;
}

// Weights that the GPU cannot quantize while loading stay in 16 bit.
void leave_plain(EngineTensors& model) {
  for (const UnpackedFormat& row : kUnpacked) {
    if (!is_below(*model.request, row.below) || !is_type(row.dialects, *model.request->weights)) continue;
    model.notes.push_back({NoteLevel::kWarning, "unpacked_weights", row.words});
    for (TensorGroup& group : model.tensors) group.kept = Kept::kPlain;
    return;
  }
}

void unpack(EngineTensors& model) {
  for (const UnpackedFormat& row : kUnpacked) {
    if (!has_word(row.dialects, model.quantization.dialect)) continue;
    if (row.below > 0 && !is_below(*model.request, row.below)) continue;
    model.notes.push_back({NoteLevel::kWarning, "unpacked_weights", row.words});
    model.quantization = {};
    return;
  }
}

// The types that a quantizer makes of nn.Linear modules while loading, wherever they are: image encoders too.
constexpr std::string_view kOfLinears = "bnb int8 int4 nvfp4 quanto hqq";

void pack_linears(EngineTensors& model) {
  if (!is_type(kOfLinears, *model.request->weights) && !model.request->weights->starts_with("fp8")) return;
  const bool keeps =
      transformers_class(model.arch, model.architecture).keeps_down_proj && !model.request->weights->starts_with("int");
  for (TensorGroup& group : model.tensors) {
    if (is_tower(group.component)) group.kept = Kept::kPacked;
    if (keeps && selects("down_proj", group)) group.kept = Kept::kPlain;
  }
}

// If the experts of a layer are one tensor, only FP8's quantizer packs them.
void leave_experts(EngineTensors& model) {
  const std::string_view dialect = model.quantization.dialect;
  const std::string_view type = model.request->weights      ? std::string_view(*model.request->weights)
                                : dialect == "bitsandbytes" ? "bnb"
                                                            : dialect;
  const bool is_calibrated = is_type("awq gptq", type);
  if (!is_calibrated && (!is_type(kOfLinears, type) || (!model.request->weights && type != "bnb"))) return;
  if (!transformers_rules(*model.request).fuses_experts &&
      !transformers_class(model.arch, model.architecture).fused_experts)
    return;
  bool has_experts = false;
  for (TensorGroup& group : model.tensors)
    if (selects("<experts>", group)) {
      group.kept = Kept::kPlain;
      has_experts = true;
    }
  if (has_experts && is_calibrated)
    model.notes.push_back({NoteLevel::kWarning, "unquantized_experts",
                           "transformers reads no packed experts of GPTQ and AWQ: it makes them in 16 bit, with random "
                           "values. vLLM and SGLang read them"});
  else if (has_experts)
    model.notes.push_back({NoteLevel::kWarning, "unquantized_experts",
                           "transformers leaves the experts in 16 bit: they are one tensor per layer, and quantizers "
                           "pack only nn.Linear. A GGUF or a checkpoint with quantized experts is smaller"});
}

}  // namespace

void transformers_tensors(EngineTensors& model) {
  drop_tensors(model, "<derived>");
  for (TensorGroup& group : model.tensors) group.kept = Kept::kAsDeclared;
  leave_experts(model);
  if (model.request->weights) {
    pack_linears(model);
    return leave_plain(model);
  }
  if (is_declared(model.quantization)) return unpack(model);
  if (!transformers_rules(*model.request).loads_float32 || model.request->dtype) return;
  *model.dtype = Dtype::kFloat32;
  model.notes.push_back({NoteLevel::kInfo, "float32_weights",
                         "from_pretrained loads float32 before transformers 5 unless dtype is given. With "
                         "dtype=\"auto\", plan --dtype bfloat16"});
}

std::string transformers_makes_by(const Request& request) {
  std::string out = request.weights.value_or("") + "@" + request.engine_version + (request.dtype ? " typed" : "");
  for (const UnpackedFormat& row : kUnpacked) out += is_below(request, row.below) ? '1' : '0';
  return out;
}

// QuantizedCache.__init__ refuses layer types other than full_attention. generate() also refuses encoder-decoders.
std::optional<Refusal> transformers_refusal(const EngineInput& input, const Load&) {
  const std::string_view type = input.request.weights ? std::string_view(*input.request.weights) : "";
  if (type.starts_with("hqq") && transformers_rules(input.request).lacks_hqq)
    return Refusal{"quantization", "QuantizationMethod.HQQ is not available yet and will be supported soon",
                   "use bnb-nf4, or transformers 4.57"};
  if (input.request.cpu_offload && (type.starts_with("bnb") || type.starts_with("fp8") || type.starts_with("hqq") ||
                                    input.model.quantization.dialect == "bitsandbytes"))
    return Refusal{"device_map",
                   "Some modules are dispatched on the CPU or the disk: this quantizer needs all of them on GPUs",
                   "leave --device-map out"};
  if (!quantized(input.types.key)) return std::nullopt;
  const bool has_others = any_term(input, [](const Term& term) {
    return term.growth != Growth::kToken || term.stride != 1 || term.limit.kind != LimitKind::kNone ||
           (term.role != Role::kKey && term.role != Role::kValue);
  });
  if (!has_others || transformers_class(input.model).whole_windows) return std::nullopt;
  return Refusal{"quantized_cache",
                 "transformers quantizes the cache of models whose layers are all of full attention, and this one has "
                 "others",
                 "leave --kv-cache-dtype out"};
}

}  // namespace kvplan
