// A model's tensors as vLLM's classes make them: what they leave out, pad, keep in another type or add. What depends on
// neither release nor card is derived where the tensors are written (TensorGroup::is_derived).
#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "engines/vllm/card.h"
#include "engines/vllm/rules.h"
#include "engines/vllm/tensors.h"
#include "kvplan/gpus.h"
#include "kvplan/numbers.h"
#include "kvplan/strings.h"

namespace kvplan {

namespace {

// Releases, as engine_version() spells them: the minor number.
// From here on Gemma 3n's layers that read another layer's cache lack their own.
constexpr std::uint64_t kSharesProjections = 30;
constexpr std::uint64_t kBuffersForDraftAlone = 27;  // 0.26 has DeepSeek-V4's draft buffer even without a draft
constexpr std::uint64_t kPadsHunyuan = 29;           // until 0.28 HunYuan's own class did not pad the vocabulary
// From here on Hy-V4's class has indexers, and sinks in float32; 0.30's has neither.
constexpr std::uint64_t kIndexesHy = 31;
constexpr std::uint64_t kPadsExperts = 31;  // oracle/unquantized.py; not in 0.30

bool ends_in(std::string_view name, std::string_view ends) {
  const std::vector<std::string_view> words = split(ends);
  return std::any_of(words.begin(), words.end(), [&](std::string_view end) {
    return name.ends_with(end) && (name.size() == end.size() || name[name.size() - end.size() - 1] == '.');
  });
}

// The value of a key in the decoder's config; "" where none was read.
std::string_view stated(const EngineTensors& model, std::string_view key) {
  for (const ConfigFact& fact : model.facts)
    if ((fact.origin == Origin::kFile || fact.origin == Origin::kAlias) &&
        (fact.key == key || fact.key.ends_with("." + std::string(key))))
      return fact.value;
  return "";
}

template <class Test>
void drop(EngineTensors& model, Test&& test) {
  std::erase_if(model.tensors, test);
}

// Drops a tower's layers after the one whose output is read, the norm after them all, and the pooling head
// (models/llava.py init_vision_tower_for_llava, siglip.py).
void leave_unread_parts(EngineTensors& model) {
  drop(model, [](const TensorGroup& group) {
    return group.module.starts_with("vision_tower.unread_") || group.module.starts_with("vision_tower.head.");
  });
}

// The router's bias exists where topk_method says so (models/deepseek_v2.py).
void settle_router_bias(EngineTensors& model) {
  if (stated(model, "topk_method") == "\"noaux_tc\"") return;
  drop(model, [](const TensorGroup& group) { return ends_in(group.module, "e_score_correction_bias"); });
}

// Puts tensors that some layers have into every layer, as the class does.
void put_in_every_layer(EngineTensors& model, std::string_view ends) {
  std::vector<std::string> done;
  drop(model, [&](TensorGroup& group) {
    if (group.component == Component::kMtp || !ends_in(group.module, ends)) return false;
    if (std::find(done.begin(), done.end(), group.module) != done.end()) return true;
    done.push_back(group.module);
    group.layers = {{0, model.num_layers, 1}};
    return false;
  });
}

// The router stays in float32 where the card has no kernel for it in 16 bit (fused_moe/router/gate_linear.py).
void keep_router_in_float32(EngineTensors& model) {
  const unsigned card = vllm_capability(*model.request);
  if (card == 0 || card == 90 || card / 10 == 10) return;
  for (TensorGroup& group : model.tensors)
    if (group.component == Component::kRouter && group.role == TensorRole::kLinear) group.kept = Kept::kFloat32;
}

// Experts that are not quantized are padded for FlashInfer's kernel on Blackwell (fused_moe/oracle/unquantized.py).
void pad_experts(EngineTensors& model, std::uint64_t version) {
  constexpr std::uint64_t kMultiple = 128;
  if (version < kPadsExperts || !vllm_is_data_blackwell(*model.request) || is_declared(model.quantization)) return;
  // Its kernel only has SiLU and squared ReLU (experts/trtllm_bf16_moe.py).
  if (is_one_of(model.arch, {Arch::kGemma4, Arch::kGemma4Unified, Arch::kGptOss})) return;
  const std::uint64_t ranks = std::max<std::uint64_t>(1, model.request->parallel.tensor);
  for (TensorGroup& group : model.tensors) {
    if (!group.is_expert || group.role != TensorRole::kLinear) continue;
    std::uint64_t& width = group.split == Split::kColumns ? group.columns : group.rows;
    if (group.split == Split::kNone || width % ranks != 0) continue;
    width = round_up(width / ranks, kMultiple, "the width of an expert") * ranks;
  }
}

// Kimi-K3: copies for FlashKDA where that runs, and rows that pad its fused matrix to a multiple of sixteen
// (models/kimi_k3/nvidia/kda.py).
void fit_kda(EngineTensors& model) {
  constexpr std::uint64_t kMultiple = 16;
  const unsigned card = vllm_capability(*model.request);
  if (card != 0 && card < 90)
    drop(model, [](const TensorGroup& group) { return ends_in(group.module, "decode_conv1d decode_norm"); });
  const std::uint64_t ranks = std::max<std::uint64_t>(1, model.request->parallel.tensor);
  const auto table = std::find_if(model.tensors.begin(), model.tensors.end(),
                                  [](const TensorGroup& group) { return group.role == TensorRole::kEmbedding; });
  if (table == model.tensors.end()) return;
  std::vector<TensorGroup> more;
  for (const TensorGroup& rates : model.tensors) {
    if (!ends_in(rates.module, "self_attn.A_log") || rates.rows % ranks != 0) continue;
    const std::uint64_t heads = rates.rows / ranks;  // beta has one row for each; the other rows are multiples
    TensorGroup padding = rates;
    padding.module = "model.layers.*.self_attn.padding";
    padding.rows = round_up(heads, kMultiple, "rows") - heads;
    padding.columns = table->columns;
    padding.split = Split::kNone;
    padding.units = 0;
    padding.kept = Kept::kAsDeclared;
    padding.is_float32 = false;
    padding.is_derived = true;
    if (padding.rows > 0) more.push_back(std::move(padding));
  }
  model.tensors.insert(model.tensors.end(), more.begin(), more.end());
}

// A bias for each expert's choice, which files of this class store as a buffer (models/lfm2_moe.py).
void add_expert_biases(EngineTensors& model) {
  if (stated(model, "use_expert_bias") == "false") return;
  std::vector<TensorGroup> biases;
  for (const TensorGroup& group : model.tensors) {
    if (group.component != Component::kRouter || group.role != TensorRole::kLinear) continue;
    TensorGroup bias = group;
    bias.module += ".e_score_correction_bias";
    bias.role = TensorRole::kPlain;
    bias.columns = 1;
    bias.is_derived = bias.is_float32 = true;
    biases.push_back(std::move(bias));
  }
  model.tensors.insert(model.tensors.end(), biases.begin(), biases.end());
}

TensorGroup buffer(std::string_view name, std::uint64_t rows, std::uint64_t columns) {
  TensorGroup out;
  out.component = Component::kOther;
  out.role = TensorRole::kPlain;
  out.module = name;
  out.place = Place::kFirst;
  out.rows = rows;
  out.columns = columns;
  out.is_derived = true;
  return out;
}

std::uint64_t batch_of(const EngineTensors& model) {
  EngineInput asked;
  asked.model.arch = model.arch;
  asked.request = *model.request;
  return vllm_batched_tokens(asked, vllm_rules(*model.request));
}

// The scales of its FP8 blocks are powers of two, one byte each; there are buffers for the tokens that indexers choose
// in a batch, and for what the draft reads of it (models/deepseek_v4).
void make_deepseek_v4(EngineTensors& model, std::uint64_t version) {
  const auto narrow = [](std::optional<WeightScheme>& scheme) {
    if (scheme && scheme->type == "fp8-block") scheme->type = "fp8-block-e8m0";
  };
  narrow(model.quantization.scheme);
  narrow(model.quantization.expert_scheme);
  for (SchemeRule& rule : model.quantization.rules) narrow(rule.scheme);
  const std::uint64_t tokens = batch_of(model);
  if (const auto chosen = whole_number(stated(model, "index_topk")); chosen && *chosen > 0) {
    model.tensors.push_back(buffer("model.topk_indices_buffer", tokens, *chosen));
    model.tensors.back().is_float32 = true;  // int32
  }
  const auto streams = std::find_if(model.tensors.begin(), model.tensors.end(),
                                    [](const TensorGroup& group) { return group.module == "model.embed_tokens"; });
  const bool has_buffer = model.request->mtp || version < kBuffersForDraftAlone;
  if (!has_buffer || streams == model.tensors.end()) return;
  const std::uint64_t width = streams->columns;
  const std::uint64_t copies = whole_number(stated(model, "hc_mult")).value_or(4);
  model.tensors.push_back(buffer("model._mtp_hidden_buffer", tokens, checked_mul(width, copies, "hidden states")));
}

// The ranks also split Llama 4's patches, adapter and projector (models/mllama4.py).
void cut_llama4_tower(EngineTensors& model) {
  for (TensorGroup& group : model.tensors) {
    if (group.role == TensorRole::kPlain) continue;
    if (ends_in(group.module, "patch_embedding vision_adapter.fc1 multi_modal_projector.linear_1"))
      group.split = Split::kRows;
    if (ends_in(group.module, "vision_adapter.fc2")) group.split = Split::kColumns;
  }
}

// Llama 3.2 Vision's embedding rows for images, which transformers' backend leaves out.
void leave_image_rows(EngineTensors& model) {
  drop(model, [](const TensorGroup& group) { return group.module == "model.embed_tokens.image"; });
}

// GLM-OCR's merger has the inner width of the tower's MLPs (models/glm_ocr.py).
void size_glm_ocr_merger(EngineTensors& model) {
  const auto mlp = std::find_if(model.tensors.begin(), model.tensors.end(),
                                [](const TensorGroup& group) { return group.module == "visual.blocks.fc2"; });
  if (mlp == model.tensors.end()) return;
  const std::uint64_t width = mlp->columns;
  for (TensorGroup& group : model.tensors) {
    if (group.module == "visual.merger.gate_up_proj") group.rows = 2 * width;
    if (group.module == "visual.merger.down_proj") group.columns = width;
  }
}

// MOSS has Whisper's encoder, whose MLPs are encoder_ffn_dim wide, or 1,536 where the config names none
// (models/moss_transcribe_diarize.py).
void size_whisper_mlps(EngineTensors& model) {
  constexpr std::uint64_t kUsual = 1536;
  if (!stated(model, "encoder_ffn_dim").empty()) return;
  for (TensorGroup& group : model.tensors) {
    if (group.module.starts_with("audio_tower.layers.fc1")) group.rows = kUsual;
    if (group.module == "audio_tower.layers.fc2") group.columns = kUsual;
  }
}

// A batch's embeddings for each layer, for models with image or audio input (models/gemma3n_mm.py, gemma4_mm.py).
void add_layer_embeddings(EngineTensors& model) {
  if (!model.architecture.ends_with("ForConditionalGeneration")) return;
  const auto table = std::find_if(model.tensors.begin(), model.tensors.end(), [](const TensorGroup& group) {
    return group.module == "model.embed_tokens_per_layer";
  });
  if (table == model.tensors.end()) return;
  const std::uint64_t columns = table->columns;
  model.tensors.push_back(buffer("per_layer_embeddings", batch_of(model), columns));
}

// ModelOpt quantizes the head like any layer, and lists it where it did not (quantization/modelopt.py
// get_quant_method).
void pack_unlisted_head(EngineTensors& model) {
  QuantDeclaration& declared = model.quantization;
  if (declared.dialect.starts_with("modelopt") && declared.scheme && !declared.expert_scheme && !declared.head_scheme &&
      declared.rules.empty())
    declared.head_scheme = declared.scheme;
}

}  // namespace

std::string vllm_makes_by(const Request& request) {
  // The default batch depends on the card's memory.
  const Bytes named = request.card.gpu ? request.card.gpu->budget() : Bytes(0);
  std::string key;
  for (const std::uint64_t part : {engine_version(engine_of(request), request), std::uint64_t{vllm_capability(request)},
                                   request.parallel.tensor, request.max_num_batched_tokens.value_or(Tokens(0)).count(),
                                   request.card.memory.value_or(named).count(), std::uint64_t{request.mtp}})
    key += std::to_string(part) + " ";
  return key;
}

void vllm_make_tensors(EngineTensors& model) {
  const std::uint64_t version = engine_version(engine_of(*model.request), *model.request);
  // By the class that the config names, as in the registry.
  const auto runs = [&](std::string_view classes) { return has_word(classes, model.architecture); };
  leave_unread_parts(model);
  pack_unlisted_head(model);
  pad_experts(model, version);
  switch (model.arch) {
    case Arch::kDeepseekV4:
      make_deepseek_v4(model, version);
      settle_router_bias(model);
      break;
    case Arch::kDeepseekV3:
    case Arch::kDeepseekV32:
    case Arch::kGlmMoeDsa:
      settle_router_bias(model);
      if (vllm_indexes_every_layer(model.arch, model.facts))
        put_in_every_layer(model, "indexer.wq_b indexer.wk indexer.k_norm indexer.k_norm.bias indexer.weights_proj");
      break;
    case Arch::kNemotronH: keep_router_in_float32(model); break;
    case Arch::kKimiLinear:
    case Arch::kKimiK3: fit_kda(model); break;
    case Arch::kGemma3n:
      if (version < kSharesProjections)
        put_in_every_layer(model, "self_attn.k_proj self_attn.v_proj self_attn.k_norm self_attn.v_norm");
      add_layer_embeddings(model);
      break;
    case Arch::kLlama4: cut_llama4_tower(model); break;
    case Arch::kMllama: leave_image_rows(model); break;
    case Arch::kGemma4:
    case Arch::kGemma4Unified: add_layer_embeddings(model); break;
    default: break;
  }
  // The factor of the embedding is a buffer (models/gemma.py).
  if (is_one_of(model.arch, {Arch::kGemma, Arch::kGemma2, Arch::kGemma3}) || runs("VaultGemmaForCausalLM"))
    model.tensors.push_back(buffer("model.normalizer", 1, 1));
  if (runs("Lfm2MoeForCausalLM")) add_expert_biases(model);
  if (runs("GlmOcrForConditionalGeneration")) size_glm_ocr_merger(model);
  if (runs("MossTranscribeDiarizeForConditionalGeneration")) size_whisper_mlps(model);
  if (runs("LlavaNextVideoForConditionalGeneration"))
    drop(model, [](const TensorGroup& group) { return group.module == "image_newline"; });
  // Its class keeps the router in float32 (models/beam).
  if (runs("BeamForCausalLM"))
    for (TensorGroup& group : model.tensors)
      if (group.component == Component::kRouter && group.role == TensorRole::kLinear) group.kept = Kept::kFloat32;
  if (runs("HYV4ForCausalLM") && version < kIndexesHy) {
    drop(model, [](const TensorGroup& group) { return group.module.find(".indexer.") != std::string::npos; });
    for (TensorGroup& group : model.tensors)
      if (ends_in(group.module, "self_attn.sinks")) group.kept = Kept::kAsDeclared;
  }
  // Without experts there is no router, and none of its norms (models/diffusion_gemma.py).
  if (runs("DiffusionGemmaForBlockDiffusion") && std::none_of(model.tensors.begin(), model.tensors.end(),
                                                              [](const TensorGroup& group) { return group.is_expert; }))
    drop(model, [](const TensorGroup& group) {
      return ends_in(group.module, "router.scale router.per_expert_scale router.norm router.root_size moe_norms");
    });
  // OLMo's delta nets keep A in the model's type (models/olmo_hybrid.py).
  if (runs("OlmoHybridForCausalLM"))
    for (TensorGroup& group : model.tensors)
      if (ends_in(group.module, "A_log")) group.kept = Kept::kAsDeclared;
  // Runs GLM-4's class, which has biases where attention_bias says so (models/glm4.py).
  if (runs("Glm4vForConditionalGeneration") && stated(model, "attention_bias") != "true")
    drop(model, [](const TensorGroup& group) {
      return ends_in(group.module, "self_attn.q_proj.bias self_attn.k_proj.bias self_attn.v_proj.bias");
    });
  if (version < kPadsHunyuan && runs("HunYuanDenseV1ForCausalLM"))
    for (TensorGroup& group : model.tensors)
      if (group.split == Split::kVocab) group.split = Split::kRows;
}

}  // namespace kvplan
