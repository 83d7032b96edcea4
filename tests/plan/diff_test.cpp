#include "plan/questions.h"

#include <doctest/doctest.h>

#include <chrono>

#include "kvplan/error.h"
#include "plan/plan.h"
#include "report/report.h"
#include "sources/load.h"

using namespace kvplan;

namespace {

std::string plan_text(std::string_view kv_heads) {
  const std::string config =
      R"({"model_type":"llama","hidden_size":4096,"intermediate_size":11008,"num_hidden_layers":32,)"
      R"("num_attention_heads":32,"vocab_size":32000,"max_position_embeddings":4096,)"
      R"("torch_dtype":"float16","num_key_value_heads":)" +
      std::string(kv_heads) + "}";
  const ModelSpec model = read_config(config, "", "config.json", {});
  return reply_of(make_plan(model, {})).json();
}

}  // namespace

TEST_CASE("diff: KV heads 8 -> 32 are 1.5 GiB at 4,096 tokens of Llama-2-7B's shape") {
  // 2 * 32 layers * 128 * 2 B = 16,384 B per token and head: 24 heads more * 4,096 tokens = 1.5 GiB.
  const PlanDiff diff = diff_plans(parse_plan(plan_text("8"), "old"), parse_plan(plan_text("32"), "new"));
  REQUIRE(!diff.values.empty());
  CHECK(diff.values.front().key == "num_key_value_heads");
  CHECK(diff.values.front().before == "8");
  CHECK(diff.values.front().after == "32");
  bool seen = false;
  for (const MemoryChange& change : diff.memory) {
    if (change.part != "kv_cache") continue;
    seen = true;
    CHECK(change.difference() == 1610612736);
  }
  CHECK(seen);
  CHECK(diff.before.bytes_per_token == 131072);
  const auto too_much = [](const GrowthLimit& limit) {
    return diff_plans(parse_plan(plan_text("8"), "old"), parse_plan(plan_text("32"), "new"), limit).is_too_much;
  };
  CHECK(too_much({Bytes(std::uint64_t{1} << 30), std::nullopt}));
  CHECK_FALSE(too_much({Bytes(std::uint64_t{4} << 30), std::nullopt}));
  CHECK(too_much({std::nullopt, 1.0}));
}

TEST_CASE("diff: a change in an object is shown by its member, one in a long list by its position") {
  const auto digest = [](std::string_view bits, std::string_view last) {
    std::string text = plan_text("8");
    const std::string mark = "\"config\": [";
    std::string layers = "\"full_attention\"";
    for (int i = 0; i < 60; ++i) layers += ",\"sliding_attention\"";
    text.insert(text.find(mark) + mark.size(),
                R"({"key":"quantization_config","origin":"file","value":{"group":{"bits":)" + std::string(bits) +
                    R"(},"method":"awq"}},{"key":"layer_types","origin":"file","value":[)" + layers + ",\"" +
                    std::string(last) + "\"]},");
    return parse_plan(text, "x");
  };
  const PlanDiff diff = diff_plans(digest("4", "sliding_attention"), digest("8", "full_attention"));
  REQUIRE(diff.values.size() == 2);
  CHECK(diff.values[0].key == "quantization_config.group.bits");
  CHECK(diff.values[0].before == "4");
  CHECK(diff.values[0].after == "8");
  CHECK(diff.values[1].key == "layer_types");
  CHECK(diff.values[1].before == "...sliding_attention\",\"sliding_attention\"]");
  CHECK(diff.values[1].after == "...sliding_attention\",\"full_attention\"]");
}

TEST_CASE("diff: an object with more members than the limit of facts is one fact") {
  const auto facts = [](int members) {
    std::string text = plan_text("8");
    const std::string mark = "\"config\": [";
    std::string object = "\"0\":0";
    for (int i = 1; i < members; ++i) object += ",\"" + std::to_string(i) + "\":0";
    text.insert(text.find(mark) + mark.size(), R"({"key":"quantization_config","value":{)" + object + "}},");
    return parse_plan(text, "x").config.size();
  };
  const std::size_t others = facts(1) - 1;
  CHECK(facts(10'000) == 10'000 + others);
  CHECK(facts(10'001) == 1 + others);
}

TEST_CASE("diff: a plan compared with itself has no changes") {
  const PlanDiff diff =
      diff_plans(parse_plan(plan_text("8"), "old"), parse_plan(plan_text("8"), "new"), {Bytes(0), 0.0});
  CHECK(diff.values.empty());
  CHECK(diff.memory.empty());
  CHECK_FALSE(diff.is_too_much);
}

TEST_CASE("diff: a field of a request that only one release writes is not a change") {
  PlanDigest before;
  PlanDigest after;
  before.request = {{"engine", "vllm"}, {"num_seqs", "1"}, {"gone", "3"}};
  after.request = {{"engine", "vllm"}, {"margin", "null"}, {"num_seqs", "2"}};
  const PlanDiff diff = diff_plans(before, after);
  REQUIRE(diff.values.size() == 1);
  CHECK(diff.values.front().key == "num_seqs");
  CHECK(diff.values.front().before == "1");
  CHECK(diff.values.front().after == "2");
}

TEST_CASE("diff: the time grows linearly with the facts") {
  constexpr int kFacts = 200000;
  PlanDigest before;
  PlanDigest after;
  for (int i = 0; i < kFacts; ++i) {
    before.config.emplace_back("key " + std::to_string(i), "1");
    after.config.emplace_back("key " + std::to_string(i + 1), i == kFacts / 2 ? "2" : "1");
  }
  const auto start = std::chrono::steady_clock::now();
  const PlanDiff diff = diff_plans(before, after);
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(10));  // the square takes minutes
  REQUIRE(diff.values.size() == 3);
  CHECK(diff.values[0].key == "key 0");
  CHECK(diff.values[1].key == "key 100001");
  CHECK(diff.values[2].key == "key 200000");
}

TEST_CASE("diff: reading an object takes time in proportion to its keys, and keeps the file's order") {
  std::string text = plan_text("8");
  // The largest number of keys that an unprinted object of a plan may have, and of options that kvplan accepts.
  const auto add_keys = [&](const std::string& object, int count) {
    std::string more = object;
    for (int i = count; i > 0; --i) more += "\"" + std::to_string(i) + "\":1,";
    text.replace(text.find(object), object.size(), more);
  };
  add_keys("\"kv_cache\": {", 100'000);
  add_keys("\"request\": {", 9'000);
  const auto start = std::chrono::steady_clock::now();
  const PlanDigest digest = parse_plan(text, "x");
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(5));  // the square takes a minute
  REQUIRE(digest.request.size() > 9'000);
  CHECK(digest.request.front().first == "9000");
  CHECK(digest.request[9'000].first == "engine");
}

TEST_CASE("diff: a file of many small objects is refused at once") {
  std::string text = R"({"schema_version":1,"plans":[{})";
  for (int i = 0; i < 1000000; ++i) text += ",{}";
  CHECK_THROWS_AS(parse_plan(text + "]}", "x"), Error);
}

TEST_CASE("diff: a file that is not a plan is refused") {
  for (const char* text : {"", "{}", "[]", "hello", R"({"schema_version":2})", R"({"schema_version":1})",
                           R"({"schema_version":1,"plans":[]})", R"({"schema_version":"1"})"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(parse_plan(text, "x"), Error);
  }
}
