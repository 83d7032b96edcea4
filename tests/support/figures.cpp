#include "support/figures.h"

#include <fstream>
#include <sstream>
#include <stdexcept>

#include "models/family.h"
#include "models/gguf_archs.h"
#include "sources/load.h"

namespace kvplan {

std::uint64_t elements(const Mixer& mixer, std::uint64_t tokens, std::uint64_t source_tokens, Form form) {
  std::uint64_t out = 0;
  for (const Term& term : cache_terms(mixer, form))
    out += term.elements().count() * term.entries(Tokens(tokens), Tokens(source_tokens));
  return out;
}

std::uint64_t bytes(const Mixer& mixer, std::uint64_t tokens, const CacheTypes& types, std::uint64_t source_tokens) {
  std::uint64_t out = 0;
  for (const Term& term : cache_terms(mixer))
    out += entry_bytes(term, types).count() * term.entries(Tokens(tokens), Tokens(source_tokens));
  return out;
}

Figures figures(const ModelSpec& model, std::uint64_t tokens, const CacheTypes& types) {
  // A multiple of every stride, beyond every window.
  constexpr std::uint64_t kFar = std::uint64_t{1} << 30;
  constexpr std::uint64_t kStep = 1 << 10;
  Figures out;
  std::uint64_t step = 0;
  for (const Layer& layer : model.layers)
    for (const Mixer& mixer : layer.mixers) {
      step += bytes(mixer, kFar + kStep, types) - bytes(mixer, kFar, types);
      out.at_length += bytes(mixer, tokens, types, model.source_tokens.count());
      for (const Term& term : cache_terms(mixer))
        if (term.growth == Growth::kSequence) out.per_sequence += entry_bytes(term, types).count();
    }
  out.per_token = step / kStep;
  return out;
}

CacheTypes declared_types(const ModelSpec& model) {
  const Dtype plain = model.dtype == Dtype::kFloat32 ? Dtype::kFloat16 : model.dtype;
  const Dtype kv = model.declared_kv_dtype.value_or(plain);
  return {kv, kv, model.declared_state_dtype.value_or(model.dtype), model.dtype};
}

std::uint64_t layers_of(const ModelSpec& model, std::string_view kind) {
  std::uint64_t out = 0;
  for (const Layer& layer : model.layers)
    for (const Mixer& mixer : layer.mixers)
      if (kind_info(mixer).name == kind) ++out;
  return out;
}

std::string test_file(const std::string& path) {
  std::ifstream file(std::string(KVPLAN_SOURCE_DIR) + "/" + path, std::ios::binary);
  if (!file) throw std::runtime_error("no such file: " + path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

Arch test_arch(std::string_view name) {
  const Family* family = find_family(name);
  const GgufArch* const arch = family == nullptr ? find_gguf_arch(name) : nullptr;
  if (family == nullptr)
    family = find_family(arch != nullptr ? gguf_model_type(*arch, name, false) : std::string(name) + "_text");
  return family == nullptr ? Arch::kOther : family->is.id;
}

ModelSpec parse_model(std::string_view config, const std::string& beside) {
  return read_config(config, beside, "test", {});
}

ModelSpec test_model(const std::string& name) {
  return read_config(test_file("testdata/configs/" + name + ".json"), "", name, {});
}
ModelSpec observed_model(const std::string& name) {
  return read_config(test_file("testdata/observations/models/" + name + ".json"), "", name, {});
}

}  // namespace kvplan
