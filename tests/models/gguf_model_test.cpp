// GGUF architectures as models. The figures of caches are those that llama.cpp v0.5.0 printed for the same
// hyperparameters, divided by the cells and sequences in its log.
#include "models/read.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "engines/requests.h"
#include "kvplan/error.h"
#include "kvplan/storage.h"
#include "kvplan/strings.h"
#include "models/family.h"
#include "models/gguf_archs.h"
#include "plan/plan.h"
#include "support/gguf_writer.h"

namespace kvplan {
namespace {

using Ints = std::vector<std::int32_t>;

ModelSpec read(const GgufWriter& writer, const ReadOptions& options = {}) {
  const std::string bytes = writer.file();
  return read_gguf(Gguf::parse(bytes_of(bytes)), "test.gguf", options);
}

Exit refusal(const GgufWriter& writer, std::string* line = nullptr) {
  try {
    read(writer);
  } catch (const Error& error) {
    if (line != nullptr) *line = error.line();
    return error.code();
  }
  return Exit::kAnswered;
}

GgufWriter base(std::string_view architecture, std::uint32_t layers, std::uint32_t width) {
  return GgufWriter(architecture)
      .u32(".block_count", layers)
      .u32(".context_length", 131072)
      .u32(".embedding_length", width);
}

GgufWriter attending(std::string_view architecture, std::uint32_t layers, std::uint32_t width, std::uint32_t heads,
                     std::uint32_t kv_heads, std::uint32_t head_dim = 0) {
  GgufWriter out = base(architecture, layers, width).u32(".attention.head_count", heads);
  if (kv_heads > 0) out.u32(".attention.head_count_kv", kv_heads);
  if (head_dim > 0) out.u32(".attention.key_length", head_dim).u32(".attention.value_length", head_dim);
  return out;
}

// Elements per token in all layers, whatever their windows.
std::uint64_t token_elements(const ModelSpec& model) {
  std::uint64_t sum = 0;
  for (const Layer& layer : model.layers)
    for (const Mixer& mixer : layer.mixers)
      for (const Term& term : cache_terms(mixer))
        if (term.growth == Growth::kToken && term.stride == 1 && term.role != Role::kState)
          sum += term.elements().count();
  return sum;
}

// Recurrent state of a sequence in MiB. llama.cpp stores all of it in float32.
double state_mib(const ModelSpec& model) {
  CHECK(model.declared_state_dtype == Dtype::kFloat32);
  const CacheTypes types{Dtype::kFloat16, Dtype::kFloat16, Dtype::kFloat32, Dtype::kFloat32};
  Bytes sum;
  for (const Layer& layer : model.layers)
    for (const Mixer& mixer : layer.mixers)
      for (const Term& term : cache_terms(mixer))
        if (term.growth == Growth::kSequence) sum += entry_bytes(term, types);
  return static_cast<double>(sum.count()) / (1 << 20);
}

std::uint64_t count_of(const ModelSpec& model, std::string_view kind) {
  std::uint64_t out = 0;
  for (const Layer& layer : model.layers)
    for (const Mixer& mixer : layer.mixers) out += kind_info(mixer).name == kind ? 1U : 0U;
  return out;
}

Ints every(std::size_t layers, std::size_t period, std::size_t offset, std::int32_t value) {
  Ints out(layers, 0);
  for (std::size_t i = offset; i < layers; i += period) out[i] = value;
  return out;
}

GgufWriter latent(std::string_view architecture, std::uint32_t layers) {
  return base(architecture, layers, 7168)
      .u32(".attention.head_count", 128)
      .u32(".attention.head_count_kv", 1)
      .u32(".attention.kv_lora_rank", 512)
      .u32(".attention.q_lora_rank", 1536)
      .u32(".attention.key_length", 576)
      .u32(".attention.value_length", 512)
      .u32(".attention.key_length_mla", 192)
      .u32(".attention.value_length_mla", 128);
}

// What a report says about a key of the file; nothing if no fact has it.
std::string fact(const ModelSpec& model, std::string_view key, Origin origin = Origin::kFile) {
  for (const ConfigFact& each : model.facts)
    if (each.key == key && each.origin == origin) return each.value;
  return "";
}

// The header of Mistral-7B-v0.1, whose config has a window.
GgufWriter mistral() {
  return attending("llama", 32, 4096, 32, 8).u32(".feed_forward_length", 14336).u32(".attention.sliding_window", 4096);
}

TEST_CASE("a llama GGUF gives its facts under the file's keys, and keeps its window") {
  const ModelSpec model = read(mistral().strings("tokenizer.ggml.tokens", 32000, "x"));
  CHECK(model.is_gguf);
  CHECK(model.model_type == "llama");
  CHECK(model.dtype == Dtype::kFloat16);
  CHECK(model.vocab_size == 32000);
  CHECK(model.intermediate_size == 14336);
  CHECK(model.max_model_len == Tokens(131072));
  CHECK(model_attention(model) == "sliding_window");
  CHECK(token_elements(model) == 32 * 2 * 8 * 128);  // 8192 tokens in f16 are 1 GiB
  CHECK(model.known_as->id == Arch::kMistral);
  CHECK(fact(model, "llama.block_count") == "32");
  CHECK(fact(model, "llama.attention.head_count_kv") == "8");
  CHECK(fact(model, "llama.attention.sliding_window") == "4096");
  CHECK(fact(model, "llama.vocab_size", Origin::kDerived) == "32000");
  CHECK(fact(model, "llama.attention.key_length", Origin::kDerived) == "128");
  for (const ConfigFact& each : model.facts) CHECK_MESSAGE(each.key.find('.') != std::string::npos, each.key);
  // A file without the key has no window, whatever the default of Mistral's class is.
  const ModelSpec plain = read(attending("llama", 32, 4096, 32, 8));
  CHECK(model_attention(plain) == "gqa");
  CHECK(plain.known_as->id == Arch::kLlama);
}

TEST_CASE("layers of a GGUF may differ: deci, openelm") {
  GgufWriter deci = base("deci", 4, 8192)
                        .array(".attention.head_count", {64, 0, 64, 64})
                        .array(".attention.head_count_kv", {8, 0, 4, 1})
                        .u32(".attention.key_length", 128)
                        .u32(".attention.value_length", 128);
  const ModelSpec model = read(deci);
  CHECK(count_of(model, "none") == 1);
  CHECK(token_elements(model) == 2 * (8 + 4 + 1) * 128);
  CHECK(token_elements(read(base("openelm", 2, 1280)
                                .array(".attention.head_count", {12, 16})
                                .array(".attention.head_count_kv", {3, 4})
                                .u32(".attention.key_length", 64)
                                .u32(".attention.value_length", 64))) == 2 * (3 + 4) * 64);
}

TEST_CASE("windows follow the architecture's pattern unless the file lists them") {
  const auto windows = [](const GgufWriter& writer) { return count_of(read(writer), "sliding_window"); };
  const auto with = [](std::string_view name, std::uint32_t layers) {
    return attending(name, layers, 4096, 32, 8, 128).u32(".attention.sliding_window", 512);
  };
  CHECK(windows(with("gemma2", 42)) == 21);
  CHECK(windows(attending("gemma2", 42, 4096, 32, 8, 128)) == 21);  // 4096 if the key is absent
  CHECK(windows(with("gemma3", 62)) == 52);
  CHECK(windows(attending("gemma3", 62, 4096, 32, 8, 128)) == 0);
  CHECK(windows(with("gpt-oss", 24)) == 12);
  CHECK(windows(with("cohere2", 32)) == 24);
  CHECK(windows(with("olmo2", 32)) == 24);
  CHECK(windows(with("exaone4", 64)) == 48);
  CHECK(windows(with("exaone4", 30)) == 23);  // i % 4 < 3 of 30; llama.cpp has windows only in the model of 64 layers
  CHECK(windows(attending("exaone4", 30, 4096, 32, 8, 128)) == 0);
  CHECK(windows(with("phi3", 32)) == 32);
  CHECK(windows(with("qwen2", 28)) == 28);
  CHECK(windows(with("gemma3", 6).u32(".attention.sliding_window_pattern", 3)) == 4);
  CHECK(windows(with("gemma3", 3).bools(".attention.sliding_window_pattern", {false, true, false})) == 1);
  CHECK(windows(with("mimo2", 3).bools(".attention.sliding_window_pattern", {false, true, true})) == 2);
  CHECK(refusal(with("mimo2", 3)) == Exit::kBadInput);
  CHECK(refusal(with("mimo2", 3).bools(".attention.sliding_window_pattern", {true, true})) == Exit::kBadInput);

  // Here the first of four layers has full attention. In most models the last one does.
  const ModelSpec first = read(with("cohere2moe", 8));
  CHECK(kind_info(first.layers[0].mixers[0]).name == "gqa");
  CHECK(kind_info(first.layers[3].mixers[0]).name == "sliding_window");
  // A window that covers the model's longest context counts as full attention if all layers have it. Next to full
  // attention it stays a window.
  CHECK(windows(attending("gemma2", 2, 4096, 32, 8, 128).u32(".attention.sliding_window", 131072)) == 1);
  const ModelSpec scout = read(attending("llama4", 48, 5120, 40, 8, 128));
  CHECK(count_of(scout, "chunked") == 36);
}

TEST_CASE("Gemma 3n keeps 20 caches of 35 layers") {
  std::vector<bool> pattern(35);
  for (std::size_t i = 0; i < 35; ++i) pattern[i] = i % 5 != 4;
  const ModelSpec model = read(attending("gemma3n", 35, 2048, 8, 2, 256)
                                   .u32(".attention.sliding_window", 512)
                                   .u32(".attention.shared_kv_layers", 15)
                                   .bools(".attention.sliding_window_pattern", pattern));
  CHECK(count_of(model, "shared") == 15);
  CHECK(token_elements(model) == 20 * 2 * 2 * 256);
  CHECK(std::get<Shared>(model.layers[20].mixers[0]).source_layer == 18);
  CHECK(std::get<Shared>(model.layers[34].mixers[0]).source_layer == 19);
}

TEST_CASE("MTP layers are not counted in a GGUF's layers") {
  const ModelSpec model = read(attending("glm4moe", 47, 4096, 96, 8, 128).u32(".nextn_predict_layers", 1));
  CHECK(model.layers.size() == 46);
  CHECK(model.num_nextn_layers == 1);
  CHECK(token_elements(model) * 2 * 8192 == 1472ULL << 20);
}

// GiB of the cache at 32768 tokens: what the architecture needs, and what the engine takes.
struct Cache {
  double logical, reserved;
};
Cache cache(const ModelSpec& model, const std::string& engine) {
  const Plan plan = make_plan(model, request_for(engine, 32768));
  return {static_cast<double>(plan.kv_cache.logical.count()) / kGiB,
          static_cast<double>(plan.kv_cache.reserved.count()) / kGiB};
}

// Engines treat a GGUF like the model's config.json.
TEST_CASE("engines plan a GGUF like its config.json, llama.cpp as it runs the file") {
  const auto near = [](double gib) { return doctest::Approx(gib).epsilon(0.0005); };
  // 32 layers of 2 x 8 x 128 numbers in 16 bits are 128 KiB per token: a window takes 0.5 GiB, the whole context 4 GiB.
  // vLLM keeps a chunk of 16384 tokens in addition to the window; llama.cpp has no windows for llama.
  const ModelSpec window = read(mistral());
  CHECK(cache(window, "logical").reserved == near(0.5));
  CHECK(cache(window, "vllm").reserved == near(2.502));  // and one page
  CHECK(cache(window, "llama.cpp").reserved == near(4.0));
  // 61 layers of 576 numbers in 16 bits.
  const ModelSpec v3 = read(latent("deepseek2", 61));
  CHECK(v3.model_type == "deepseek2");
  CHECK(v3.known_as->id == Arch::kDeepseekV3);
  for (const char* engine : {"logical", "vllm", "llama.cpp"}) CHECK(cache(v3, engine).reserved == near(2.1445));
  // 12 layers of 2 x 8 x 64 numbers keep all tokens: 0.75 GiB. SGLang's other 12 layers have 0.8 of the tokens.
  const ModelSpec oss = read(attending("gpt-oss", 24, 2880, 64, 8, 64).u32(".attention.sliding_window", 128));
  CHECK(cache(oss, "sglang").reserved == near(1.350));
}

TEST_CASE("a latent is cached if the file was converted with it") {
  CHECK(token_elements(read(latent("deepseek2", 61))) == 61 * 576);
  // 2160 MiB at 8192 tokens: a file of DeepSeek-V2-Lite from before GGUFs had keys for latents.
  const ModelSpec old = read(base("deepseek2", 27, 2048)
                                 .u32(".attention.head_count", 16)
                                 .u32(".attention.kv_lora_rank", 512)
                                 .u32(".attention.key_length", 192)
                                 .u32(".attention.value_length", 128));
  CHECK(token_elements(old) * 2 * 8192 == 2160ULL << 20);
  CHECK(old.notes.at(0).code == "expanded_mla");
  // If the rotated width is given, the latent is still known. For such a file llama.cpp has its own rule: 27 layers of
  // 512 + 64 numbers, or of 16 x (192 + 128).
  const ModelSpec lite = read(base("deepseek2", 27, 2048)
                                  .u32(".attention.head_count", 16)
                                  .u32(".attention.head_count_kv", 16)
                                  .u32(".attention.kv_lora_rank", 512)
                                  .u32(".attention.key_length", 192)
                                  .u32(".attention.value_length", 128)
                                  .u32(".rope.dimension_count", 64));
  CHECK(token_elements(lite) == 27 * 576);
  CHECK(cache(lite, "llama.cpp").reserved == doctest::Approx(4 * 2160.0 / 1024));
  CHECK(cache(lite, "vllm").reserved == doctest::Approx(27 * 576 * 2.0 * 32768 / (1 << 30)));
}

TEST_CASE("every architecture of a GGUF is read by a family") {
  for (const GgufArch& arch : gguf_archs())
    for (const std::string_view word : split(arch.names)) {
      const std::string_view name = word.substr(0, word.find('='));
      CAPTURE(name);
      CHECK(find_gguf_arch(name) == &arch);
      for (const bool windowed : {false, true})
        CHECK((arch.read != nullptr || find_family(gguf_model_type(arch, name, windowed)) != nullptr));
    }
}

TEST_CASE("errors of a family name the file's keys") {
  std::string line;
  CHECK(refusal(attending("llama", 2, 4096, 32, 64), &line) == Exit::kBadInput);
  CHECK_MESSAGE(line.find("\"llama.attention.head_count_kv\" is 64") != std::string::npos, line);
}

TEST_CASE("indexers are on the layers that the file lists") {
  const auto indexed = [](std::string_view name) {
    return latent(name, 10)
        .u32(".attention.indexer.head_count", 64)
        .u32(".attention.indexer.key_length", 128)
        .u32(".attention.indexer.top_k", 2048);
  };
  CHECK(token_elements(read(indexed("deepseek32"))) == 10 * (576 + 128));
  CHECK(token_elements(read(indexed("glm-dsa"))) == 10 * (576 + 128));
  CHECK(token_elements(read(indexed("glm-dsa").array(".attention.indexer.types", every(10, 5, 0, 1)))) ==
        10 * 576 + 2 * 128);
  const ModelSpec m3 = read(attending("minimax-m3", 60, 6144, 64, 4, 128)
                                .u32(".leading_dense_block_count", 3)
                                .u32(".attention.indexer.head_count", 4)
                                .u32(".attention.indexer.key_length", 128));
  CHECK(token_elements(m3) == 60 * 1024 + 57 * 128);
}

TEST_CASE("DeepSeek-V4 compresses by the list of its ratios") {
  Ints ratios{0, 0, 4, 128, 4};
  const ModelSpec model = read(base("deepseek4", 5, 4096)
                                   .u32(".attention.head_count", 64)
                                   .u32(".attention.head_count_kv", 1)
                                   .u32(".attention.key_length", 512)
                                   .u32(".attention.value_length", 512)
                                   .u32(".rope.dimension_count", 64)
                                   .u32(".attention.sliding_window", 128)
                                   .u32(".attention.indexer.head_count", 64)
                                   .u32(".attention.indexer.key_length", 128)
                                   .u32(".attention.indexer.top_k", 512)
                                   .array(".attention.compress_ratios", ratios));
  CHECK(count_of(model, "compressed") == 5);
  CHECK(kind_variant(model.layers[0].mixers[0]) == "window");
  CHECK(kind_variant(model.layers[2].mixers[0]) == "csa");
  CHECK(kind_variant(model.layers[3].mixers[0]) == "hca");
  CHECK(token_elements(model) == 5 * 512);
}

TEST_CASE("recurrent state is the size of llama.cpp's RS buffer for a sequence") {
  const auto ssm = [](GgufWriter writer, std::uint32_t inner, std::uint32_t state, std::uint32_t heads,
                      std::uint32_t groups) {
    return writer.u32(".ssm.conv_kernel", 4)
        .u32(".ssm.inner_size", inner)
        .u32(".ssm.state_size", state)
        .u32(".ssm.time_step_rank", heads)
        .u32(".ssm.group_count", groups);
  };
  const auto near = [](double mib) { return doctest::Approx(mib).epsilon(0.0005); };
  CHECK(state_mib(read(ssm(base("mamba", 64, 2560).u32(".attention.head_count", 0), 5120, 16, 160, 0))) == near(23.75));
  CHECK(state_mib(read(ssm(base("mamba2", 64, 2560), 5120, 128, 80, 1))) == near(163.94));
  CHECK(state_mib(read(base("rwkv6", 32, 4096).u32(".wkv.head_size", 64))) == near(33.00));
  CHECK(state_mib(read(base("rwkv7", 32, 2560).u32(".wkv.head_size", 64))) == near(20.62));

  const auto mixed = [](std::string_view name, std::uint32_t width, std::uint32_t heads, const Ints& kv) {
    return base(name, static_cast<std::uint32_t>(kv.size()), width)
        .u32(".attention.head_count", heads)
        .array(".attention.head_count_kv", kv);
  };
  CHECK(state_mib(read(ssm(mixed("jamba", 4096, 32, every(32, 8, 4, 8)), 8192, 16, 256, 0))) == near(16.62));
  CHECK(state_mib(read(ssm(mixed("granitehybrid", 4096, 32, every(40, 10, 5, 8)), 8192, 128, 128, 1))) == near(147.48));
  CHECK(state_mib(read(
            mixed("lfm2", 2048, 32, {0, 0, 8, 0, 0, 8, 0, 0, 8, 0, 8, 0, 8, 0, 8, 0}).u32(".shortconv.l_cache", 3))) ==
        doctest::Approx(0.15625));

  const ModelSpec next = read(ssm(attending("qwen3next", 48, 2048, 16, 2, 256), 4096, 128, 32, 16));
  CHECK(state_mib(next) == near(75.38));
  CHECK(token_elements(next) == 12 * 2 * 2 * 256);
  CHECK(state_mib(read(ssm(attending("qwen35", 32, 4096, 16, 4, 256), 4096, 128, 32, 16))) == near(50.25));
  CHECK(state_mib(read(ssm(attending("qwen35moe", 40, 2048, 16, 2, 256), 4096, 128, 32, 16))) == near(62.81));

  Ints kda = every(27, 4, 3, 1);
  kda[26] = 1;
  GgufWriter kimi = base("kimi-linear", 27, 2304)
                        .u32(".attention.head_count", 32)
                        .array(".attention.head_count_kv", kda)
                        .u32(".attention.kv_lora_rank", 512)
                        .u32(".attention.key_length", 576)
                        .u32(".attention.value_length", 512)
                        .u32(".attention.key_length_mla", 192)
                        .u32(".attention.value_length_mla", 128)
                        .u32(".ssm.conv_kernel", 4)
                        .u32(".kda.head_dim", 128);
  CHECK(state_mib(read(kimi)) == near(42.81));
  CHECK(token_elements(read(kimi)) == 7 * 576);

  // Each layer has both mixers.
  const ModelSpec h1 = read(ssm(attending("falcon-h1", 44, 3072, 12, 2, 128), 3072, 256, 24, 1));
  CHECK(h1.layers[0].mixers.size() == 2);
  CHECK(state_mib(h1) == near(133.80));

  // Layers with only a feed-forward part have no cache.
  const ModelSpec nemotron = read(ssm(mixed("nemotron_h", 4096, 32, {0, 0, 8, 0}), 8192, 128, 128, 8)
                                      .array(".feed_forward_length", {0, 21504, 0, 21504}));
  CHECK(count_of(nemotron, "none") == 2);
  CHECK(count_of(nemotron, "ssm") == 1);
  CHECK(count_of(nemotron, "gqa") == 1);
}

TEST_CASE("lightning attention of MiniMax-01 is on seven of eight layers") {
  const ModelSpec model = read(attending("minimax-01", 80, 6144, 64, 8, 128));
  CHECK(count_of(model, "linear") == 70);
  CHECK(state_mib(model) == doctest::Approx(70 * 4.0));  // 64 heads of 128 x 128 float32 are 4 MiB
}

TEST_CASE("encoders have no cache, T5 one for its source") {
  CHECK(model_attention(read(attending("bert", 12, 768, 12, 0))) == "none");
  const ModelSpec t5 = read(attending("t5", 12, 768, 12, 0, 64).u32(".decoder_block_count", 6));
  CHECK(count_of(t5, "cross") == 6);
  CHECK(count_of(t5, "mha") == 6);
  CHECK(t5.towers.at(0).num_layers == 12);
  CHECK(t5.source_tokens > Tokens(0));
}

TEST_CASE("an unknown architecture is planned from its common fields, or refused with a list of its keys") {
  const ModelSpec plain = read(attending("novaformer", 32, 4096, 32, 8));
  CHECK(token_elements(plain) == 32 * 2 * 8 * 128);
  CHECK(plain.notes.at(0).code == "assumed_architecture");
  const GgufWriter odd = attending("novaformer", 32, 4096, 32, 8).u32(".ssm.state_size", 16);
  std::string line;
  CHECK(refusal(odd, &line) == Exit::kUnknownArchitecture);
  CHECK(line.find("novaformer.ssm.state_size") != std::string::npos);
  CHECK(in_words(read(odd, {true}).notes.at(0).message).find("ssm.state_size") != std::string::npos);
  CHECK(refusal(attending("novaformer", 32, 4096, 32, 8).u32(".attention.sliding_window", 16)) ==
        Exit::kUnknownArchitecture);
}

TEST_CASE("a GGUF with impossible counts is refused, with the key") {
  std::string line;
  const auto names = [&](const GgufWriter& writer, std::string_view key) {
    CHECK(refusal(writer, &line) == Exit::kBadInput);
    CHECK_MESSAGE(line.find(key) != std::string::npos, line);
  };
  names(GgufWriter(), "general.architecture");
  names(GgufWriter("llama"), "llama.block_count");
  names(base("llama", 0, 4096), "llama.block_count");
  names(base("llama", 4000000000U, 4096), "llama.block_count");
  names(base("llama", 32, 0).u32(".attention.head_count", 32), "llama.embedding_length");
  names(base("llama", 32, 4096), "llama.attention.head_count");
  names(attending("llama", 32, 4096, 0, 8), "llama.attention.head_count");
  names(attending("llama", 32, 16, 32, 8), "llama.embedding_length");
  names(base("llama", 3, 4096).array(".attention.head_count", {32, 32}), "llama.attention.head_count");
  names(attending("llama", 2, 4096, 32, 8).u32(".nextn_predict_layers", 3), "llama.nextn_predict_layers");
  names(latent("deepseek2", 2).u32(".nextn_predict_layers", 9), "deepseek2.nextn_predict_layers");
  names(base("mamba2", 2, 64)
            .u32(".ssm.conv_kernel", 4)
            .u32(".ssm.inner_size", 100)
            .u32(".ssm.state_size", 16)
            .u32(".ssm.time_step_rank", 7)
            .u32(".ssm.group_count", 1),
        "mamba2.ssm.inner_size");
  names(base("rwkv6", 2, 100).u32(".wkv.head_size", 64), "rwkv6.embedding_length");
  names(base("rwkv6", 2, 128).u32(".wkv.head_size", 0), "rwkv6.wkv.head_size");
  names(attending("llama", 2, 4096, 32, 8).text("general.type", "adapter"), "adapter");
  names(GgufWriter("clip"), "clip");
}

// ggml may have newer types than kvplan. Then the cache is known, but the weights are not.
TEST_CASE("gguf: with tensors of an unknown type, the weights are unknown") {
  const ModelSpec some = read(attending("llama", 1, 4096, 32, 8)
                                  .tensor({"token_embd.weight", {4096, 32}, 0, 4096 * 32 * 4})
                                  .tensor({"blk.0.attn_q.weight", {4096, 4096}, 9999, 0}));
  REQUIRE(some.unknown_tensors.size() == 1);
  CHECK(some.unknown_tensors.front().high == Elements(4096 * 4096));
  CHECK(some.unknown_tensors.front().component == Component::kAttention);
  const ModelSpec all = read(attending("llama", 1, 4096, 32, 8).tensor({"token_embd.weight", {4096, 32}, 9999, 0}));
  CHECK(all.unknown_tensors.size() == 1);
  CHECK(all.stored_weights.empty());
}

}  // namespace
TEST_CASE("GGUF: metadata that contradicts the tensors is reported") {
  const auto differences = [](std::uint32_t layers, std::uint32_t width, std::uint32_t kv_heads) {
    const ModelSpec model = read(attending("llama", layers, width, 32, kv_heads)
                                     .tensor({"token_embd.weight", {4096, 32}, 0, 4096 * 32 * 4})
                                     .tensor({"blk.0.attn_k.weight", {4096, 1024}, 0, 4096 * 1024 * 4}));
    return std::count_if(model.notes.begin(), model.notes.end(),
                         [](const Note& note) { return note.code == "metadata_differs"; });
  };
  CHECK(differences(1, 4096, 8) == 0);
  CHECK(differences(2, 4096, 8) == 1);   // the tensors of one layer
  CHECK(differences(1, 4096, 16) == 1);  // keys of 8 heads
  CHECK(differences(1, 2048, 8) == 2);   // the embedding, and keys that are half as wide
  CHECK_THROWS_AS(read(base("llama", 1, 4096).u32(".attention.head_count", 32).u32(".attention.head_count_kv", 0)),
                  Error);
}

}  // namespace kvplan
