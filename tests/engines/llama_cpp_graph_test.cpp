// llama.cpp's compute buffers from its graph: ggml's allocator by itself, and whole graphs compared with the library's
// allocations for the same widths.
#include <doctest/doctest.h>

#include "engines/llama_cpp/cache.h"
#include "engines/llama_cpp/compute.h"
#include "engines/llama_cpp/graph_memory.h"
#include "engines/requests.h"
#include "plan/plan.h"

#include "support/figures.h"

namespace kvplan {
namespace {

TEST_CASE("llama.cpp: memory comes from the smallest free block that fits, else from the end") {
  MemoryBlocks blocks(128);
  CHECK(blocks.take(1000) == 0);  // 1024 with padding
  CHECK(blocks.take(128) == 1024);
  CHECK(blocks.take(256) == 1152);
  CHECK(blocks.take(128) == 1408);
  CHECK(blocks.peak() == 1536);
  blocks.give(0, 1000);
  blocks.give(1152, 256);
  // The gap of 256, not the one of 1024.
  CHECK(blocks.take(200) == 1152);
  CHECK(blocks.take(1024) == 0);
  CHECK(blocks.take(1) == 1536);
  // A freed block at the end becomes part of the end, together with adjacent gaps.
  blocks.give(1152, 200);
  blocks.give(1408, 128);
  blocks.give(1536, 1);
  CHECK(blocks.take(2048) == 1152);
  CHECK(blocks.peak() == 3200);
}

TEST_CASE("llama.cpp: an operation reuses its source's memory if nothing else reads it") {
  const Devices one{1};
  const auto peak = [&](bool reads_twice, bool is_view) {
    ComputeGraph graph;
    const TensorId weight = graph.weight(kElementF32, {64, 64, 1, 1}, 0);
    const TensorId x = graph.matrix(weight, graph.cache(kElementF32, {64, 64, 1, 1}, 0));
    const TensorId scaled = graph.unary(is_view ? graph.reshape(x, {4096, 1, 1, 1}) : x);
    graph.expand(scaled);
    if (reads_twice) graph.expand(graph.matrix(weight, x));
    return reserve_graph(graph, one).front();
  };
  CHECK(peak(false, false) == 64 * 64 * 4);
  CHECK(peak(true, false) == 3 * 64 * 64 * 4);
  CHECK(peak(false, true) == 2 * 64 * 64 * 4);
}

TEST_CASE("llama.cpp: a graph without weights is computed on the device with most of its sources") {
  for (const int device : {0, 1}) {
    ComputeGraph graph;
    const TensorId kept = graph.cache(kElementF32, {64, 64, 1, 1}, device);
    graph.expand(graph.matrix(kept, kept));
    std::vector<std::uint64_t> peaks(2, 0);
    peaks[static_cast<std::size_t>(device)] = 64 * 64 * 4;
    CHECK(reserve_graph(graph, Devices{1}) == peaks);
  }
}

TEST_CASE("llama.cpp: views and reshapes that ggml would refuse give no graph") {
  ComputeGraph graph;
  const TensorId x = graph.input(kElementF32, {64, 8, 1, 1});
  CHECK(graph.at(graph.view(x, {32, 8, 1, 1}, graph.at(x).nb)).bytes() == (7 * 64 + 32) * 4);
  CHECK_THROWS_AS(graph.view(x, {64, 9, 1, 1}, graph.at(x).nb), std::out_of_range);
  CHECK_THROWS_AS(graph.view(x, {32, 8, 1, 1}, {8, 256, 2048, 2048}), std::out_of_range);
  CHECK_THROWS_AS(graph.reshape(x, {64, 4, 1, 1}), std::out_of_range);
  CHECK(graph.at(graph.reshape(x, {512, 1, 1, 1})).bytes() == 64 * 8 * 4);
}

// A GGUF's tensors by name: rows x columns, in every layer or outside of them.
struct Tensors {
  std::uint64_t layers;
  std::vector<TensorGroup> all;

