// A kind of attention is a plain struct of dimensions. It knows no engine, no JSON and no bytes. It yields terms
// (counts of elements) and tensors, and explains where they come from.
#pragma once

#include <concepts>
#include <vector>

#include "kvplan/kind.h"
#include "kvplan/terms.h"

namespace kvplan {

class Projections;  // formulas/projections.h

// Each kind has a row in the table of kinds, `kInfo` (or several rows, and `info()` to choose one), `terms` (the cache
// of one layer), `symbols`, and `project` (the tensors of one layer). Some kinds have `variant`, the recurrence's name,
// and `macs_per_entry`, the multiply-adds of a decoded token per cached entry that it attends to.
template <class K>
concept AttentionKind = std::equality_comparable<K> && requires(const K kind, Form form, Projections& out) {
  { K::kInfo[0] } -> std::convertible_to<const KindInfo&>;
  { kind.terms(form) } -> std::same_as<CacheTerms>;
  { kind.symbols() } -> std::same_as<std::vector<Symbol>>;
  { kind.project(out) } -> std::same_as<void>;
};

}  // namespace kvplan
