// How vLLM's classes change a model's tensors. The numbers are from the classes of 0.33.0 on the meta device
// (testdata/conformance).
#include <doctest/doctest.h>

#include "engines/requests.h"
#include "engines/vllm/vllm.h"

namespace kvplan {
namespace {

struct Made {
  std::vector<TensorGroup> tensors;
  std::vector<UnknownTensors> unknown;
  QuantDeclaration quantization;
  std::vector<Note> notes;
  std::vector<ConfigFact> facts;

  void make(Arch arch, const Request& request) {
    EngineTensors model{arch, "", "", "", &request, 52, tensors, unknown, quantization, notes, facts, std::nullopt};
    vllm_make_tensors(model);
  }
};

TensorGroup group(Component component, TensorRole role, const char* module, std::uint64_t rows, std::uint64_t columns) {
  TensorGroup out;
  out.component = component;
  out.role = role;
  out.module = module;
  out.rows = rows;
  out.columns = columns;
  return out;
}

Request on(const char* engine, const char* card) {
  Request out = request_for(engine, 4096);
  out.card.gpu = &parse_gpu(card);
  return out;
}

// Nemotron-3-Nano has 128 experts of 1,856, padded to 1,920 on a B200 since 0.31. On an A100 its router is float32.
Made nemotron() {
  Made out;
  TensorGroup up = group(Component::kExperts, TensorRole::kLinear, "model.layers.*.mlp.experts.*.up_proj", 1856, 2688);
  up.is_expert = true;
  up.split = Split::kRows;
  TensorGroup down = up;
  down.module = "model.layers.*.mlp.experts.*.down_proj";
  std::swap(down.rows, down.columns);
  down.split = Split::kColumns;
  out.tensors = {up, down, group(Component::kRouter, TensorRole::kLinear, "model.layers.*.mlp.gate", 128, 2688)};
  return out;
}

TEST_CASE("vllm: experts as wide as the GPU's kernel needs, routers in the type that it supports") {
  struct Row {
    const char *engine, *card;
    std::uint64_t width;
    Kept router;
  };
  for (const Row& row : {Row{"vllm@0.33", "b200", 1920, Kept::kAsDeclared},
                         {"vllm@0.30", "b200", 1856, Kept::kAsDeclared},
                         {"vllm@0.33", "h100-80gb", 1856, Kept::kAsDeclared},
                         {"vllm@0.33", "a100-80gb", 1856, Kept::kFloat32}}) {
    CAPTURE(row.engine);
    CAPTURE(row.card);
    Made model = nemotron();
    model.make(Arch::kNemotronH, on(row.engine, row.card));
    REQUIRE(model.tensors.size() == 3);
    CHECK(model.tensors[0].rows == row.width);
    CHECK(model.tensors[1].columns == row.width);
    CHECK(model.tensors[2].kept == row.router);
  }
}

TEST_CASE("vllm: unused layers of a tower are left out, and so are rows for images") {
  Made model;
  model.tensors = {group(Component::kVision, TensorRole::kLinear, "vision_tower.layers.qkv", 3072, 1024),
                   group(Component::kVision, TensorRole::kLinear, "vision_tower.unread_layers.qkv", 3072, 1024),
                   group(Component::kVision, TensorRole::kLinear, "vision_tower.head.fc1", 4304, 1152),
                   group(Component::kEmbedding, TensorRole::kEmbedding, "model.embed_tokens", 128256, 4096),
                   group(Component::kEmbedding, TensorRole::kPlain, "model.embed_tokens.image", 32768, 1)};
  model.make(Arch::kMllama, on("vllm@0.26", "h100-80gb"));
  REQUIRE(model.tensors.size() == 2);
  CHECK(model.tensors[0].module == "vision_tower.layers.qkv");
  CHECK(model.tensors[1].module == "model.embed_tokens");
}

TEST_CASE("vllm: the bias of a router if topk_method needs it") {
  for (const bool asks : {true, false}) {
    Made model;
    model.tensors = {
        group(Component::kRouter, TensorRole::kPlain, "model.layers.*.mlp.gate.e_score_correction_bias", 256, 1)};
    if (asks) model.facts = {{"topk_method", "\"noaux_tc\"", Origin::kFile}};
    model.make(Arch::kDeepseekV3, on("vllm", "h100-80gb"));
    CHECK(model.tensors.size() == (asks ? 1 : 0));
  }
}

// Kimi-K3 on eight ranks: 12 heads, whose rows are padded to sixteen. On an A100 there are no copies for FlashKDA.
TEST_CASE("vllm: rows of Kimi's fused matrix, and copies for its kernel") {
  for (const auto& [card, ranks, groups] : {std::tuple{"h100-80gb", 8, 4}, {"h100-80gb", 1, 3}, {"a100-80gb", 1, 2}}) {
    CAPTURE(card);
    Made model;
    model.tensors = {
        group(Component::kEmbedding, TensorRole::kEmbedding, "model.embed_tokens", 163840, 7168),
        group(Component::kStateMixer, TensorRole::kPlain, "model.layers.*.self_attn.A_log", 96, 1),
        group(Component::kStateMixer, TensorRole::kPlain, "model.layers.*.self_attn.decode_conv1d", 36864, 4)};
    Request request = on("vllm", card);
    request.parallel.tensor = static_cast<std::uint64_t>(ranks);
    model.make(Arch::kKimiLinear, request);
    REQUIRE(model.tensors.size() == static_cast<std::size_t>(groups));
    if (ranks == 8) CHECK(model.tensors.back().rows * model.tensors.back().columns == 4 * 7168);
  }
}

}  // namespace
}  // namespace kvplan
