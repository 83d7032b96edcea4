// Valid headers, and headers with false claims.
#include "formats/safetensors.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "kvplan/error.h"
#include "sources/load.h"

namespace kvplan {
namespace {

std::uint64_t bytes_of(const std::string& header, std::uint64_t data) {
  std::uint64_t sum = 0;
  parse_safetensors_header(header, data, [&](const SafeTensor& tensor) { sum += tensor.bytes; });
  return sum;
}

TEST_CASE("a header gives the bytes of each tensor") {
  const std::string header =
      R"({"__metadata__":{"format":"pt"},"a":{"dtype":"BF16","shape":[2,3],"data_offsets":[0,12]},)"
      R"("b":{"dtype":"F8_E4M3","shape":[],"data_offsets":[12,13]},"c":{"dtype":"F32","shape":[0,4],"data_offsets":[13,13]}}  )";
  CHECK(bytes_of(header, 13) == 13);
}

TEST_CASE("headers with false sizes are errors") {
  const auto lie = [](const std::string& tensor, std::uint64_t data) {
    return bytes_of("{\"a\":" + tensor + "}", data);
  };
  CHECK_THROWS_AS(lie(R"({"dtype":"BF16","shape":[2,3],"data_offsets":[0,12]})", 8), Error);
  CHECK_THROWS_AS(lie(R"({"dtype":"BF16","shape":[2,3],"data_offsets":[0,10]})", 16), Error);
  CHECK_THROWS_AS(lie(R"({"dtype":"BF16","shape":[2,3],"data_offsets":[12,0]})", 16), Error);
  CHECK_THROWS_AS(lie(R"({"dtype":"BF17","shape":[2],"data_offsets":[0,4]})", 16), Error);
  CHECK_THROWS_AS(lie(R"({"dtype":"BF16","shape":[-2],"data_offsets":[0,4]})", 16), Error);
  CHECK_THROWS_AS(lie(R"({"dtype":"BF16","shape":[4611686018427387904,4611686018427387904],"data_offsets":[0,4]})", 16),
                  Error);
  CHECK_THROWS_AS(lie(R"({"dtype":"BF16","data_offsets":[0,4]})", 16), Error);
  CHECK_THROWS_AS(lie(R"([1,2])", 16), Error);
  CHECK_THROWS_AS(bytes_of("[]", 0), Error);
  CHECK_THROWS_AS(bytes_of(R"({"a":)", 0), Error);
  // Two tensors that share bytes.
  CHECK_THROWS_AS(
      bytes_of(
          R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"b":{"dtype":"U8","shape":[4],"data_offsets":[2,6]}})",
          6),
      Error);
}

TEST_CASE("the length of a header is within its file") {
  const std::vector<std::byte> claim(8, std::byte{0xff});
  CHECK_THROWS_AS(parse_safetensors(claim, 1000, [](const SafeTensor&) {}), Error);
  CHECK_THROWS_AS(parse_safetensors(std::span(claim).first(4), 4, [](const SafeTensor&) {}), Error);
}

TEST_CASE("an index names files beside it") {
  const SafetensorsIndex index = parse_safetensors_index(
      R"({"metadata":{"total_size":7},"weight_map":{"a":"x.safetensors","b":"x.safetensors"}})");
  CHECK(index.total_size == 7);
  CHECK(index.files == std::vector<std::string>{"x.safetensors"});
  CHECK_THROWS_AS(parse_safetensors_index(R"({"weight_map":{"a":"../x.safetensors"}})"), Error);
  CHECK_THROWS_AS(parse_safetensors_index(R"({"weight_map":[]})"), Error);
  for (const char* bad : {R"({"weight_map":{"a":7}})", R"({"weight_map":{"a":null}})", R"({"weight_map":{"a":["x"]}})",
                          R"({"weight_map":{"a":{"b":"x"}}})", R"({"weight_map":{"a":"x"})", R"([{"weight_map":{}}])",
                          R"({"metadata":{"weight_map":{"a":"x"}}})", "", "7"}) {
    CAPTURE(bad);
    CHECK_THROWS_AS(parse_safetensors_index(bad), Error);
  }
  // Other keys of an index are ignored.
  const SafetensorsIndex more = parse_safetensors_index(
      R"({"x":[{"weight_map":{"a":9}}],"weight_map":{"b":"2.safetensors","a":"1.safetensors","c":"2.safetensors"},
          "metadata":{"total_size":8.0,"in":{"total_size":9}},"total_size":10})");
  CHECK(more.files == std::vector<std::string>{"1.safetensors", "2.safetensors"});
  CHECK(more.total_size == 8);
}

TEST_CASE("names have components") {
  CHECK(component_of("model.embed_tokens.weight", 4) == Component::kEmbedding);
  CHECK(component_of("model.layers.3.mlp.experts.7.down_proj.weight", 4) == Component::kExperts);
  CHECK(component_of("model.layers.3.mlp.shared_experts.down_proj.weight", 4) == Component::kSharedExperts);
  CHECK(component_of("model.layers.3.mlp.gate.weight", 4) == Component::kRouter);
  CHECK(component_of("model.layers.4.self_attn.q_proj.weight", 4) == Component::kMtp);
  CHECK(component_of("model.layers.0.input_layernorm.weight", 4) == Component::kNorms);
  CHECK(component_of("lm_head.weight", 4) == Component::kLmHead);
}

}  // namespace
}  // namespace kvplan
