// The interpreter of the engines' tables of tensor edits. What the tables say is compared with executed figures
// (testdata/conformance).
#include "engines/tensor_edits.h"

#include <doctest/doctest.h>

#include "engines/requests.h"

namespace kvplan {
namespace {

struct Edited {
  std::vector<TensorGroup> tensors;
  std::vector<UnknownTensors> unknown;
  QuantDeclaration quantization;
  std::vector<Note> notes;
  std::vector<ConfigFact> facts;

  void apply(const TensorEdit& row, const char* engine = "vllm@0.30", std::string_view class_name = "AForCausalLM") {
    const Request request = request_for(engine, 4096);
    EngineTensors model{Arch::kGemma, "",      "",           class_name, &request, 8,
                        tensors,      unknown, quantization, notes,      facts,    {}};
    edit_tensors({&row, 1}, class_name, model);
  }
};

TensorGroup keys(Component component = Component::kAttention) {
  TensorGroup out;
  out.component = component;
  out.module = "model.layers.*.self_attn.k_proj";
  out.layers = {{0, 4, 1}};
  out.rows = 1024;
  out.columns = 4096;
  out.units = 8;
  out.split = Split::kRows;
  return out;
}

TEST_CASE("tensor edits: tensors are selected by ends, beginnings and parts of names, and by kind") {
  const TensorGroup group = keys();
  for (const char* words : {"k_proj", "q_proj self_attn.k_proj", "model.layers.*", "*.self_attn.*", "<all>"})
    CHECK_MESSAGE(selects(words, group), words);
  for (const char* words : {"proj", "attn.k_proj", "self_attn*", "*.mlp.*", "<routers>", "<all> -k_proj", ""})
    CHECK_MESSAGE(!selects(words, group), words);
}

TEST_CASE(
    "tensor edits: a row is for classes, architectures or all except some, in releases, unless the config says "
    "otherwise") {
  const auto is_dropped = [](TensorEdit row, const char* engine = "vllm@0.30", const char* value = "true") {
    row.change = DropTensors{"k_proj"};
    Edited model;
    model.tensors = {keys()};
    model.facts = {{"text_config.has_keys", value, Origin::kFile}};
    model.apply(row, engine);
    return model.tensors.empty();
  };
  CHECK(is_dropped({"", {}}));
  CHECK(is_dropped({"BForCausalLM AForCausalLM", {}}));
  CHECK_FALSE(is_dropped({"BForCausalLM", {}}));
  CHECK(is_dropped({Archs{Arch::kGemma}, {}}));
  CHECK_FALSE(is_dropped({AllBut{Arch::kGemma}, {}}));
  CHECK_FALSE(is_dropped({"", {}, "", {.since = {0, 31}}}));
  CHECK(is_dropped({"", {}, "", {.since = {0, 31}}}, "vllm@0.31"));
  CHECK_FALSE(is_dropped({"", {}, "", {.until = {0, 30}}}));
  CHECK_FALSE(is_dropped({"", {}, "", {.unless = "has_keys=true"}}));
  CHECK(is_dropped({"", {}, "", {.unless = "has_keys=true"}}, "vllm@0.30", "false"));
  CHECK_FALSE(is_dropped({"", {}, "", {.unless = "has_keys"}}, "vllm@0.30", "false"));
}

TEST_CASE("tensor edits: a vector next to a tensor is in the same layers and split like it, and drafts have none") {
  Edited model;
  model.tensors = {keys(), keys(Component::kMtp)};
  model.apply({"", AddBeside{"k_proj", "norm", {.rows = 1, .plus = 2, .per_head = true}, true, SplitLike::kRows}});
  REQUIRE(model.tensors.size() == 3);
  const TensorGroup& norm = model.tensors.back();
  CHECK(norm.module == "model.layers.*.self_attn.k_proj.norm");
  CHECK(norm.rows == 1024 / 8 + 2);
  CHECK(norm.layers == keys().layers);
  CHECK(norm.split == Split::kRows);
  CHECK((norm.is_float32 && norm.is_derived));
}

TEST_CASE("tensor edits: tensors of some layers are put in all of them once") {
  Edited model;
  model.tensors = {keys(), keys(), keys(Component::kMtp)};
  model.apply({"", PutInEveryLayer{"k_proj"}});
  REQUIRE(model.tensors.size() == 2);
  CHECK(model.tensors.front().layers == std::vector<LayerRun>{{0, 8, 1}});
}

}  // namespace
}  // namespace kvplan
