#include "formulas/chunked.h"

namespace kvplan {

std::vector<Symbol> Chunked::symbols() const {
  std::vector<Symbol> out = head_symbols(heads);
  out.push_back({"C", chunk.count(), "attention_chunk_size"});
  return out;
}

}  // namespace kvplan