  void add(const std::string& name, std::uint64_t rows, std::uint64_t columns, std::uint64_t copies = 1) {
    TensorGroup group;
    group.module = name;
    group.rows = rows;
    group.columns = columns;
    group.copies = copies;
    group.is_expert = copies > 1;
    group.stored_type = "f16";
    if (name.starts_with("blk.")) group.layers = {{0, layers, 1}};
    all.push_back(group);
  }
};

struct Shape {
  std::uint64_t layers, hidden, mlp, vocab, heads, kv, width;
};

Tensors llama_tensors(const Shape& shape) {
  Tensors out{shape.layers, {}};
  out.add("token_embd.weight", shape.vocab, shape.hidden);
  out.add("output.weight", shape.vocab, shape.hidden);
  out.add("output_norm.weight", 1, shape.hidden);
  out.add("blk.*.attn_norm.weight", 1, shape.hidden);
  out.add("blk.*.ffn_norm.weight", 1, shape.hidden);
  out.add("blk.*.attn_q.weight", shape.heads * shape.width, shape.hidden);
  out.add("blk.*.attn_k.weight", shape.kv * shape.width, shape.hidden);
  out.add("blk.*.attn_v.weight", shape.kv * shape.width, shape.hidden);
  out.add("blk.*.attn_output.weight", shape.hidden, shape.heads * shape.width);
  return out;
}

EngineInput input_of(const Shape& shape, const Tensors& tensors, const std::string& engine) {
  EngineInput out;
  out.request = request_for(engine, 8192);
  out.model.is_gguf = true;
  out.model.graph.is_checked = true;
  out.model.num_layers = shape.layers;
  out.model.hidden_size = shape.hidden;
  out.model.intermediate_size = shape.mlp;
  out.model.vocab_size = shape.vocab;
  out.model.num_heads = shape.heads;
  out.model.tensors = tensors.all;
  for (std::uint64_t i = 0; i < shape.layers; ++i)
    out.caches.push_back({i, "gqa", heads(shape.kv, shape.width), heads(shape.kv, shape.width)});
  out.types = {Dtype::kFloat16, Dtype::kFloat16, Dtype::kFloat16, Dtype::kFloat32};
  return out;
}

std::vector<std::uint64_t> buffers(const EngineInput& input, std::uint64_t tokens) {
  const auto out = llama_compute_buffers(input, Load{Tokens(tokens), 1, Tokens(0), false});
  REQUIRE(out.has_value());
  return *out;
}

// Llama-2-7B, executed: v0.5.0 with a GPU that has no layers.
constexpr Shape kLlama2{32, 4096, 11008, 32000, 32, 32, 128};

Tensors llama2() {
  Tensors out = llama_tensors(kLlama2);
  out.add("blk.*.ffn_gate.weight", kLlama2.mlp, kLlama2.hidden);
  out.add("blk.*.ffn_up.weight", kLlama2.mlp, kLlama2.hidden);
  out.add("blk.*.ffn_down.weight", kLlama2.hidden, kLlama2.mlp);
  return out;
}

TEST_CASE("llama.cpp: compute buffers of Llama-2-7B to the byte") {
  const Tensors tensors = llama2();
  EngineInput input = input_of(kLlama2, tensors, "llama.cpp@v0.5.0");
  CHECK(buffers(input, 8192) == std::vector<std::uint64_t>{101197952, 25178144});
  input.request.llama_cpp.flash_attention = FlashAttention::kOff;
  CHECK(buffers(input, 8192) == std::vector<std::uint64_t>{603986048, 50339872});
  input.request.llama_cpp.flash_attention = FlashAttention::kAuto;
  input.types.key = input.types.value = Dtype::kQ8_0;
  CHECK(buffers(input, 16384) == std::vector<std::uint64_t>{318859392, 33648672});
  // The ledger line says so.
  const LedgerLine line =
      llama_cpp_overhead({&input, Load{Tokens(16384), 1, Tokens(0), false}, 0, Bytes(0), std::nullopt, 16}).front();
  CHECK(line.basis == Basis::kExact);
  CHECK(line.bytes == Bytes(318859392));
  CHECK(line.low == line.high);
}

TEST_CASE("llama.cpp: compute buffers of a pipeline, as a run allocates them") {
  // llama.cpp's --fit counts four more copies of the hidden state on the second GPU (227058176), because the norm of
  // its first layer has no device yet. The context itself allocates this:
  const Tensors tensors = llama2();
  EngineInput input = input_of(kLlama2, tensors, "llama.cpp@v0.5.0");
  input.request.parallel.pipeline = 2;
  CHECK(buffers(input, 16384) == std::vector<std::uint64_t>{193503232, 193503744, 83935360});
  EngineInput newer = input_of(kLlama2, tensors, "llama.cpp@b11739");
  newer.request.parallel.pipeline = 2;
  CHECK(buffers(newer, 16384) == std::vector<std::uint64_t>{269017088, 193503744, 151068800});
  const LedgerLine second =
      llama_cpp_overhead({&newer, Load{Tokens(16384), 1, Tokens(0), false}, 1, Bytes(0), std::nullopt, 16}).front();
  CHECK(second.low <= Bytes(193503744));
  CHECK(second.high >= Bytes(227058176));
}

TEST_CASE("llama.cpp: a model with an unknown tensor keeps the estimate") {
  Tensors tensors = llama2();
  tensors.add("blk.*.attn_surprise.weight", 1, 4096);
  const EngineInput input = input_of(kLlama2, tensors, "llama.cpp@v0.5.0");
  const Load load{Tokens(8192), 1, Tokens(0), false};
  CHECK_FALSE(llama_compute_buffers(input, load).has_value());
  const LedgerLine line = llama_cpp_overhead({&input, load, 0, Bytes(0), std::nullopt, 16}).front();
  CHECK(line.basis == Basis::kEstimate);
  CHECK(line.low < line.high);
}

TEST_CASE("llama.cpp: a query narrower than its heads gives no graph") {
  Tensors tensors = llama2();
  for (TensorGroup& group : tensors.all)
    if (group.module == "blk.*.attn_q.weight") group.rows = kLlama2.heads - 1;
  EngineInput input = input_of(kLlama2, tensors, "llama.cpp@v0.5.0");
  input.model.graph.num_heads = kLlama2.heads;
  for (LayerCache& cache : input.caches) cache.compact = cache.expanded = {};  // attention only within the batch
  CHECK_FALSE(llama_compute_buffers(input, Load{Tokens(8192), 1, Tokens(0), false}));
}

TEST_CASE("llama.cpp: --tensor-split distributes layers by shares") {
  Request request = request_for("llama.cpp", 4096);
  request.parallel.pipeline = 2;
  request.llama_cpp.tensor_split = {3, 1};
  const LlamaPlacement placement(request, 32);
  // Of 33 units 24.75 are on the first GPU.
  CHECK(placement.gpu_of(24) == 0);
  CHECK(placement.gpu_of(25) == 1);
  CHECK(placement.gpu_of(32) == 1);
}

}  // namespace
}  // namespace kvplan
