// Models that generate no text: their cache, and how they are recognised.
#include <doctest/doctest.h>

#include <string>

#include "models/read.h"
#include "support/figures.h"
#include "support/program.h"

namespace kvplan {
namespace {

// A config with the sizes of Qwen2-1.5B, and the keys that a file adds.
std::string config(const std::string& architecture, const std::string& more = "") {
  return R"({"model_type": "qwen2", "architectures": [")" + architecture + R"("], "hidden_size": 1536,
    "intermediate_size": 8960, "num_hidden_layers": 28, "num_attention_heads": 12, "num_key_value_heads": 2,
    "vocab_size": 151646, "max_position_embeddings": 32768, "torch_dtype": "bfloat16")" +
         more + "}";
}

TEST_CASE("attention in both directions has no cache") {
  // 28 layers x 2 heads x 128 x 2 x 2 bytes, if each token only sees earlier ones.
  CHECK(figures(parse_model(config("Qwen2ForCausalLM")), 1000, k16Bit).per_token == 28672);
  // gte-Qwen2: vLLM makes its layers AttentionType.ENCODER_ONLY, which get no KV cache spec (models/qwen2.py).
  const ModelSpec gte = parse_model(config("Qwen2ForCausalLM", R"(, "is_causal": false)"));
  CHECK(figures(gte, 1000, k16Bit).at_length == 0);
  CHECK(gte.embeds);
  CHECK(model_attention(gte) == "none");
  // The weights are the same as those of the other model.
  CHECK(gte.tensors.size() == parse_model(config("Qwen2ForCausalLM")).tensors.size());
  CHECK(figures(parse_model(config("Qwen2Model", R"(, "use_bidirectional_attention": true)")), 9, k16Bit).at_length ==
        0);
  // PaliGemma's flag is only for its prompt. It generates text.
  const ModelSpec pali =
      parse_model(R"({"model_type": "paligemma", "architectures": ["PaliGemmaForConditionalGeneration"],
    "text_config": {"model_type": "gemma", "hidden_size": 2048, "intermediate_size": 16384, "num_hidden_layers": 18,
    "num_attention_heads": 8, "num_key_value_heads": 1, "head_dim": 256, "vocab_size": 257216,
    "use_bidirectional_attention": true}, "vision_config": {"model_type": "siglip_vision_model", "hidden_size": 1152,
    "intermediate_size": 4304, "num_hidden_layers": 27, "num_attention_heads": 16, "patch_size": 14,
    "image_size": 224}})");
  CHECK(figures(pali, 9, k16Bit).per_token == 18 * 256 * 2 * 2);
  CHECK_FALSE(pali.embeds);
}

TEST_CASE("embedding and reranking models over decoders keep their cache, and write no tokens") {
  // vllm/config/model.py, _SUFFIX_TO_DEFAULTS.
  for (const char* pools : {"Qwen2Model", "Qwen2ForSequenceClassification", "Qwen2RewardModel"}) {
    CAPTURE(pools);
    const ModelSpec model = parse_model(config(pools));
    CHECK(model.embeds);
    CHECK(figures(model, 1000, k16Bit).per_token == 28672);
  }
  for (const char* writes : {"Qwen2ForCausalLM", "Qwen2LMHeadModel", "InternVLChatModel", "ChatGLMModel"})
    CHECK_FALSE(parse_model(config(writes)).embeds);
  const TemporaryFolder folder;
  const std::string path = folder.write("config.json", config("Qwen2Model"));
  const Run run = run_program({path, "--engine", "vllm", "--gpu", "l4", "--max-model-len", "8k"});
  CHECK(run.exit == 0);
  CHECK(run.out.find("tokens/s") == std::string::npos);
  CHECK(run.out.find("embeddings or scores, not text") != std::string::npos);
  // A sentence-transformers folder is recognised by its list of modules.
  const TemporaryFolder modules;
  modules.write("config.json", config("Qwen2ForCausalLM"));
  modules.write("modules.json", "[]");
  CHECK(
      run_program({modules.path(), "--engine", "vllm", "--gpu", "l4", "--max-model-len", "8k"}).out.find("tokens/s") ==
      std::string::npos);
}

}  // namespace
}  // namespace kvplan
