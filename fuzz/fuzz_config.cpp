// The config reader and the formulas: any bytes become a model with terms, or an Error. A line "---" separates
// config.json from the hf_quant_config.json next to it.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "answer.h"
#include "formulas/model.h"
#include "kvplan/error.h"
#include "kvplan/storage.h"
#include "sources/load.h"

namespace {

using kvplan::CacheTypes;
using kvplan::Dtype;
using kvplan::fuzz::answer;

constexpr std::string_view kSeparator = "\n---\n";
constexpr CacheTypes kTypes[] = {
    {Dtype::kBfloat16, Dtype::kBfloat16, Dtype::kFloat32, Dtype::kBfloat16},
    {Dtype::kFp8DsMla, Dtype::kFp8DsMla, Dtype::kBfloat16, Dtype::kBfloat16},
    {Dtype::kQ8_0, Dtype::kQ4_0, Dtype::kFloat32, Dtype::kFloat32},
    {Dtype::kTurboquant3bit, Dtype::kTurboquant3bit, Dtype::kFloat16, Dtype::kFloat16},
};

void count_everything(const kvplan::ModelSpec& model) {
  kvplan::model_attention(model);
  const kvplan::Tokens tokens = model.max_model_len;
  for (const kvplan::LayerGroup& group : kvplan::group_layers(model)) {
    kvplan::index_ranges(group.indices);
    answer([&] { kvplan::symbols(*group.mixer); });
    answer([&] { kvplan::macs_per_entry(*group.mixer); });
    for (const kvplan::Form form : {kvplan::Form::kCompact, kvplan::Form::kExpanded})
      answer([&] {
        for (const kvplan::Term& term : kvplan::cache_terms(*group.mixer, form)) {
          const std::uint64_t entries = term.entries(tokens, model.source_tokens);
          answer([&] { term.elements(); });
          for (const CacheTypes& types : kTypes) answer([&] { kvplan::entry_bytes(term, types) * entries; });
        }
      });
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto cut = text.find(kSeparator);
  const std::string_view beside = cut == std::string_view::npos ? "" : text.substr(cut + kSeparator.size());
  for (const bool assume : {false, true})
    answer([&] { count_everything(kvplan::read_config(text.substr(0, cut), beside, "fuzz", {assume})); });
  return 0;
}
