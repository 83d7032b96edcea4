// Lists of modules in quantization configs match the names that a family's files and classes have. Names that match
// nothing are reported.
#include "weights/rules.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "formats/file.h"
#include "sources/load.h"
#include "weights/weigh.h"

namespace kvplan {
namespace {

using nlohmann::json;

// "layers.{0..2}.w{1..3}" expanded to its nine names.
std::vector<std::string> expanded(const std::string& name) {
  const std::size_t open = name.find('{');
  if (open == std::string::npos) return {name};
  const std::size_t dots = name.find("..", open), close = name.find('}', open);
  std::vector<std::string> out;
  const int last = std::stoi(name.substr(dots + 2, close - dots - 2));
  for (int i = std::stoi(name.substr(open + 1, dots - open - 1)); i <= last; ++i)
    for (const std::string& rest : expanded(name.substr(close + 1)))
      out.push_back(name.substr(0, open) + std::to_string(i) + rest);
  return out;
}

json expanded(const json& place) {
  if (place.is_array()) {
    json out = json::array();
    for (const json& entry : place)
      if (entry.is_string())
        for (const std::string& name : expanded(entry.get<std::string>())) out.push_back(name);
    return out;
  }
  if (!place.is_object()) return place;
  json out = json::object();
  for (const auto& [key, value] : place.items())
    for (const std::string& name : expanded(key)) out[name] = expanded(value);
  return out;
}

json file(const std::string& path) {
  return json::parse(read_file(std::string(KVPLAN_SOURCE_DIR "/testdata/") + path + ".json"));
}

// A checkpoint of testdata/quantized.
ModelSpec checkpoint(const std::string& name) {
  const json written = file("quantized/" + name);
  json config = written.contains("model") ? file("configs/" + written["model"].get<std::string>()) : written["config"];
  if (written.contains("quantization_config")) config["quantization_config"] = expanded(written["quantization_config"]);
  const std::string beside = written.contains("hf_quant_config") ? written["hf_quant_config"].dump() : "";
  return read_config(config.dump(), beside, "test", {});
}

std::uint64_t weights_of(const ModelSpec& model, std::vector<Note>* notes = nullptr) {
  const WeightReport report = weigh(model, {});
  if (notes != nullptr) *notes = report.notes;
  return report.total.count();
}

const Note* unmatched_in(const std::vector<Note>& notes) {
  const auto found =
      std::find_if(notes.begin(), notes.end(), [](const Note& note) { return note.code == "unmatched_modules"; });
  return found == notes.end() ? nullptr : &*found;
}

bool is_near(std::uint64_t bytes, double truth, double share) {
  return std::abs(static_cast<double>(bytes) / truth - 1) < share;
}

// The lists of three checkpoints of the Hub, whose names are not Llama's.
TEST_CASE("NVFP4 checkpoints have the size that their lists say") {
  std::vector<Note> notes;
  // "layers.N.mlp*" is the dense MLP. The 30 x 128 experts of 3 x 704 x 2816 have 4.5 bits. vLLM prints 17.89 GiB,
  // which includes its own runtime's buffers.
  const ModelSpec gemma = checkpoint("gemma-4-26b-a4b-nvfp4");
  const std::uint64_t gemma_weights = weights_of(gemma, &notes);
  CHECK(unmatched_in(notes) == nullptr);
  constexpr std::uint64_t kGemmaExperts = 30ULL * 128 * 3 * 704 * 2816;
  CHECK(is_near(gemma_weights,
                2.0 * static_cast<double>(count_parameters(gemma).total - kGemmaExperts) +
                    0.5625 * static_cast<double>(kGemmaExperts),
                1e-4));
  CHECK(is_near(gemma_weights, 19.2e9, 0.025));

  // The experts, block_sparse_moe.experts.N.w1 to w3, have 4.5 bits. The other listed modules are MXFP8 with 8.25 bits.
  const ModelSpec minimax = checkpoint("minimax-m3-nvfp4");
  const std::uint64_t minimax_weights = weights_of(minimax, &notes);
  CHECK(unmatched_in(notes) == nullptr);
  constexpr std::uint64_t kMinimaxExperts = 57ULL * 128 * 3 * 3072 * 6144;
  constexpr std::uint64_t kMinimaxListed = 60ULL * 6144 * 128 * (64 + 4 + 4 + 64)  // q, k, v, o
                                           + 57ULL * 6144 * 128 * (4 + 1)          // index_q, index_k
                                           + 57ULL * 3 * 3072 * 6144               // shared experts
                                           + 3ULL * 3 * 12288 * 6144;              // dense MLPs
  CHECK(is_near(minimax_weights,
                2.0 * static_cast<double>(count_parameters(minimax).total - kMinimaxExperts - kMinimaxListed) +
                    0.5625 * static_cast<double>(kMinimaxExperts) + 1.03125 * static_cast<double>(kMinimaxListed),
                1e-4));
  CHECK(is_near(minimax_weights, 250e9, 0.02));

  // Six attention layers and the Mamba layer before each are excluded: mixer.q_proj, mixer.in_proj ...
  const ModelSpec nemotron = checkpoint("nemotron-3-nano-30b-a3b-nvfp4");
  const std::uint64_t nemotron_weights = weights_of(nemotron, &notes);
  CHECK(unmatched_in(notes) == nullptr);
  constexpr std::uint64_t kNemotronListed = 17ULL * 2688 * (2 * 4096 + 2 * 8 * 128 + 64 + 4096)  // in_proj, out_proj
                                            + 23ULL * 128 * 2 * 1856 * 2688 + 23ULL * 2 * 3712 * 2688;
  CHECK(is_near(nemotron_weights,
                2.0 * static_cast<double>(count_parameters(nemotron).total - kNemotronListed) +
                    0.5625 * static_cast<double>(kNemotronListed),
                1e-3));
  CHECK(is_near(nemotron_weights, 18.00 * 1024 * 1024 * 1024, 1e-3));
}

const char* const kLlama = R"({"model_type":"llama","hidden_size":4096,"intermediate_size":14336,"num_hidden_layers":4,
    "num_attention_heads":32,"num_key_value_heads":8,"vocab_size":1000,"quantization_config":{"quant_method":"fp8",
    "modules_to_not_convert":)";

TEST_CASE("names of a list that match nothing are reported, with their number") {
  const auto note = [](const std::string& list) {
    std::vector<Note> notes;
    weights_of(read_config(kLlama + list + "}}", "", "test", {}), &notes);
    const Note* found = unmatched_in(notes);
    return found == nullptr ? Note() : *found;
  };
  CHECK(note(R"(["lm_head", "model.layers.3.mlp.up_proj", "re:.*layers\\.2\\..*", "*.self_attn.*"])").message.empty());
  const Note few = note(R"(["lm_head", "model.layers.1.mlp.up_proj", "model.layers.0.feed_forward.w1"])");
  CHECK(few.level == NoteLevel::kInfo);
  CHECK(in_words(few.message) ==
        "1 of 3 names in \"modules_to_not_convert\" of the quantization config match no module of this model (first: "
        "\"model.layers.0.feed_forward.w1\"): they are not applied");
  const Note most = note(R"(["lm_head", "re:.*experts.*", "model.layers.9.mlp", "model.layers.7*", "*.attn.*"])");
  CHECK(most.level == NoteLevel::kWarning);
  CHECK(in_words(most.message).starts_with("4 of 5 names in"));
  // An expression that kvplan cannot read matches nothing.
  CHECK(in_words(note(R"(["re:.*(up_proj"])").message).starts_with("1 of 1 names in"));
  // Parts that are never quantized, and the layer after the last one, which predicts a token.
  CHECK(note(R"(["model.layers.0.post_attention_layernorm", "model.vision_tower*", "visual.blocks.0.attn.qkv",
      "mtp*", "model.layers.4*", "model.layers.4.eh_proj"])")
            .message.empty());
}

// The names that files and classes have, from transformers 5.23's classes and their mapping to checkpoints.
TEST_CASE("modules are matched by their names in files and in classes") {
  const auto skipped = [](const std::string& type, const std::string& more, const std::string& name) {
    const std::string config = R"({"model_type":")" + type +
                               R"(","hidden_size":1024,"intermediate_size":2048,"num_hidden_layers":2,
        "num_attention_heads":8,"num_key_value_heads":8,"vocab_size":1000)" +
                               more + R"(,"quantization_config":{"quant_method":"fp8")";
    const std::uint64_t packed = weights_of(read_config(config + "}}", "", "test", {}));
    const std::uint64_t spared =
        weights_of(read_config(config + R"(,"modules_to_not_convert":[")" + name + "\"]}}", "", "test", {}));
    return (spared - packed + 512) / 1024 * 1024;  // except the scales of whole matrices
  };
  const std::string four = R"(,"num_experts":4,"num_local_experts":4,"n_routed_experts":4,"num_experts_per_tok":2,
      "moe_intermediate_size":2048)";
  const std::string shared = four + R"(,"shared_expert_intermediate_size":512)";
  constexpr std::uint64_t kMatrix = 1024ULL * 2048;  // one byte more for each of its weights
  CHECK(skipped("mixtral", four, "model.layers.0.block_sparse_moe.experts.0.w1") == 4 * kMatrix);
  CHECK(skipped("mixtral", four, "model.layers.0.mlp.experts") == 3 * 4 * kMatrix);
  CHECK(skipped("minimax_m2", four, "model.layers.1.block_sparse_moe.experts.0.w2") == 4 * kMatrix);
  CHECK(skipped("qwen2_moe", shared, "model.layers.0.mlp.shared_expert") == 3ULL * 1024 * 512);
  CHECK(skipped("qwen3_moe", four, "model.layers.0.mlp.experts.gate_up_proj") == 2 * 4 * kMatrix);
  CHECK(skipped("gpt2", "", "transformer.h.0.attn.c_attn") == 3ULL * 1024 * 1024);
  CHECK(skipped("falcon", R"(,"multi_query":false)", "transformer.h.1.self_attention.dense") == 1024ULL * 1024);
  CHECK(skipped("gpt_neox", "", "gpt_neox.layers.0.mlp.dense_h_to_4h") == kMatrix);
  CHECK(skipped("opt", R"(,"ffn_dim":2048)", "model.decoder.layers.0.self_attn.out_proj") == 1024ULL * 1024);
  CHECK(skipped("phi", "", "model.layers.0.mlp.fc1") == kMatrix);
  CHECK(skipped("llama", "", "language_model.model.layers.0.mlp.up_proj") == kMatrix);
}

}  // namespace
}  // namespace kvplan
