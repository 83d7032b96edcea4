// Specs, groups and blocks of vLLM, rule by rule: arithmetic of v1/kv_cache_interface.py, v1/core/kv_cache_utils.py and
// model_executor/layers/mamba/mamba_utils.py, with the figures that follow from them for published models.
#include "engines/vllm/groups.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "engines/requests.h"
#include "engines/vllm/rules.h"
#include "engines/vllm/vllm.h"
#include "kvplan/error.h"

namespace kvplan {
namespace {

VllmSpec spec_of(SpecType type, std::uint64_t layer, std::uint64_t block, std::uint64_t page,
                 std::uint64_t window = 0) {
  VllmSpec out;
  out.type = type;
  out.layer = layer;
  out.block_size = block;
  out.window = window;
  out.entry = out.page = out.padded = Bytes(page);
  return out;
}

// Appends `count` specs.
void append(std::vector<VllmSpec>& specs, std::size_t count, const VllmSpec& like) {
  for (std::size_t i = 0; i < count; ++i) {
    specs.push_back(like);
    specs.back().layer = specs.size() - 1;
  }
}

VllmRules rules_of(const char* engine) {
  return vllm_rules(request_for(engine, 1));
}

std::vector<std::size_t> lengths(const VllmGroups& groups) {
  std::vector<std::size_t> out;
  for (const VllmGroup& group : groups.groups) out.push_back(group.members.size());
  return out;
}

constexpr std::uint64_t kAll = ~std::uint64_t{0};

TEST_CASE("vllm rules: prefixes are cached by default since V1") {
  const auto caches = [](const char* engine) {
    EngineInput input;
    input.request = request_for(engine, 1);
    return vllm_caches_prefixes(input, false, rules_of(engine));
  };
  CHECK(caches("vllm@0.9"));  // 0.9.0, arg_utils.py: _set_default_args_v1
  CHECK_FALSE(caches("vllm@0.8"));
}

TEST_CASE("vllm groups: layers with the same specs form one group") {
  // UniformTypeKVCacheSpecs.is_uniform_type: full attention of any width, latents together with index keys, windows of
  // one width, states of one size.
  struct Row {
    VllmSpec first, second;
    bool uniform;
  };
  const Row rows[] = {
      {spec_of(SpecType::kFull, 0, 16, 100), spec_of(SpecType::kFull, 1, 16, 100), true},
      {spec_of(SpecType::kMla, 0, 64, 1152), spec_of(SpecType::kMla, 1, 64, 132), true},
      {spec_of(SpecType::kFull, 0, 64, 1152), spec_of(SpecType::kMla, 1, 64, 132), true},
      {spec_of(SpecType::kFull, 0, 16, 100), spec_of(SpecType::kFull, 1, 32, 100), false},
      {spec_of(SpecType::kFull, 0, 16, 100), spec_of(SpecType::kSliding, 1, 16, 100, 128), false},
      {spec_of(SpecType::kSliding, 0, 16, 100, 128), spec_of(SpecType::kSliding, 1, 16, 200, 128), true},
      {spec_of(SpecType::kSliding, 0, 16, 100, 128), spec_of(SpecType::kSliding, 1, 16, 100, 256), false},
      {spec_of(SpecType::kSliding, 0, 16, 100, 128), spec_of(SpecType::kChunked, 1, 16, 100, 128), false},
      {spec_of(SpecType::kSliding, 0, 16, 100, 128), spec_of(SpecType::kFull, 1, 16, 100), false},
      {spec_of(SpecType::kState, 0, 0, 100), spec_of(SpecType::kState, 1, 0, 100), true},
      {spec_of(SpecType::kState, 0, 0, 100), spec_of(SpecType::kState, 1, 0, 200), false},
  };
  for (std::size_t i = 0; i < std::size(rows); ++i) {
    CAPTURE(i);
    std::vector<VllmSpec> specs{rows[i].first, rows[i].second};
    const VllmGroups groups = group_specs(specs, rules_of("vllm"));
    CHECK((groups.pool == Pool::kUniform) == rows[i].uniform);
    CHECK(groups.groups.size() == (rows[i].uniform ? 1 : 2));
  }
  std::vector<VllmSpec> none;
  CHECK(group_specs(none, rules_of("vllm")).pool == Pool::kNone);
}

TEST_CASE(
    "vllm groups: a group has as many layers as the rarest kind, or as the most common one if the counts are close") {
  struct Row {
    std::size_t full, sliding;
    const char* engine;
    std::vector<std::size_t> lengths;
    std::uint64_t padding;
  };
  // Gemma-3-27B: 10 full layers and 52 windows are 7 groups of 10, with 8 empty slots (a log prints 8 of 52). Each kind
  // is one group if max < 1.5 * min (1.25 before 0.18).
  const Row rows[] = {
      {12, 12, "vllm", {12, 12}, 0},      {10, 52, "vllm", {10, 9, 9, 9, 9, 8, 8}, 8},
      {10, 14, "vllm", {10, 14}, 4},      {10, 15, "vllm", {10, 8, 7}, 5},
      {10, 12, "vllm@0.17", {10, 12}, 2}, {10, 13, "vllm@0.17", {10, 7, 6}, 7},
      {10, 13, "vllm@0.18", {10, 13}, 3}, {5, 25, "vllm", {5, 5, 5, 5, 5, 5}, 0},
  };
  for (const Row& row : rows) {
    CAPTURE(row.full);
    CAPTURE(row.sliding);
    std::vector<VllmSpec> specs;
    append(specs, row.full, spec_of(SpecType::kFull, 0, 16, 1000));
    append(specs, row.sliding, spec_of(SpecType::kSliding, 0, 16, 1000, 128));
    const VllmGroups groups = group_specs(specs, rules_of(row.engine));
    CHECK(groups.pool == Pool::kPaged);
    CHECK(lengths(groups) == row.lengths);
    // Layers are distributed in steps: the first group of the second kind has its layers 0, k, 2k ...
    const std::size_t ways = row.lengths.size() - 1;
    CHECK(groups.groups[1].members[1] - groups.groups[1].members[0] == ways);
    CHECK(groups.groups[1].members[0] == row.full);
    // A block has as many pages as the longest group has layers.
    const std::size_t longest = *std::max_element(row.lengths.begin(), row.lengths.end());
    CHECK(stage_pool(specs, groups, 0, kAll).block == Bytes(1000 * longest));
    CHECK(stage_pool(specs, groups, 0, kAll).slots.size() == longest);
  }
}

TEST_CASE("vllm groups: pages become as large as the largest") {
  // Gemma-4: a full layer of 2 heads of 512 and a window of 8 of 256 have 8192 and 16384 B per token of 16: the smaller
  // page covers 32 tokens.
  std::vector<VllmSpec> specs{spec_of(SpecType::kFull, 0, 16, 65536), spec_of(SpecType::kSliding, 1, 16, 131072, 1024)};
  group_specs(specs, rules_of("vllm"));
  CHECK(specs[0].block_size == 32);
  CHECK(specs[0].page == Bytes(131072));
  CHECK(specs[0].padded == Bytes(131072));
  CHECK(specs[1].block_size == 16);
  // A page that does not divide the largest is padded since 0.24 (indexes_kv_by_block_stride), and refused before.
  // Latents are always refused.
  specs = {spec_of(SpecType::kFull, 0, 16, 60000), spec_of(SpecType::kSliding, 1, 16, 131072, 1024)};
  group_specs(specs, rules_of("vllm@0.24"));
  CHECK(specs[0].block_size == 16);
  CHECK(specs[0].page == Bytes(60000));
  CHECK(specs[0].padded == Bytes(131072));
  specs[0].padded = Bytes(60000);
  CHECK_THROWS_AS(group_specs(specs, rules_of("vllm@0.23")), Error);
  specs = {spec_of(SpecType::kMla, 0, 16, 60000), spec_of(SpecType::kSliding, 1, 16, 131072, 1024)};
  CHECK_THROWS_AS(group_specs(specs, rules_of("vllm")), Error);
  // States are padded in every release, even if their page divides the largest.
  specs = {spec_of(SpecType::kState, 0, 0, 65536), spec_of(SpecType::kFull, 1, 16, 131072)};
  group_specs(specs, rules_of("vllm@0.19"));
  CHECK(specs[0].block_size == 0);
  CHECK(specs[0].page == Bytes(65536));
  CHECK(specs[0].padded == Bytes(131072));
}

TEST_CASE("vllm groups: DeepSeek-V4-Flash packs five groups into one block") {
  // 43 layers: 2 with only a window, 21 of ratio 4, 20 of ratio 128. Pages of fp8_ds_mla in whole 576 B: windows 64 *
  // 584 -> 37,440; ratio 4: entries 37,440, index keys 8,640, states 32,832 and 8,640; ratio 128: 1,728 and 32,832.
  const auto grouped = [](std::vector<VllmSpec>& specs) {
    for (VllmSpec& spec : specs)
      if (spec.type == SpecType::kMla) spec.stride = 4;  // entries for several tokens
    return group_specs(specs, rules_of("vllm"));
  };
  std::vector<VllmSpec> specs;
  for (std::uint64_t layer = 0; layer < 43; ++layer) {
    const bool short_ratio = layer >= 2 && layer < 23;
    const bool long_ratio = layer >= 23;
    if (short_ratio) specs.push_back(spec_of(SpecType::kMla, layer, 256, 37440));
    if (short_ratio) specs.push_back(spec_of(SpecType::kMla, layer, 256, 8640));
    if (long_ratio) specs.push_back(spec_of(SpecType::kMla, layer, 256, 1728));
    specs.push_back(spec_of(SpecType::kSlidingMla, layer, 64, 37440, 128));
    if (short_ratio) specs.push_back(spec_of(SpecType::kSlidingMla, layer, 4, 32832, 8));
    if (short_ratio) specs.push_back(spec_of(SpecType::kSlidingMla, layer, 4, 8640, 8));
    if (long_ratio) specs.push_back(spec_of(SpecType::kSlidingMla, layer, 8, 32832, 128));
  }
  const VllmGroups groups = grouped(specs);
  CHECK(groups.pool == Pool::kPacked);
  CHECK(lengths(groups) == std::vector<std::size_t>{62, 22, 21, 42, 20});
  // States of 32,832 B are in pages of 37,440.
  std::set<Bytes> pages;
  for (const VllmSpec& spec : specs) pages.insert(spec.padded);
  CHECK(pages == std::set<Bytes>{Bytes(1728), Bytes(8640), Bytes(37440)});
  const StagePool pool = stage_pool(specs, groups, 0, kAll);
  // The pages of the widest group: entries and index keys. Before, a block had as many pages of each size as any group.
  CHECK(pool.block == Bytes(21 * 37440 + 21 * 8640 + 20 * 1728));
  VllmGroups older = groups;
  older.is_checked_whole = false;
  CHECK(stage_pool(specs, older, 0, kAll).block == pool.block);
  CHECK(stage_pool(specs, older, 0, kAll).gate == Bytes(22 * (37440 + 8640 + 1728)));
  older.by_widest_group = false;
  CHECK(stage_pool(specs, older, 0, kAll).block == Bytes(22 * 37440 + 21 * 8640 + 20 * 1728));
  older.by_slots = false;
  const StagePool tuples = stage_pool(specs, older, 0, kAll);
  CHECK(tuples.block == Bytes(22 * (37440 + 8640 + 1728)));
  // The check at start-up counts the pool's bytes a block; until 0.28 whole tuples, 22 of each page, 1,051,776 B.
  CHECK(pool.gate == pool.block);
  CHECK(pool.slots.size() == 62);
  CHECK(tuples.gate == Bytes(22 * (37440 + 8640 + 1728)));
  CHECK(tuples.slots.size() == 66);
  // A stage has its own layers of the groups. The first 23 layers have no page of ratio 128.
  const StagePool first = stage_pool(specs, groups, 0, 23);
  CHECK(first.gate == Bytes(21 * (37440 + 8640)));
  // The length with the least padding: 10 entries and 39 windows are groups of 10, four of them for the windows.
  std::vector<VllmSpec> uneven;
  append(uneven, 10, spec_of(SpecType::kMla, 0, 256, 37440));
  append(uneven, 39, spec_of(SpecType::kSlidingMla, 0, 64, 37440, 128));
  CHECK(lengths(grouped(uneven)) == std::vector<std::size_t>{10, 10, 10, 10, 9});
  // A state that is larger than every page cannot be packed.
  std::vector<VllmSpec> large{spec_of(SpecType::kMla, 0, 256, 37440), spec_of(SpecType::kSlidingMla, 0, 4, 37441, 8)};
  CHECK_THROWS_AS(grouped(large), Error);
}

TEST_CASE("vllm groups: the blocks that are counted for a request") {
  // max_memory_usage_bytes / page_size_bytes, blocks of 16, 8192 tokens in flight.
  ChargeRules charge;
  const auto blocks = [&](const VllmSpec& spec, std::uint64_t tokens) {
    return charged_blocks(spec, charge, Load{Tokens(tokens), 1, Tokens(1500)});
  };
  const VllmSpec full = spec_of(SpecType::kFull, 0, 16, 100);
  CHECK(blocks(full, 16) == 1);
  CHECK(blocks(full, 17) == 2);
  CHECK(blocks(full, 131072) == 8192);
  // ceil(min(W - 1 + F, L) / block) + 1.
  const VllmSpec window = spec_of(SpecType::kSliding, 0, 16, 100, 1024);
  CHECK(blocks(window, 100) == 7 + 1);
  CHECK(blocks(window, 131072) == 576 + 1);  // 9215 tokens
  CHECK(blocks(spec_of(SpecType::kSliding, 0, 16, 100, 1026), 131072) == 577 + 1);
  CHECK(blocks(spec_of(SpecType::kSlidingMla, 0, 64, 100, 128), 131072) == 130 + 1);  // 8319 tokens
  // Chunks begin where blocks begin: ceil(min(C + F, L) / block).
  const VllmSpec chunk = spec_of(SpecType::kChunked, 0, 16, 100, 8192);
  CHECK(blocks(chunk, 131072) == 1024);
  CHECK(blocks(chunk, 100) == 7);
  CHECK(blocks(spec_of(SpecType::kCross, 0, 16, 100), 131072) == 94);  // 1500 source tokens
  // Blocks that the tokens fill, without those of a batch in flight.
  CHECK(filled_blocks(window, charge, Load{Tokens(131072), 1, Tokens(0)}) == 64);
  CHECK(filled_blocks(window, charge, Load{Tokens(100), 1, Tokens(0)}) == 7);
  CHECK(filled_blocks(chunk, charge, Load{Tokens(131072), 1, Tokens(0)}) == 512);
  // States: 1 + S, 2 + S with prefix caching; one for each block in mode all.
  VllmSpec state = spec_of(SpecType::kState, 0, 0, 100);
  CHECK(blocks(state, 131072) == 1);
  charge.state_slots = 4;
  CHECK(blocks(state, 131072) == 4);
  charge.mamba_mode = MambaMode::kAll;
  charge.extra_slots = 2;
  state.block_size = 256;
  CHECK(blocks(state, 131073) == 513 + 2);
  CHECK(filled_blocks(state, charge, Load{Tokens(131072), 1, Tokens(0)}) == 1);
  // Decode context parallelism: a rank has its part of the tokens, rounded up. Windows and states are whole.
  charge.context_ranks = 4;
  CHECK(blocks(full, 131072 + 1) == 2049);
  CHECK(blocks(window, 131072) == 577);
}

TEST_CASE("vllm groups: bytes that tokens fill, without rounding to blocks") {
  ChargeRules charge;
  const auto bytes = [&](const VllmSpec& spec, std::uint64_t tokens) {
    return filled_bytes(spec, charge, Load{Tokens(tokens), 1, Tokens(1500)}).count();
  };
  CHECK(bytes(spec_of(SpecType::kFull, 0, 16, 100), 1003) == 100300);
  CHECK(bytes(spec_of(SpecType::kSliding, 0, 16, 100, 128), 1003) == 12800);
  CHECK(bytes(spec_of(SpecType::kSliding, 0, 16, 100, 128), 77) == 7700);
  CHECK(bytes(spec_of(SpecType::kCross, 0, 16, 100), 1003) == 150000);
  CHECK(bytes(spec_of(SpecType::kState, 0, 0, 100), 1003) == 100);
  VllmSpec strided = spec_of(SpecType::kMla, 0, 256, 100);
  strided.stride = 4;  // only whole entries of four tokens
  CHECK(bytes(strided, 1003) == 25000);
  charge.context_ranks = 4;
  CHECK(bytes(spec_of(SpecType::kFull, 0, 16, 100), 1003) == 25100);
  CHECK(bytes(spec_of(SpecType::kSliding, 0, 16, 100, 500), 1003) == 50000);
}

// Groups and bytes of a block that vLLM 0.33 gave, executed: testdata/conformance/vllm-0.33.0.jsonl.
TEST_CASE("vllm groups: rings and windows of latents have blocks with all layers") {
  const VllmRules rules = rules_of("vllm@0.33");
  struct Row {
    const char* model;
    std::vector<std::pair<std::size_t, VllmSpec>> layers;
    std::vector<std::size_t> groups;
    std::uint64_t block;
  };
  using enum SpecType;
  VllmSpec rows_of_latents = spec_of(kMla, 0, 4352, 4456448);
  rows_of_latents.alignment = Bytes(1024);
  VllmSpec rows_of_keys = spec_of(kMla, 0, 4352, 143616);
  rows_of_keys.alignment = Bytes(64 * 132);
  VllmSpec whole = spec_of(kState, 0, 832, 1703936);
  whole.replicated = true;
  const Row rows[] = {
      {"dots3-note",
       {{13, spec_of(kMla, 0, 64, 8448)},
        {13, spec_of(kMla, 0, 64, 139264)},
        {33, spec_of(kSlidingMla, 0, 64, 139264, 512)}},
       {26, 17, 16},
       2367488},
      {"glm-5.3-flash",
       {{34, spec_of(kState, 0, 4352, 4456448)},
        {11, rows_of_keys},
        {11, rows_of_latents},
        {11, spec_of(kRing, 0, 4, 2048)}},
       {9, 9, 8, 8, 22, 11},
       50620416},
      {"deepseek-v4.1-flash",
       {{40, spec_of(kSlidingMla, 0, 32, 19008, 128)},
        {3, spec_of(kMla, 0, 64, 19008)},
        {3, spec_of(kMla, 0, 64, 4608)},
        {1, spec_of(kMla, 0, 64, 37440)},
        {1, spec_of(kMla, 0, 64, 8640)},
        {3, spec_of(kRing, 0, 8, 32768)}},
       {6, 6, 6, 6, 6, 5, 5, 8, 3},
       116928},
      {"qwen3.8-flash-next",
       {{36, spec_of(kState, 0, 832, 1703936)},
        {1, whole},
        {12, spec_of(kRing, 0, 4, 1120)},
        {12, spec_of(kMla, 0, 832, 53248)},
        {12, spec_of(kFull, 0, 832, 1703936)}},
       {12, 12, 12, 1, 12, 24},
       21086208},
  };
  for (const Row& row : rows) {
    CAPTURE(row.model);
    std::vector<VllmSpec> specs;
    for (const auto& [count, spec] : row.layers) append(specs, count, spec);
    const VllmGroups groups = group_specs(specs, rules);
    CHECK(lengths(groups) == row.groups);
    CHECK(stage_pool(specs, groups, 0, kAll).block == Bytes(row.block));
  }
}

}  // namespace
}  // namespace kvplan
