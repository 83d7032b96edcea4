// Names as llama.cpp's llama-arch.cpp spells them (v0.5.0), and a few that only Ollama writes.
#include "models/gguf_archs.h"
#include "kvplan/strings.h"

namespace kvplan {

namespace {

constexpr GgufArch kArchs[] = {
    // llama.cpp ignores a window key of these (a Mistral or Qwen2 file may carry one).
    {"llama llama-embed grok gpt2 gptj gptneox mpt baichuan starcoder refact bloom stablelm qwen qwen2 qwen2moe "
     "qwen2vl "
     "qwen25vl qwen3 qwen3moe qwen3vl qwen3vlmoe phi2 phi3 phimoe plamo codeshell orion internlm2 minicpm minicpm3 "
     "gemma "
     "starcoder2 xverse command-r dbrx olmo olmoe openelm arctic deepseek deepseek2-ocr chatglm glm4 glm4moe bitnet "
     "jais "
     "jais2 nemotron exaone granite granitemoe chameleon plm bailingmoe bailingmoe2 dots1 arcee ernie4_5 ernie4_5-moe "
     "hunyuan-moe hunyuan-dense hunyuan_vl hy_v3 smollm3 seed_oss grovemoe apertus minimax-m2 cogvlm pangu-embedded "
     "mistral3 paddleocr maincoder talkie falcon hrm_text eagle3 qwen3tts pockettts",
     "plain", gguf_plain},
    {"deci", "deci", gguf_plain},
    {"gemma2", "windowed", gguf_windowed, {.pattern = 2, .fallback = 4096}},
    {"gemma3", "windowed", gguf_windowed, {.pattern = 6}},
    {"gpt-oss gptoss", "windowed", gguf_windowed, {.pattern = 2}},
    {"cohere2 olmo2 afmoe mellum muse-glimmer", "windowed", gguf_windowed, {.pattern = 4}},
    {"cohere2moe laguna", "windowed", gguf_windowed, {.pattern = 4, .full_first = true}},
    {"exaone-moe", "windowed", gguf_windowed, {.pattern = 4, .fallback = 128}},
    {"exaone4", "windowed", gguf_exaone4, {.pattern = 4, .fallback = 4096}},
    {"smallthinker", "windowed", gguf_smallthinker, {.pattern = 4, .full_first = true, .fixed = 4096}},
    {"plamo3", "windowed", gguf_windowed, {.pattern = 8}},
    {"mimo2 step35 granite_swa spark2_5 maple", "windowed", gguf_windowed, {.pattern = GgufWindow::kByLayer}},
    {"dflash", "windowed", gguf_dflash, {.pattern = GgufWindow::kByLayer}},
    {"llama4", "llama4", gguf_llama4, {.pattern = 4, .fixed = 8192}},
    {"gemma3n", "shared", gguf_shared, {.pattern = 5}},
    {"gemma4", "shared", gguf_shared, {.pattern = GgufWindow::kByLayer}},
    {"deepseek2 mistral4", "mla", gguf_latent},
    {"deepseek32 glm-dsa hy_v4 dots3note", "sparse_mla", gguf_sparse_latent},
    {"minimax-m3", "minimax_m3", gguf_minimax_m3},
    {"deepseek4", "deepseek_v4", gguf_deepseek4},
    // Encoders and diffusion models attend both ways and keep nothing; an assistant reads its target's cache.
    {"bert modern-bert nomic-bert nomic-bert-moe neo-bert jina-bert-v2 jina-bert-v3 eurobert gemma-embedding "
     "wavtokenizer-dec dream llada llada-moe rnd1 t5encoder gemma4-assistant",
     "encoder", gguf_encoder},
    {"clip mmproj", "projector", gguf_projector},
    {"t5", "encoder_decoder", gguf_t5},
    {"mllama", "mllama", gguf_mllama},
    {"nanbeige", "looped", gguf_looped},
    {"graniteswitch", "plain", gguf_router_layer},
    {"mamba", "mamba", gguf_mamba},
    {"mamba2", "mamba2", gguf_mamba2},
    {"jamba", "jamba", gguf_jamba},
    {"granitehybrid plamo2", "mamba2_hybrid", gguf_mamba2_hybrid},
    {"nemotron_h nemotron_h_moe", "mamba2_hybrid", gguf_nemotron_h},
    {"falcon-h1", "falcon_h1", gguf_falcon_h1},
    {"qwen3next qwen35 qwen35moe qwen4exp", "gated_delta_net", gguf_delta_net},
    {"kimi-linear kimi-k3 bailingmoe3", "kimi_linear", gguf_kda},
    {"minimax-01", "lightning", gguf_lightning},
    {"lfm2 lfm2moe", "lfm2", gguf_lfm2},
    {"rwkv6 rwkv6qwen2", "rwkv", gguf_rwkv6},
    {"rwkv7 arwkv7", "rwkv", gguf_rwkv7},
};

}  // namespace

const GgufArch* find_gguf_arch(std::string_view architecture) {
  if (architecture.empty()) return nullptr;
  for (const GgufArch& arch : kArchs)
    if (has_word(arch.names, architecture)) return &arch;
  return nullptr;
}

}  // namespace kvplan
