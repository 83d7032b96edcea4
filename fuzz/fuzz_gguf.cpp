// The GGUF container and the architectures: any bytes become a model with terms, or an Error.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "answer.h"
#include "formulas/model.h"
#include "kvplan/error.h"
#include "kvplan/ggml_types.h"
#include "models/read.h"
#include "sources/load.h"

namespace {

using kvplan::fuzz::answer;
void count_everything(const kvplan::ModelSpec& model) {
  kvplan::model_attention(model);
  for (const kvplan::LayerGroup& group : kvplan::group_layers(model)) {
    kvplan::index_ranges(group.indices);
    answer([&] { kvplan::symbols(*group.mixer); });
    answer([&] { kvplan::macs_per_entry(*group.mixer); });
    answer([&] {
      for (const kvplan::Term& term : kvplan::cache_terms(*group.mixer)) answer([&] { term.elements(); });
    });
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  answer([&] {
    const kvplan::Gguf file = kvplan::Gguf::parse(std::as_bytes(std::span(data, size)));
    for (const kvplan::GgufTensor& tensor : file.tensors())
      if (const auto type = kvplan::find_ggml_type(tensor.type))
        answer([&] { kvplan::tensor_bytes(*type, tensor.shape()); });
    for (const std::string_view key : file.keys()) {
      answer([&] { file.count(key); });
      answer([&] { file.counts(key); });
      answer([&] { file.text(key); });
    }
    answer([&] { kvplan::read_gguf_adapter(file); });
    answer([&] { kvplan::read_gguf_projector(file); });
    for (const bool assume : {false, true})
      answer([&] { count_everything(kvplan::read_gguf(file, "fuzz", {assume})); });
  });
  return 0;
}
