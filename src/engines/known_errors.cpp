#include "engines/known_errors.h"

#include <algorithm>

#include "engines/estimates.h"
#include "engines/llama_cpp/rules.h"
#include "engines/vllm/vllm.h"
#include "kvplan/strings.h"

namespace kvplan {

using enum Effect;

// Whether the config has a key that begins with this text, path included.
static bool names_key(const EngineInput& input, std::string_view beginning) {
  return std::any_of(input.model.facts.begin(), input.model.facts.end(), [&](const ConfigFact& fact) {
    return (fact.origin == Origin::kFile || fact.origin == Origin::kAlias) && fact.key.starts_with(beginning);
  });
}

// Whether every layer has a window, as long as the context: the plan then has none.
static bool has_idle_window(const EngineInput& input) {
  const auto is_window = [](const ConfigFact& fact) {
    return fact.key.ends_with("sliding_window") && fact.value != "null";
  };
  const auto is_limited = [](const Term& term) { return term.limit.kind != LimitKind::kNone; };
  return std::any_of(input.model.facts.begin(), input.model.facts.end(), is_window) && !any_term(input, is_limited);
}

// Whether the layers' own embeddings have a type whose rows CUDA cannot look up.
static bool has_packed_table(const ModelShape& model) {
  return std::any_of(model.tensors.begin(), model.tensors.end(), [](const TensorGroup& group) {
    const std::string_view type = group.stored_type;
    return group.module.starts_with("per_layer_token_embd") && (type.find("_k") != type.npos || type.starts_with("iq"));
  });
}

// Whether ModelOpt's file gives each layer its own type. Only Nemotron-H was read that way from the beginning.
static bool is_mixed_modelopt(const EngineInput& input) {
  const QuantDeclaration& declared = input.model.quantization;
  return declared.dialect.starts_with("modelopt") && !declared.scheme && input.model.model_type != "nemotron_h";
}

// clang-format off
constexpr KnownError kErrors[] = {
    {.engine = "transformers", .name = "RecurrentGemma's windows in 4.57", .effect = kWarning, .types = "recurrent_gemma", .until = {5, 0},
     .tells = "transformers 4 allocates the windows of RecurrentGemma at full length, 17 MB a sequence; this plan counts the tokens",
     .why = "modeling_recurrent_gemma.py of 4.57: _setup_cache.",
     .misses = {.figures = "cache", .off = {{-0.93, -0.92}}}},
    {.engine = "transformers", .name = "caches that a class fills differently",
     .types = "recurrent_gemma cpmant",
     .why = "After a decoding step RecurrentGemma's convolution states are three columns of a tensor of four (92 KB), and kvplan counts three. CPM-Ant drops the first of several tokens in a second step, and kvplan counts all.",
     .misses = {.figures = "cache", .off = {{-0.165, 0.008}}}},
    {.engine = "transformers", .name = "FSMT's last token", .effect = kUnknown, .types = "fsmt", .until = {5, 17},
     .tells = "transformers 5.16 caches only the last token of FSMT's prompt; this plan counts every token, so its cache is too large",
     .why = "In 5.16 FSMT's class caches only the last token of a prompt.",
     .misses = {.figures = "cache", .off = {{1.8, 1.89}}}},
    {.engine = "transformers", .name = "Inkling's towers", .effect = kUnknown, .types = "inkling_mm_model",
     .tells = "transformers allocates 1.8 times the weights that this plan counts for Inkling with its towers",
     .why = "kvplan only estimates Inkling's encoders, and its estimate is far too small.",
     .misses = {.figures = "parameters", .off = {{-0.45, -0.43}}}},
    {.engine = "transformers", .name = "Qwen2.5-Omni's talker", .effect = kUnknown, .types = "qwen2_5_omni",
     .tells = "transformers also loads Qwen2.5-Omni's talker and vocoder; this plan counts only the thinker, so its weights are 38 % too small",
     .why = "The class also has the talker and the vocoder; kvplan reads the thinker.",
     .misses = {.figures = "parameters", .off = {{-0.39, -0.38}}}},
    {.engine = "transformers", .name = "towers beyond their estimate", .effect = kUnknown,
     .types = "dots3_note kyutai_speech_to_text",
     .tells = "this plan only estimates the weights of this model's towers; its weights are 2 to 3 % too small",
     .why = "kvplan only estimates these towers, and the class allocates more than the upper end of the range.",
     .misses = {.figures = "parameters", .off = {{-0.03, -0.02}}}},
    {.engine = "transformers", .name = "Step-3.7 without a vision_config", .effect = kUnknown, .types = "step3p7",
     .when = [](const EngineInput& input) { return !input.model.vision; },
     .tells = "the config describes no vision tower; transformers builds Step-3.7's default one, so this plan's weights are 1 % too small",
     .why = "This copy of the config has no vision_config, so the class uses its default tower.",
     .misses = {.models = "real/stepfun-ai--Step-3.7-Flash", .figures = "parameters", .off = {{-0.011, -0.01}}}},
    {.engine = "transformers", .name = "towers that are estimated",
     .why = "kvplan only estimates these towers, encoders and connectors. The range includes what the class allocates, but the number of parameters leaves them out.",
     .misses = {.models = "default/apertus1p5|default/inkling2_loop|default/omniasr|default/fast_vlm|default/granite_docling|default/inkling2|default/janus|default/lfm3_vl|default/nemo_speechlm|default/ovis2|default/pi0|default/vibevoice|default/vibevoice_asr|variant/chameleon|variant/emu3|variant/hunyuan_vl",
                .figures = "parameters", .off = {{-0.98, 0}}}},
    {.engine = "transformers", .name = "a few elements",
     .why = "kvplan lacks 5,120 of Lara mini's 7.28 billion elements, and 32 elements that are a parameter of Mistral Large 4's class since 5.24 (alpha of its rotary angles).",
     .misses = {.models = "default/lara_mini|default/mistral_large4", .figures = "parameters", .off = {{-0.000001, 0}}}},
    {.engine = "transformers", .name = "a few matrices of a quantizer",
     .why = "A quantizer leaves the class's last matrix in 16 bit (a projector's), and packs routers, indexers and hyper-connections of some classes otherwise.",
     .misses = {.figures = "quantized weights", .off = {{-0.005, 0.005}}}},
    {.engine = "transformers", .name = "Step-3.7's default tower, quantized", .types = "step3p7",
     .why = "The copy of the config has no vision_config, and the class then takes its default; plans say so.",
     .misses = {.figures = "quantized weights", .off = {{-0.012, -0.003}}}},
    {.engine = "transformers", .name = "Inkling's towers, quantized", .types = "inkling_mm_model",
     .why = "kvplan has only an estimate of Inkling's encoders, which is far too small; plans say so.",
     .misses = {.figures = "quantized weights", .off = {{-0.45, -0.15}}}},
    {.engine = "transformers", .name = "JetMoE's attention experts", .effect = kUnknown, .types = "jetmoe",
     .when = [](const EngineInput& input) {
       const auto type = input.request.weights ? find_dtype(*input.request.weights) : Dtype::kBfloat16;
       return !type || plain_bytes(*type) < 2;
     },
     .tells = "transformers leaves the experts of JetMoE's attention in 16 bit; this plan packs them, so its weights are up to 14 % too small",
     .why = "JetMoE has experts in its attention too, one tensor a layer.",
     .misses = {.figures = "quantized weights", .off = {{-0.14, -0.09}}}},
    {.engine = "transformers", .name = "tables of a prime number of rows", .types = "qwen4_exp qwen4_exp_text",
     .why = "Each head of the n-gram tables has a prime number of rows, the first one above ngram_vocab_size_base. kvplan counts ngram_vocab_size_base.",
     .misses = {.figures = "parameters", .off = {{-0.000003, 0}}}},
    {.engine = "transformers", .name = "Dory without layer_types", .effect = kUnknown, .types = "dory",
     .when = [](const EngineInput& input) { return !names_key(input, "layer_types"); },
     .tells = "without layer_types transformers builds a whole layer of Dory for each of num_hidden_layers; this plan has half as many, as vLLM has",
     .why = "Released files list attention and MLPs as separate blocks in layer_types. Without layer_types transformers does not halve the counts."},
    {.engine = "transformers", .name = "Falcon's stored head", .effect = kWarning, .types = "falcon",
     .when = [](const EngineInput& input) { return !names_key(input, "tie_word_embeddings"); },
     .tells = "transformers ties Falcon's head and drops the copy that its files store; this plan's weights are 0.5 % too large",
     .why = "FalconConfig's default is tie_word_embeddings=True (kvplan verify with 5.24 and Falcon-180B)."},
    {.engine = "transformers", .name = "LongCat's zero experts", .effect = kUnknown, .types = "longcat_flash",
     .tells = "transformers allocates weights for LongCat's zero experts, which no checkpoint has; this plan leaves them out, so its weights are 24 % too small",
     .why = "LongCat's class allocates weights for its 256 zero experts: released checkpoints have none.",
     .misses = {.figures = "parameters", .off = {{-0.25, -0.24}}}},
    {.engine = "transformers", .name = "LFM2-VL's pooling head", .effect = kWarning, .types = "lfm2_vl", .until = {5, 17},
     .tells = "transformers 5.16 allocates a pooling head for LFM2-VL, which no checkpoint has; this plan's weights are 0.3 % too small",
     .why = "The class of 5.16 has a pooling head unless the config switches it off. Released checkpoints have none.",
     .misses = {.figures = "parameters", .off = {{-0.003, -0.002}}}},
    {.engine = "transformers", .name = "Inkling 2's head", .types = "inkling2 inkling2_text", .since = {5, 24},
     .why = "The head has unpadded_vocab_size rows since 5.24; kvplan counts the padded ones, 4.5 million of 594 billion parameters.",
     .misses = {.figures = "parameters", .off = {{0, 0.00002}}}},

    {.engine = "vllm", .name = "requests at once",
     .why = "With several groups of layers, or with lengths whose order matters, the number is off by a few requests.",
     .misses = {.figures = "runs at once, *"}},
    {.engine = "vllm", .name = "classes of 0.24", .types = "gpt_bigcode musicflamingo hy_v3", .until = {0, 26},
     .why = "0.24 has its own classes for GPT-BigCode and MusicFlamingo, and 0.26 runs transformers', as kvplan has it (1 MB of masks). The bias of Hy-V3's experts is in 16 bit there (30 KB).",
     .misses = {.models = "default/*", .figures = "weights", .off = {{-0.00005, 0.005}}}},
    {.engine = "vllm", .name = "experts by a key of a dense model", .types = "cosmos3_edge cosmos3_edge_text hunyuan_vl hunyuan_vl_text", .until = {0, 29},
     .why = "vLLM takes a config with num_experts for one with experts (get_num_experts) and keeps the old runner; kvplan goes by the experts that there are.",
     .misses = {.figures = "new runner"}},
    {.engine = "vllm", .name = "configs that the class does not take",
     .why = "The class needs keys that the default config does not have, Kimi-K3's tower needs ranks that divide its width, and 0.31 requires a transformers that does not know all of Qwen4's layer_types. kvplan plans without these keys, and only checks heads and groups.",
     .misses = {.figures = "starts", .words = "*num_expert_group and topk_group must be provided*|*requires a vision configuration*|*first_k_dense_replace not exist*|*Input should be a valid integer*|*unsupported output_gate_type*|* is not divisible by *|*`layer_types` entries must be in*"}},
    {.engine = "vllm", .name = "kernels that the harness does not compile", .until = {0, 24},
     .why = "Triton has no FP8 (fp8e4nv) before compute capability 8.9. 0.24 checks that; before, its compiler fails at the first step, which the harness does not run.",
     .misses = {.settings = "a100 *fp8*", .figures = "starts", .planned = false}},
    {.engine = "vllm", .name = "GLM-5 Next's indexers", .types = "glm5_next glm5_next_text",
     .why = "kvplan counts a part of GLM-5 Next's indexers (78 MB of 628 GB).",
     .misses = {.figures = "weights", .off = {{-0.0002, 0}}}},
    {.engine = "vllm", .name = "DeepSeek-V4.1's engrams", .types = "deepseek_v41 deepseek_v41_text",
     .why = "The executed figure includes the n-gram tables, which are in host memory (203 GB of 502), and 0.65 GB that kvplan does not know.",
     .misses = {.figures = "weights", .off = {{-0.41, -0.4}}}},
    {.engine = "vllm", .name = "Qwen3.8-Flash-Next's tables", .types = "qwen4_exp qwen4_exp_text",
     .why = "The executed figure includes the n-gram tables, which are in host memory, and 0.5 of 254 GB that kvplan does not know.",
     .misses = {.figures = "weights", .off = {{-0.01, 0}}}},
    {.engine = "vllm", .name = "Cosmos3 Edge's projector", .effect = kWarning, .types = "cosmos3_edge cosmos3_edge_text", .until = {0, 31},
     .tells = "without a projector_config vLLM before 0.31 builds a narrower projector for Cosmos3 Edge; this plan's weights are 35 MB too large",
     .why = "If a checkpoint has no projector_config, the config class of 0.26 and 0.30 makes the projector 1,024 wide (35 MB less).",
     .misses = {.figures = "weights", .off = {{0.007, 0.0072}}}},
    {.engine = "vllm", .name = "the bias of Phi's head",
     .why = "The bias of Phi's head is created while weights are loaded, and the executed run loads none.",
     .misses = {.models = "default/phi", .figures = "weights", .off = {{0, 0.00004}}}},
    {.engine = "vllm", .name = "MiMo-V2's draft", .effect = kUnknown, .types = "mimo_v2_flash",
     .when = [](const EngineInput& input) { return input.request.mtp; },
     .tells = "vLLM builds a draft layer for MiMo-V2; this plan has none, so it leaves out about 3 GB of weights and the draft's cache",
     .why = "The checkpoint has MTP layers, but the config names none, so kvplan plans none."},
    {.engine = "vllm", .name = "--cpu-offload-gb in the new model runner", .effect = kUnknown, .since = {0, 25}, .until = {0, 28},
     .when = [](const EngineInput& input) {
       return input.request.cpu_offload && vllm_has_new_runner(input, vllm_rules(input.request));
     },
     .tells = "vLLM before 0.28 ignores --cpu-offload-gb for this model and loads all weights on the GPU, because its new model runner has no offloader; this plan offloads them",
     .why = "v1/worker/gpu/model_runner.py calls set_offloader in 0.28.0 and not in 0.27.1 (vllm#51396)."},
    {.engine = "vllm", .name = "FP8 towers of Mistral 3", .effect = kWarning, .types = "mistral3",
     .when = [](const EngineInput& input) { return input.model.vision && input.model.quantization.dialect == "fp8"; },
     .tells = "vLLM builds this model's vision tower in FP8; this plan has it in 16 bits as the checkpoint does, so its weights are up to 0.4 GiB too large",
     .why = "The class maps model.vision_tower in modules_to_not_convert to a name that no layer has (kvplan verify with 0.27 and 0.33)."},
    {.engine = "vllm", .name = "windows as long as the context", .effect = kWarning, .types = "phi3 phimoe", .when = has_idle_window,
     .tells = "vLLM gives each sequence one more block, as this model has windows as long as its context; its tokens are a block or two lower than this plan's",
     .why = "SlidingWindowSpec.max_admission_blocks_per_request counts a block more; the plan has full attention."},
    {.engine = "vllm", .name = "towers that are estimated",
     .why = "kvplan only estimates Inkling's encoders, HunYuan-VL's tower, and the image tokenizers of Chameleon and Emu3. The plan has a range for them.",
     .misses = {.models = "default/hunyuan_vl|variant/hunyuan_vl|default/inkling_mm_model|inkling|variant/chameleon|variant/emu3", .figures = "weights", .off = {{-0.031, 0.002}}}},
    {.engine = "vllm", .name = "a few kilobytes",
     .why = "At most 15 KB: a different number of scales on a rank or in a fused layer, activation scales in the model's type, and lists that a class stores besides its parameters.",
     .misses = {.figures = "weights", .by = {{-15000, -1}}}},

    {.engine = "llama.cpp", .name = "first state of HRM", .types = "hrm_text",
     .why = "v0.5.0 keeps the initial state (z_l_init, 1 KB) in host memory. v0.6.0 keeps it on the GPU with the head, and so does kvplan.",
     .misses = {.figures = "weights, GPU|weights, host", .by = {{-1100, 1100}}}},
    {.engine = "llama.cpp", .name = "glm5-next before 0.6", .effect = kUnknown, .types = "glm5-next glm5_next glm5_next_text",
     .when = [](const EngineInput& input) { return !llama_rules(input.request).pooled_keys; },
     .tells = "llama.cpp before 0.6 does not know GLM-5.3-Flash (glm5-next) and ends with \"unknown model architecture\"",
     .why = "Builds that count as 0.6 added the architecture. kvplan plans it for earlier builds too.",
     .misses = {.figures = "starts"}},
    {.engine = "llama.cpp", .name = "glm5-next", .effect = kWarning, .types = "glm5-next glm5_next glm5_next_text",
     .when = [](const EngineInput& input) { return llama_rules(input.request).pooled_keys; },
     .tells = "kvplan does not know the compute buffers of GLM-5.3-Flash; its figure is 60 to 90 % too small",
     .why = "kvplan does not build llama.cpp's graph for pooled index keys, which also stores and scores their inputs."},

    {.engine = "llama.cpp", .name = "the layers' own embeddings on the GPU", .effect = kUnknown, .types = "gemma3n", .since = {0, 0, 6673}, .until = {0, 0, 9093},
     .when = [](const EngineInput& input) { return input.request.llama_cpp.gpu_layers != 0 && !has_packed_table(input.model); },
     .tells = "builds of llama.cpp from b6673 to b9092 put the layers' own embeddings of this model on the GPU if their type is f32, f16, bf16, q4_0 to q5_1 or q8_0; this plan has them in host memory",
     .why = "llama-arch.cpp: LLM_TENSOR_PER_LAYER_TOKEN_EMBD is of the output in b6673, b7698 and b8179, and of the input in b9093.",
     .misses = {.figures = "weights, GPU|weights, host", .off = {{-0.9, 6}}}},
    {.engine = "llama.cpp", .name = "the embedding's norm", .types = "rwkv6 rwkv7 bloom", .until = {0, 0, 9093},
     .why = "Until b8179 the norm of the embedding (32 KB) is in host memory. Later it is on the first layer's GPU, and so it is in kvplan.",
     .misses = {.figures = "weights, GPU|weights, host", .by = {{-50000, 50000}}}},
    {.engine = "llama.cpp", .name = "GLM-5's index keys before 0.5", .effect = kUnknown, .types = "glm-dsa glm_moe_dsa", .since = {0, 0, 8000}, .until = {0, 0, 11000},
     .tells = "older builds of llama.cpp keep no index keys for this model; this plan counts them, so its KV cache is up to 22 % too large",
     .why = "b9445 caches only the latent of glm-dsa, v0.5.0 the keys of its indexers too.",
     .misses = {.figures = "KV and states, GPU", .off = {{0.2, 0.25}}}},
    {.engine = "llama.cpp", .name = "windows of two-layer fixtures", .types = "afmoe cohere2 exaone-moe gemma3 olmo2 plamo3", .until = {0, 0, 11000},
     .why = "b9445 takes the class's own period of windows and not the file's list, so both layers of the fixture have a window. In published models the period and the list agree.",
     .misses = {.models = "fixture:*", .figures = "KV and states, GPU|compute, GPU, fixtures", .off = {{0.3, 16}}}},
    {.engine = "llama.cpp", .name = "one hidden state before 0.5", .types = "nemotron_h qwen35", .until = {0, 0, 11000},
     .why = "b9445 drops the rows without logits elsewhere than kvplan does: 8 MB at 512 tokens.",
     .misses = {.figures = "compute, GPU, 1 GPU|compute, GPU, all logits", .off = {{-0.03, 0.06}}}},
    {.engine = "llama.cpp", .name = "a megabyte of two fixtures", .until = {0, 0, 11000},
     .why = "The graphs of MiniCPM3 and Mamba 2 in b9445 differ by 0.5 to 1.1 MB from those of v0.5.0.",
     .misses = {.models = "fixture:minicpm3-dense|fixture:mamba2-dense", .figures = "compute, GPU, fixtures", .off = {{-0.08, 0.12}}}},
    {.engine = "llama.cpp", .name = "norms of GLM-4.5's MTP layer", .types = "glm4moe", .until = {0, 0, 11000},
     .why = "b9445 loads 57 KB of the MTP layer that v0.5.0 leaves out.",
     .misses = {.figures = "weights, GPU|weights, host", .by = {{-60000, -50000}}}},

    {.engine = "sglang", .name = "DeepSeek-V4.1's pools", .effect = kUnknown, .types = "deepseek_v41 deepseek_v41_text",
     .tells = "kvplan does not know SGLang's pools for DeepSeek-V4.1; this plan counts every token of its windows, so its KV cache is too large",
     .why = "SGLang 0.5.23 was not run with it."},
    {.engine = "sglang", .name = "a transformers that is too old", .until = {0, 5, 9},
     .why = "SGLang takes a tower of type glm4v_moe_vision for GLM-4.6V, and refuses it with the transformers that its own wheel requires (4.57.1). kvplan plans it.",
     .misses = {.models = "default/glm4v_moe", .figures = "starts", .words = "*Please upgrade transformers*"}},
    {.engine = "sglang", .name = "Nemotron-H by SGLang's own config", .effect = kUnknown, .types = "nemotron_h", .until = {0, 5, 9},
     .when = [](const EngineInput& input) { return names_key(input, "layers_block_type"); },
     .tells = "SGLang 0.5.8 does not read layers_block_type and takes its own default of 52 layers; this plan follows the config",
     .why = "The transformers of this release does not know Nemotron-H, so SGLang's own config class reads it. That class reads hybrid_override_pattern. Newer configs have layers_block_type instead, and then the class uses its default of 52 layers.",
     .misses = {.models = "default/nemotron_h", .figures = "weights|tokens, *|state slot, bytes|requests, by state slots|pool bytes*|request table*"}},
    {.engine = "sglang", .name = "chunks behind a shared prefix", .types = "llama4_text",
     .why = "After a shared prefix a request keeps all its tokens in the pool of chunks. kvplan counts one chunk.",
     .misses = {.figures = "runs at once, shared", .by = {{1, 6}}}},
    {.engine = "sglang", .name = "windows with the tree in 0.5.8", .types = "gpt_oss", .until = {0, 5, 9},
     .why = "With a radix tree and 20 GiB 59 requests run, as if windows were freed while other requests are prefilled. With 4 GiB, or without the tree, they are not freed.",
     .misses = {.settings = "!*disable_radix_cache*", .figures = "runs at once, 8k", .by = {{-12, -12}}}},
    {.engine = "sglang", .name = "class defaults that its own config classes refuse",
     .why = "SGLang reads these types with its own config classes or keys, and refuses what transformers writes by default. kvplan plans it.",
     .misses = {.models = "default/*", .figures = "starts", .words = "Ambiguous*|*layers_block_type contains invalid types*|*Could not find sparse config*|AssertionError:|*validate_layer_type*|*HYV4 only supports deepseek_sparse_attention*|*PixtralRotaryEmbedding does not support*"}},
    {.engine = "sglang", .name = "Qwen3-ASR by SGLang's own config", .effect = kUnknown, .types = "qwen3_asr",
     .when = [](const EngineInput& input) { return names_key(input, "text_config."); },
     .tells = "SGLang does not read the text_config of Qwen3-ASR and takes its own default sizes; this plan follows the config",
     .why = "SGLang's own config class reads thinker_config. transformers writes text_config, so the class uses its defaults.",
     .misses = {.figures = "tokens, *|pool bytes*|weights|request table*", .off = {{-0.84, 3.58}}}},
    {.engine = "sglang", .name = "Zaya by SGLang's own config", .effect = kUnknown, .types = "zaya",
     .tells = "SGLang's Zaya attends in every second layer; this plan attends in every layer, so its KV cache is twice as large and its weights are 1.9 times as large",
     .why = "In SGLang's own class, layers have attention or experts in turn. In transformers' config each layer has both.",
     .misses = {.figures = "tokens, *|pool bytes*|weights|state slot, bytes|requests, by state slots|request table*", .off = {{-0.51, 1.01}}}},
    {.engine = "sglang", .name = "Gemma-4 unified by SGLang's own class", .effect = kUnknown, .types = "gemma4_unified",
     .when = [](const EngineInput& input) { return !names_key(input, "text_config.hidden_size_per_layer_input"); },
     .tells = "SGLang builds an embedding for each layer of Gemma-4 unified; this plan leaves them out, so its weights are 38 % too small",
     .why = "SGLang's config has an embedding for each layer by default, and transformers' has none. Published configs give the width.",
     .misses = {.figures = "weights", .off = {{-0.38, -0.37}}}},
    {.engine = "sglang", .name = "at once where a prompt continues", .types = "qwen3_5_text nemotron_h", .until = {0, 5, 23},
     .why = "Until 0.5.22 a prompt that continues in the next chunk occupies a row. kvplan assumes that one always continues if the first lengths exceed a chunk.",
     .misses = {.figures = "runs at once, *", .by = {{-1, 1}}}},
    {.engine = "sglang", .name = "at once in a pool of whole requests", .types = "llama mixtral deepseek_v4 llama4_text",
     .why = "If the pool fits a whole number of requests, PrefillAdder may admit one less or one more, because chunks of a prefilled request count against the next. kvplan leaves a page free only without the radix tree.",
     .misses = {.figures = "runs at once, *", .by = {{-1, 1}}}},
    {.engine = "sglang", .name = "PaddleOCR-VL's tower", .effect = kUnknown, .types = "paddleocr_vl paddleocr_vl_text",
     .tells = "SGLang builds PaddleOCR-VL's tower with more weights than this plan counts; the total of the weights is 4 % too small",
     .why = "SGLang builds the layers between tower and decoder differently from what kvplan counts.",
     .misses = {.figures = "weights", .off = {{-0.0434, -0.04}}}},
    {.engine = "sglang", .name = "GLM's towers", .effect = kWarning, .types = "glm4v_moe glm4v_moe_text glm_ocr glm_ocr_text",
     .tells = "SGLang builds the layers between this model's tower and decoder differently; this plan's weights are up to 0.9 % too large",
     .why = "SGLang's rotary table is as wide as the rotated part, and the layers between tower and decoder (merger, head) differ.",
     .misses = {.models = "default/*", .figures = "weights", .off = {{0.002, 0.009}}}},
    {.engine = "sglang", .name = "small tables, not looked into", .types = "beam recurrent_gemma exaone_moe glm4v glm4v_text hunyuan_v1_dense",
     .why = "The differences are 4 MB of 126 GB for Beam, 1 MB of 57 GB for EXAONE-MoE, 0.3 MB for RecurrentGemma (transformers' class), and 21 KB of GLM-4V's rotary table.",
     .misses = {.figures = "weights", .off = {{-6e-05, 4e-05}}}},
    {.engine = "sglang", .name = "scales and constants",
     .why = "A few hundred to a few thousand bytes: scales of matrices that SGLang fuses, and frequencies and other constants that it stores as tensors. Gemma 4 stores some of them only with `standardize`.",
     .misses = {.models = "default/glmasr|*Qwen3-VL-32B*|*Qwen3.6-27B-NVFP4|*Nemotron-3-Super*|gemma-4-26b", .figures = "weights", .by = {{-1300, 4700}}}},
    {.engine = "sglang", .name = "kernels that the harness does not call",
     .why = "The harness simulates a GPU of compute capability 8 and calls no kernel. Before 9.0 the indexer and sparse latent attention have no kernel (sgl-project/sglang#35420), so kvplan refuses the start.",
     .misses = {.models = "deepseek-ai--DeepSeek-V3.2|deepseek-ai--DeepSeek-V4-Flash", .figures = "starts", .planned = false}},
    {.engine = "sglang", .name = "mixed ModelOpt checkpoints before 0.5.15", .effect = kUnknown, .until = {0, 5, 15}, .when = is_mixed_modelopt,
     .tells = "SGLang before 0.5.15 reads this checkpoint of mixed precision as W4AFP8 and refuses it or loads other bytes; this plan has the checkpoint's own types",
     .why = "model_config.py: only Nemotron-H is modelopt_mixed in 0.5.14, and every file with NVFP4 layers in 0.5.15.",
     .misses = {.models = "*-NVFP4", .figures = "starts", .words = "*not divisible by weight quantization block_n*"}},
    {.engine = "sglang", .name = "pages of DeepSeek-V4's pools", .types = "deepseek_v4", .until = {0, 5, 20},
     .why = "0.5.13 allocates 24 MB more in pools of 123 GB, and 0.5.19 3 MB.",
     .misses = {.figures = "pool bytes*", .off = {{-0.0003, 0}}}},
    {.engine = "sglang", .name = "small tensors of latents before 0.5.19", .types = "deepseek_v3 glm_moe_dsa", .until = {0, 5, 19},
     .why = "0.5.13 builds 61 of 95,342 MB less for GLM-5.1, and 46 KB less for Kimi-K2.6.",
     .misses = {.models = "zai-org--GLM-5.1-FP8|nvidia--Kimi-K2.6-NVFP4", .figures = "weights", .off = {{0, 0.0007}}}},
    {.engine = "sglang", .name = "Inkling's windows in SGLang", .effect = kUnknown, .types = "inkling_text inkling_mm_model",
     .tells = "kvplan does not know whether SGLang keeps every token of Inkling's windows; its KV cache may be several times larger than planned",
     .why = "vLLM's class keeps them all. SGLang was not run with it; only the code of its pools was read."},
    {.engine = "sglang", .name = "pools of encoders", .effect = kWarning, .when = is_encoder,
     .tells = "SGLang gives its pool of tokens the memory that this plan leaves free, although an encoder caches none",
     .why = "init_memory_pool does not ask whether the model generates (kvplan verify with 0.5.23)."},
    {.engine = "sglang", .name = "towers in transformers' classes", .effect = kWarning, .types = "idefics3 fuyu",
     .tells = "SGLang runs this model with transformers' own class; this plan's weights are 2 MB too large, and its tokens up to 1 % too low",
     .why = "That class has no rotary table, and SGLang does not count it as multimodal (kvplan verify with 0.5.23)."},
    {.engine = "sglang", .name = "MiniMax-M3 as a vision model", .effect = kUnknown, .types = "minimax_m3_vl minimax_m3_vl_text",
     .tells = "SGLang runs MiniMax-M3 with a different memory fraction and page size; this plan's weights are 9 % too small, and its tokens are off too",
     .why = "Runs of 0.5.21 and 0.5.23 gave a memory fraction of 0.694 (kvplan plans 0.778) and 8.6 % more weights."},
};
// clang-format on

std::span<const KnownError> known_errors() {
  return kErrors;
}

bool concerns(const KnownError& error, std::string_view engine, Release release, std::string_view model_type,
              std::string_view root_type) {
  return error.engine == engine && release >= error.since && release < error.until &&
         (error.types.empty() || has_word(error.types, model_type) || has_word(error.types, root_type));
}

bool affects(const KnownError& error, const EngineInput& input) {
  return concerns(error, engine_of(input.request).name, release_of(input.request), input.model.model_type,
                  input.model.root_type) &&
         (error.when == nullptr || error.when(input));
}

bool was_executed(std::string_view engine, const ModelShape& model) {
  // llama.cpp only runs the decoder. In other engines the class of the whole file decides, including the towers.
  const bool whole = engine != "llama.cpp" && !model.root_type.empty();
  const std::string_view type = whole ? model.root_type : model.model_type;
  for (std::string_view line : executed_lines().subspan(1)) {
    const std::size_t space = line.find(' ');
    if (line.substr(0, space) != engine) continue;
    const std::string_view words = line.substr(space + 1);
    if (has_word(words, type) || has_word(words, model.architecture)) return true;
  }
  return false;
}

}  // namespace kvplan
