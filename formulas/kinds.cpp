#include "formulas/kinds.h"

#include <utility>

namespace kvplan {

const KindInfo& kind_info(const Mixer& mixer) {
  return std::visit([](const auto& kind) -> const KindInfo& { return kind.info(); }, mixer);
}

std::string_view kind_variant(const Mixer& mixer) {
  return std::visit([](const auto& kind) { return std::string_view(kind.variant()); }, mixer);
}

CacheTerms cache_terms(const Mixer& mixer, Form form) {
  return std::visit([form](const auto& kind) { return kind.terms(form); }, mixer);
}

std::vector<Symbol> symbols(const Mixer& mixer) {
  return std::visit([](const auto& kind) { return kind.symbols(); }, mixer);
}

std::uint64_t macs_per_entry(const Mixer& mixer) {
  return std::visit([](const auto& kind) { return kind.macs_per_entry(); }, mixer);
}

namespace {
template <std::size_t... I>
std::vector<KindInfo> rows(std::index_sequence<I...>) {
  std::vector<KindInfo> out;
  const auto append = [&out](std::span<const KindInfo> infos) { out.insert(out.end(), infos.begin(), infos.end()); };
  (append(std::variant_alternative_t<I, Mixer>::infos()), ...);
  return out;
}
}  // namespace

std::vector<KindInfo> all_kinds() {
  return rows(std::make_index_sequence<std::variant_size_v<Mixer>>());
}

}  // namespace kvplan
