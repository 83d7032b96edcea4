#include "formulas/pooled_index.h"

namespace kvplan {

void add_index_terms(CacheTerms& out, std::uint64_t width, Storage storage, std::uint64_t pool,
                     std::uint64_t vectors_of_open_group) {
  Term index{.name = "index key", .role = Role::kIndex};
  index.shape.width = width;
  index.storage = storage;
  index.stride = pool;
  out.push_back(index);
  if (pool <= 1) return;
  Term open{.name = "open index group", .role = Role::kState};
  open.shape = {.units = 1, .vectors = vectors_of_open_group, .width = width};
  open.limit = {LimitKind::kWindow, Tokens(pool), Tokens(0)};
  open.storage = Storage::kModel;
  out.push_back(open);
}

}  // namespace kvplan
