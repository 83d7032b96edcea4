// Compares closed forms with a loop: a cache grows token by token, and its bytes are packed element by element.
// Term::entries and entry_bytes must give the same.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "fuzz/random_cache.h"

namespace {

using namespace kvplan;
using namespace kvplan::fuzz;

[[noreturn]] void differ(const Term& term, const char* what, std::uint64_t closed, std::uint64_t loop) {
  std::fprintf(stderr, "%s: %s: closed form %llu, loop %llu\n", std::string(term.name).c_str(), what,
               static_cast<unsigned long long>(closed), static_cast<unsigned long long>(loop));
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Source source(data, size);
  const std::uint64_t tokens = source.below(1200);
  const std::uint64_t source_tokens = source.below(300);
  const Cost& kv = kCosts[source.below(std::size(kCosts))];
  const Cost& state = kCosts[source.below(3)];
  const CacheTypes types{kv.type, kv.type, state.type, Dtype::kBfloat16};
  const Mixer mixer = make_mixer(source);
  const Form form = source.below(2) == 0 ? Form::kCompact : Form::kExpanded;
  for (const Term& term : cache_terms(mixer, form)) {
    const std::uint64_t entries = term.entries(Tokens(tokens), Tokens(source_tokens));
    if (entries != grown(term, tokens, source_tokens))
      differ(term, "entries", entries, grown(term, tokens, source_tokens));

    const Shape& shape = term.shape;
    const std::uint64_t columns = shape.columns > 0 ? shape.columns - 1 : 1;
    std::uint64_t elements = 0;
    for (std::uint64_t i = 0; i < shape.units * shape.vectors * columns; ++i) elements += shape.width;
    if (term.elements().count() != elements) differ(term, "elements", term.elements().count(), elements);

    const std::uint64_t loop = packed(term, kv, state);
    const std::uint64_t bytes = entry_bytes(term, types).count();
    if (bytes != loop) differ(term, "bytes of an entry", bytes, loop);
  }
  return 0;
}
