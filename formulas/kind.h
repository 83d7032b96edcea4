// What every attention kind offers. A kind is a plain struct of dimensions. It knows no engine, no JSON and no bytes:
// it yields terms (counts of elements) and tensors, and explains how they come about.
#pragma once

#include <concepts>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "kvplan/kind.h"
#include "kvplan/terms.h"

namespace kvplan {

class Projections;  // formulas/projections.h

template <class K>
concept AttentionKind = std::equality_comparable<K> && requires(const K kind, Form form, Projections& out) {
  // All table rows that this struct can be (multi-head, grouped-query and multi-query attention are one struct).
  { K::infos() } -> std::convertible_to<std::span<const KindInfo>>;
  { kind.info() } -> std::convertible_to<const KindInfo&>;
  // Which recurrence it is, for a struct that has several; else "".
  { kind.variant() } -> std::convertible_to<std::string_view>;
  // The cache of one layer. kExpanded is another form only for MLA.
  { kind.terms(form) } -> std::same_as<CacheTerms>;
  { kind.symbols() } -> std::same_as<std::vector<Symbol>>;
  // The tensors of one layer.
  { kind.project(out) } -> std::same_as<void>;
  // Multiply-adds of a decoded token per cached entry that it attends to.
  { kind.macs_per_entry() } -> std::same_as<std::uint64_t>;
};

}  // namespace kvplan
