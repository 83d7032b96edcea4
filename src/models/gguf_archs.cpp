// Names in the spelling of llama.cpp's llama-arch.cpp (v0.5.0), and a few that only Ollama writes. Source: llama.cpp
// v0.5.0, load_arch_hparams of src/models/*.cpp.
#include "models/gguf_archs.h"

#include <algorithm>

#include "kvplan/error.h"
#include "kvplan/strings.h"

namespace kvplan {

namespace {

constexpr std::string_view kWindowKey = "attention.sliding_window";
constexpr std::string_view kPatternKey = "attention.sliding_window_pattern";
constexpr std::string_view kMambaKeys = "ssm.inner_size ssm.state_size ssm.conv_kernel";
constexpr std::string_view kMamba2Keys = "ssm.inner_size ssm.state_size ssm.conv_kernel ssm.time_step_rank";

void read_sparse_or_latent(Reader& reader) {
  const bool sparse = reader.text.has("kv_lora_rank") && reader.text.count_or("index_topk", 0) > 0;
  sparse ? read_sparse_mla(reader) : read_latent_or_plain(reader);
}

constexpr GgufArch kArchs[] = {
    {"llama=llama/mistral llama-embed=llama grok=grok-1 gpt2 gptj gptneox=gpt_neox baichuan bloom stablelm qwen qwen2 "
     "qwen2moe=qwen2_moe qwen2vl=qwen2_vl_text qwen25vl=qwen2_5_vl_text qwen3 qwen3moe=qwen3_moe qwen3vl=qwen3_vl_text "
     "qwen3vlmoe=qwen3_vl_moe_text phi2=phi phi3 phimoe codeshell orion internlm2 minicpm gemma starcoder2 xverse "
     "command-r=cohere olmo olmoe arctic deepseek glm4 glm4moe=glm4_moe bitnet jais jais2 nemotron exaone granite "
     "granitemoe chameleon bailingmoe=bailing_moe bailingmoe2=bailing_moe_v2 dots1 arcee ernie4_5 "
     "ernie4_5-moe=ernie4_5_moe hunyuan_vl=hunyuan_vl_text hy_v3 smollm3 seed_oss apertus minimax-m2=minimax_m2 "
     "pangu-embedded=panguembedded mistral3=ministral3 paddleocr=paddleocr_vl_text"},
    {"mpt starcoder=gpt_bigcode refact=gpt_refact plamo dbrx openelm deepseek2-ocr=deepseek_vl_v2 chatglm falcon "
     "deci=nemotron-nas grovemoe=grove_moe hunyuan-moe=hunyuan_v1_moe hunyuan-dense=hunyuan_v1_dense cogvlm maincoder "
     "talkie hrm_text eagle3 qwen3tts pockettts",
     read_plain},
    {"gemma2", nullptr, {.pattern = 2, .fallback = 4096}},
    {"gemma3=gemma3_text", nullptr, {.pattern = 6}},
    {"gpt-oss=gpt_oss gptoss=gpt_oss", nullptr, {.pattern = 2}},
    {"cohere2 olmo2=olmo2/olmo3 afmoe mellum muse-glimmer=muse_glimmer_text", read_windowed, {.pattern = 4}},
    {"cohere2moe=cohere2_moe laguna", nullptr, {.pattern = 4, .full_first = true}},
    {"exaone-moe=exaone_moe", nullptr, {.pattern = 4, .fallback = 128}},
    {"exaone4", nullptr, {.pattern = 4, .fallback = 4096}},
    {"smallthinker", nullptr, {.pattern = 4, .full_first = true, .fixed = 4096}},
    {"plamo3", nullptr, {.pattern = 8}},
    {"mimo2=mimo_v2_flash step35=step3p5 granite_swa spark2_5", nullptr, {.pattern = GgufWindow::kByLayer}},
    {"maple dflash", read_windowed, {.pattern = GgufWindow::kByLayer}},
    {"llama4=llama4_text", nullptr, {.pattern = 4, .fixed = 8192}},
    {"gemma3n=gemma3n_text", nullptr, {.pattern = 5}},
    {"gemma4=gemma4_text", nullptr, {.pattern = GgufWindow::kByLayer}},
    {"deepseek2=deepseek_v3 mistral4 minicpm3 plm", read_latent_or_plain},
    {"deepseek32=deepseek_v32 glm-dsa=glm_moe_dsa hy_v4 dots3note=dots3_note_text",
     read_sparse_or_latent,
     {.pattern = GgufWindow::kByLayer}},
    {.names = "minimax-m3=minimax_m3", .needs = "attention.indexer.key_length attention.indexer.head_count"},
    {.names = "deepseek4=deepseek_v4", .needs = "attention.sliding_window"},
    // Encoders and diffusion models attend in both directions and have no cache. An assistant reads its target's cache.
    {"bert modern-bert=modernbert nomic-bert=nomic_bert nomic-bert-moe=nomic_bert neo-bert jina-bert-v2 jina-bert-v3 "
     "eurobert gemma-embedding wavtokenizer-dec dream llada llada-moe rnd1 t5encoder gemma4-assistant",
     read_no_cache},
    {"t5 mllama=mllama_text_model nanbeige"},
    {"graniteswitch", read_router_layer},
    {.names = "mamba", .recurrence = GgufRecurrence::kMamba1, .needs = kMambaKeys},
    {.names = "mamba2", .recurrence = GgufRecurrence::kMamba2, .needs = kMamba2Keys},
    {.names = "jamba", .recurrence = GgufRecurrence::kMamba1, .needs = kMambaKeys, .empty_is_recurrent = true},
    {.names = "granitehybrid=granitemoehybrid plamo2 nemotron_h nemotron_h_moe=nemotron_h",
     .read = read_mamba2_hybrid,
     .recurrence = GgufRecurrence::kMamba2,
     .needs = kMamba2Keys,
     .empty_is_recurrent = true},
    {.names = "falcon-h1=falcon_h1", .recurrence = GgufRecurrence::kMamba2, .needs = kMamba2Keys},
    {.names = "qwen3next=qwen3_next qwen35=qwen3_5_text qwen35moe=qwen3_5_moe_text qwen4exp=qwen4_exp",
     .recurrence = GgufRecurrence::kDeltaNet,
     .needs = "ssm.inner_size ssm.state_size ssm.conv_kernel ssm.time_step_rank ssm.group_count",
     .interval = 4},
    {.names = "kimi-linear=kimi_linear kimi-k3=kimi_k3 bailingmoe3=bailing_hybrid",
     .read = read_kimi_linear,
     .recurrence = GgufRecurrence::kKda,
     .needs = "kda.head_dim ssm.conv_kernel",
     .empty_is_recurrent = true},
    {.names = "glm5-next=glm5_next",
     .recurrence = GgufRecurrence::kKda,
     .needs = "kda.head_dim ssm.conv_kernel",
     .empty_is_recurrent = true},
    {.names = "minimax-01=minimax_text_01", .interval = 8},
    {.names = "lfm2 lfm2moe=lfm2_moe",
     .recurrence = GgufRecurrence::kShortConv,
     .needs = "shortconv.l_cache",
     .empty_is_recurrent = true},
    {.names = "rwkv6 rwkv6qwen2 rwkv7 arwkv7", .recurrence = GgufRecurrence::kRwkv, .needs = "wkv.head_size"},
};

// "deepseek_v3" if the word is "deepseek2=deepseek_v3"; nothing if the word is for another architecture.
std::optional<std::string_view> type_of(std::string_view word, std::string_view architecture) {
  if (!word.starts_with(architecture)) return std::nullopt;
  word.remove_prefix(architecture.size());
  if (word.empty()) return architecture;
  if (word.front() != '=') return std::nullopt;
  return word.substr(1);
}

// The window: llama.cpp's fixed value, or the file's.
std::uint64_t complete_window(GgufKeys& keys, const GgufArch& arch, std::string_view architecture) {
  std::uint64_t window = keys.number(kWindowKey);
  // Of EXAONE 4's two models, only the one with 64 layers has windows.
  const bool none = architecture == "exaone4" && keys.num_layers() != 64;
  const bool switched = architecture == "smallthinker" ? window > 0 : window > 0 || !keys.contains(kWindowKey);
  if (arch.window.fixed > 0 && switched)
    window = arch.window.fixed;
  else if (arch.window.fallback > 0 && !keys.contains(kWindowKey) && !none)
    window = arch.window.fallback;
  else
    return window;
  keys.set(architecture == "llama4" ? "attention_chunk_size" : "sliding_window", window,
           architecture == "llama4" ? "attention.chunk_size" : kWindowKey, Origin::kClassDefault);
  return window;
}

// A word for each layer, and the file's key that they come from: "" if all layers are the same.
struct Layers {
  std::vector<std::string_view> words;
  std::string_view own{};
  std::uint64_t fallback = 0;  // used if the key is absent
};

// Marks the layers that have the window: those in the file's list, or all but one of each pattern.
void slide(const GgufKeys& keys, const GgufWindow& rule, std::string_view word, Layers& out) {
  const bool listed = keys.is_array(kPatternKey);
  if (!listed && rule.pattern == GgufWindow::kByLayer)
    fail("the array \"" + keys.full(kPatternKey) + "\" is missing",
         "it gives the layers with a window: convert the model again");
  const std::uint64_t pattern = listed ? 0 : keys.number(kPatternKey, rule.pattern);
  const auto chosen = listed ? keys.per_layer(kPatternKey) : std::vector<std::uint64_t>();
  for (std::size_t i = 0; i < out.words.size(); ++i) {
    const bool slides = listed            ? chosen[i] != 0
                        : pattern == 0    ? true
                        : rule.full_first ? i % pattern != 0
                                          : i % pattern < pattern - 1;
    if (slides) out.words[i] = word;
  }
  out.own = keys.contains(kPatternKey) || rule.pattern > 0 ? kPatternKey : kWindowKey;
  out.fallback = rule.pattern;
}

// Marks the recurrent layers: those in the list that newer files have, or all but every interval-th.
void recur(const GgufKeys& keys, std::uint64_t usual, Layers& out) {
  constexpr std::string_view kList = "attention.recurrent_layers";
  constexpr std::string_view kInterval = "full_attention_interval";
  const bool listed = keys.contains(kList);
  const std::uint64_t interval = keys.contains(kInterval) ? keys.positive(kInterval) : usual;
  const auto chosen = keys.per_layer(kList);
  for (std::size_t i = 0; i < out.words.size(); ++i)
    if (listed ? chosen[i] != 0 : (i + 1) % interval != 0) out.words[i] = "linear_attention";
  out.own = listed ? kList : kInterval;
  out.fallback = usual;
}

// A layer without KV heads has no attention. In Nemotron-H, a layer with a feed-forward part has nothing else.
void leave_empty(const GgufKeys& keys, const GgufArch& arch, std::string_view architecture, Layers& out) {
  const std::string_view own =
      keys.contains("attention.head_count_kv") ? "attention.head_count_kv" : "attention.head_count";
  if (!arch.empty_is_recurrent && !keys.is_array(own)) return;
  const auto heads = keys.per_layer(own);
  const bool parts = architecture.starts_with("nemotron_h");
  const auto widths = parts ? keys.per_layer("feed_forward_length") : std::vector<std::uint64_t>(heads.size());
  for (std::size_t i = 0; i < heads.size(); ++i) {
    if (heads[i] > 0 && widths[i] == 0) continue;
    out.words[i] = arch.empty_is_recurrent && widths[i] == 0 ? "linear_attention" : "mlp";
    if (out.own.empty()) out.own = own;
  }
  if (arch.empty_is_recurrent && out.own.empty()) out.own = own;
}

void complete_layers(GgufKeys& keys, const GgufArch& arch, std::string_view architecture, std::uint64_t window) {
  Layers layers{std::vector<std::string_view>(keys.num_layers(), "full_attention")};
  const bool sparse = arch.read == read_sparse_or_latent;
  if (window > 0 && architecture != "deepseek4" && (!sparse || keys.contains(kPatternKey)))
    slide(keys, arch.window, architecture == "llama4" ? "chunked_attention" : "sliding_attention", layers);
  if (arch.interval > 0) recur(keys, arch.interval, layers);
  leave_empty(keys, arch, architecture, layers);
  if (architecture == "minimax-m3") {
    layers.own = "leading_dense_block_count";
    for (std::size_t i = keys.number(layers.own); i < layers.words.size(); ++i) layers.words[i] = "minimax_m3_sparse";
  }
  if (!layers.own.empty()) keys.set("layer_types", layers.words, layers.own, layers.fallback);
}

// Which layers have their own indexer. The first conversion of GLM-5.2 (context of 1M) has no list.
void complete_indexers(GgufKeys& keys, std::string_view architecture) {
  constexpr std::string_view kTypes = "attention.indexer.types";
  if (architecture == "deepseek32") return;  // every layer has one, whatever a file says (deepseek32.cpp reads no list)
  const bool silent = !keys.contains(kTypes);
  if (silent && (architecture != "glm-dsa" || keys.number("context_length") < 1048576)) return;
  std::vector<std::uint64_t> own = keys.per_layer(kTypes);
  if (silent)
    for (std::size_t i = 0; i < own.size(); ++i) own[i] = i < 2 || (i - 2) % 4 == 0 ? 1 : 0;
  std::vector<std::string_view> words;
  for (const std::uint64_t each : own) words.emplace_back(each != 0 ? "full" : "shared");
  keys.set("indexer_types", words, kTypes, 4);
}

// In a config, head_dim is the width of Gemma 4's window heads.
void complete_gemma4(GgufKeys& keys) {
  const std::uint64_t full = keys.positive("attention.key_length");
  keys.set("global_head_dim", full, "attention.key_length");
  if (!keys.has("swa_head_dim")) return;
  keys.set("head_dim", keys.number("attention.key_length_swa", full), "attention.key_length_swa");
  keys.set("v_head_dim", keys.number("attention.value_length_swa", full), "attention.value_length_swa");
}

// The width of a delta net's values, over all heads.
void complete_delta_net(GgufKeys& keys) {
  constexpr std::string_view kInner = "ssm.inner_size";
  constexpr std::string_view kHeads = "ssm.time_step_rank";
  const std::uint64_t heads = keys.positive(kHeads);
  if (keys.positive(kInner) % heads != 0)
    fail("\"" + keys.full(kInner) + "\" is " + keys.text(kInner) + ", not a multiple of \"" + keys.full(kHeads) +
             "\", " + keys.text(kHeads),
         "correct the metadata, or download the file again");
  keys.set("linear_value_head_dim", keys.positive(kInner) / heads, kInner);
}

void complete_deepseek4(GgufKeys& keys) {
  if (const std::uint64_t rotated = keys.number("rope.dimension_count"); rotated > 0) {
    if (rotated > keys.number("attention.key_length"))
      fail("\"" + keys.full("rope.dimension_count") + "\" is larger than key_length", "correct the metadata");
    keys.set("qk_rope_head_dim", rotated, "rope.dimension_count");
  }
  const std::vector<std::uint64_t> ratios = keys.per_layer("attention.compress_ratios");
  keys.set("compress_ratios", ratios, "attention.compress_ratios");
  constexpr std::uint64_t kIndexedRatio = 4;  // layers with this ratio have an indexer
  if (std::find(ratios.begin(), ratios.end(), kIndexedRatio) == ratios.end()) return;
  for (const std::string_view own : {"attention.indexer.key_length", "attention.indexer.head_count"})
    keys.positive(own);
}

}  // namespace

void read_latent_or_plain(Reader& reader) {
  reader.text.has("kv_lora_rank") ? read_mla(reader) : read_plain(reader);
}

std::span<const GgufArch> gguf_archs() {
  return kArchs;
}

const GgufArch* find_gguf_arch(std::string_view architecture) {
  if (architecture.empty() || architecture.find_first_of(" =/") != std::string_view::npos) return nullptr;
  for (const GgufArch& arch : kArchs)
    for (const std::string_view word : split(arch.names))
      if (type_of(word, architecture)) return &arch;
  return nullptr;
}

bool is_gguf_projector(std::string_view architecture) {
  return architecture == "clip" || architecture == "mmproj";
}

std::string gguf_model_type(const GgufArch& arch, std::string_view architecture, bool windowed) {
  for (const std::string_view word : split(arch.names)) {
    const auto type = type_of(word, architecture);
    if (!type) continue;
    const std::size_t other = type->find('/');
    if (other == std::string_view::npos) return std::string(*type);
    return std::string(windowed ? type->substr(other + 1) : type->substr(0, other));
  }
  return "";
}

void complete_gguf_keys(GgufKeys& keys, const GgufArch& arch, std::string_view architecture) {
  for (const std::string_view own : split(arch.needs)) keys.positive(own);
  complete_layers(keys, arch, architecture, complete_window(keys, arch, architecture));
  if (arch.read == read_sparse_or_latent) complete_indexers(keys, architecture);
  if (arch.recurrence == GgufRecurrence::kDeltaNet) complete_delta_net(keys);
  if (architecture == "gemma4") complete_gemma4(keys);
  if (architecture == "deepseek4" || architecture == "dflash") complete_deepseek4(keys);
  // Removes class defaults that do not apply if the file lacks the key.
  if (architecture == "gemma3n" && !keys.has("num_kv_shared_layers"))
    keys.set("num_kv_shared_layers", 0, "attention.shared_kv_layers", Origin::kClassDefault);
  if (architecture == "mllama" && !keys.has("cross_attention_layers"))
    keys.set("cross_attention_layers", std::vector<std::uint64_t>{}, "attention.cross_attention_layers",
             Origin::kClassDefault);
  if (const std::uint64_t step = keys.number("interleave_moe_layer_step"); step > 1)
    keys.set("first_k_dense_replace", keys.num_layers() - keys.num_layers() / step, "interleave_moe_layer_step");
}

}  // namespace kvplan
