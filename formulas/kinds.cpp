#include "formulas/kinds.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <type_traits>

namespace kvplan {

std::span<const std::string_view> derivation_lines();  // generated from the headers

const KindInfo& kind_info(const Mixer& mixer) {
  return std::visit(
      [](const auto& kind) -> const KindInfo& {
        if constexpr (requires { kind.info(); })
          return kind.info();
        else
          return kind.kInfo[0];
      },
      mixer);
}

std::string_view kind_variant(const Mixer& mixer) {
  return std::visit(
      [](const auto& kind) -> std::string_view {
        if constexpr (requires { kind.variant(); })
          return kind.variant();
        else
          return "";
      },
      mixer);
}

CacheTerms cache_terms(const Mixer& mixer, Form form) {
  return std::visit([form](const auto& kind) { return kind.terms(form); }, mixer);
}

std::vector<Symbol> symbols(const Mixer& mixer) {
  return std::visit([](const auto& kind) { return kind.symbols(); }, mixer);
}

std::uint64_t macs_per_entry(const Mixer& mixer) {
  return std::visit(
      [](const auto& kind) -> std::uint64_t {
        if constexpr (requires { kind.macs_per_entry(); })
          return kind.macs_per_entry();
        else
          return 0;
      },
      mixer);
}

void project(const Mixer& mixer, Projections& out) {
  std::visit([&out](const auto& kind) { kind.project(out); }, mixer);
}

const Heads* heads_of(const Mixer& mixer) {
  return std::visit(
      [](const auto& kind) -> const Heads* {
        if constexpr (requires { kind.heads; })
          return &kind.heads;
        else
          return nullptr;
      },
      mixer);
}

const Latent* latent_of(const Mixer& mixer) {
  return std::visit(
      [](const auto& kind) -> const Latent* {
        if constexpr (requires { kind.latent; })
          return &kind.latent;
        else
          return nullptr;
      },
      mixer);
}

template <AttentionKind... Kind>
static std::vector<KindInfo> rows_of(std::type_identity<std::variant<Kind...>>) {
  std::vector<KindInfo> out;
  (out.insert(out.end(), std::begin(Kind::kInfo), std::end(Kind::kInfo)), ...);
  return out;
}

std::vector<KindInfo> all_kinds() {
  return rows_of(std::type_identity<Mixer>());
}

std::vector<std::string> derivation(std::string_view kind) {
  const std::vector<KindInfo> kinds = all_kinds();
  if (std::none_of(kinds.begin(), kinds.end(), [&](const KindInfo& row) { return row.name == kind; })) return {};
  std::vector<std::string> out;
  // One struct has the three kinds of full attention.
  for (const std::string_view header : {kind, std::string_view("full_attention")}) {
    bool is_inside = false;
    for (std::string_view line : derivation_lines()) {
      if (line.starts_with("= ")) is_inside = line.substr(2) == header;
      if (!is_inside || !line.starts_with("//")) continue;
      line.remove_prefix(line.starts_with("// ") ? 3 : 2);
      out.emplace_back(line);
    }
    if (!out.empty()) break;
  }
  return out;
}

}  // namespace kvplan
