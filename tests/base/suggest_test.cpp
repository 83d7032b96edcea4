#include "kvplan/strings.h"

#include <doctest/doctest.h>

#include <array>
#include <string>

namespace kvplan {
namespace {

TEST_CASE("suggest: edit distance") {
  CHECK(edit_distance("", "") == 0);
  CHECK(edit_distance("kitten", "sitting") == 3);
  CHECK(edit_distance("abcd", "acbd") == 1);  // a swap
  CHECK(edit_distance("RTX-4090", "rtx 4090") == 0);
  CHECK(edit_distance("", "abc") == 3);
  CHECK(edit_distance(std::string(100000, 'a'), std::string(100000, 'a') + "b") == 0);  // bounded
}

TEST_CASE("suggest: the nearest names, each once") {
  constexpr std::array known{Candidate{"vllm", "vllm"}, Candidate{"sglang", "sglang"},
                             Candidate{"llama.cpp", "llama.cpp"}, Candidate{"llamacpp", "llama.cpp"},
                             Candidate{"ollama", "ollama"}};
  CHECK(nearest_names("vlm", known, 1).front() == "vllm");
  CHECK(nearest_names("llama", known, 1).front() == "llama.cpp");
  CHECK(nearest_names("llamacp", known, 5).size() == 4);
  CHECK(nearest_names("x", {}, 3).empty());
}

}  // namespace
}  // namespace kvplan
