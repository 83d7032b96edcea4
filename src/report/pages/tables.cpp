// The pages of the built-in tables: kinds of attention, types, engines, GPUs.
#include <fmt/format.h>

#include "kvplan/strings.h"
#include "report/pages/pages.h"

namespace kvplan {

static std::string mib_as_gib(std::uint64_t mib) {
  return fmt::format("{:.2f}", static_cast<double>(mib) / 1024);
}

// "data sheet; nvidia-smi; CUDA total ..." without details and without the data sheet, which every row has for its
// bandwidth.
static std::string source_text(const Gpu& gpu) {
  std::string out;
  for (std::string_view part : split(gpu.source, ';')) {
    if (part.starts_with(' ')) part.remove_prefix(1);
    if (part != "data sheet") out += (out.empty() ? "" : ", ") + std::string(part.substr(0, part.find(" from ")));
  }
  return out.empty() ? std::string(gpu.source) : out;
}

static Page kinds_page(std::span<const KindInfo> kinds) {
  Page page;
  page.title = "The kinds of attention";
  page.about.push_back("kvplan formulas KIND prints a kind's derivation.");
  Rows rows;
  for (const KindInfo& kind : kinds)
    rows.push_back({kind.name, kind.title, kind.growth, kind.formula, kind.keys, kind.source});
  PageTable table =
      titled_table({"kind", "what", "grows with", "elements per layer", "config keys", "source"}, 0, rows, {5});
  table.columns[3].kind = Column::Kind::kBelow;
  table.columns[4].kind = Column::Kind::kBelow;
  page.add("", Detail::kComment, std::move(table),
           {"S: tokens, E: source tokens. Elements become bytes by the type of "
            "the cache: see kvplan dtypes."});
  return page;
}

static Page kind_page(const KindInfo& kind, const std::vector<std::string>& derivation,
                      std::span<const KindInfo> beside) {
  Page page;
  page.title = std::string(kind.name) + ": " + std::string(kind.title);
  // The renderer folds a paragraph; an indented line stays separate.
  Sentences paragraphs;
  std::string paragraph;
  const auto end = [&] {
    if (!paragraph.empty()) paragraphs.push_back(paragraph);
    paragraph.clear();
  };
  for (const std::string& line : derivation) {
    const std::size_t at = line.find_first_not_of(' ');
    if (at == std::string::npos) {
      end();
      continue;
    }
    std::string words = line.substr(at);
    for (std::size_t run = words.find("   "); run != std::string::npos; run = words.find("   ")) words.erase(run, 1);
    const bool stands_alone = at > 2 || (at == 2 && line.find("  ", at) != std::string::npos);
    const bool begins =
        words.starts_with("Source:") || words.starts_with("Checked against:") || words.starts_with("Engines differ:");
    if (stands_alone || begins) end();
    if (stands_alone)
      paragraphs.push_back(words);
    else
      paragraph += (paragraph.empty() ? "" : " ") + words;
  }
  end();
  page.add("Derivation", Detail::kComment, std::move(paragraphs));
  Rows rows;
  for (const KindInfo& row : beside) rows.push_back({row.name, row.formula, row.growth});
  page.add("Elements per layer, compared with other kinds", Detail::kComment,
           titled_table({"kind", "elements", "grows with"}, 0, rows));
  return page;
}

static Page dtypes_page(std::span<const DtypeInfo> types) {
  constexpr std::uint64_t kWidth = 128;
  Page page;
  page.title = "KV cache types and bytes per element";
  Rows rows;
  for (const DtypeInfo& type : types) {
    if (type.id == Dtype::kFp8DsMla) {
      rows.push_back({type.name, "-", "-", "-", "-", type.note});
      continue;
    }
    const double key = bytes_per_element(type.key, kWidth);
    const double value = bytes_per_element(type.value, kWidth);
    rows.push_back({type.name, fmt::format("{:.4f}", key), fmt::format("{:.4f}", value),
                    fmt::format("{:.1f} %", (key + value) / 4 * 100), or_dash(type.aliases), type.note});
  }
  page.add("", Detail::kComment, titled_table({"type", "K", "V", "of float16", "also called", "note"}, 0b1110, rows),
           {"Bytes per element of a head of 128, including scales."});
  return page;
}

static Page engine_table_page(std::span<const EngineRow> table) {
  Page page;
  page.title = "Supported engines and releases, with evidence";
  Rows rows;
  for (const EngineRow& row : table) rows.push_back({row.engine, row.release, row.evidence});
  page.add("", Detail::kComment, titled_table({"engine", "release", "evidence"}, 0, rows),
           {"The last release of each engine is the default; ENGINE@RELEASE plans another."});
  return page;
}

static Page rules_page(std::span<const EngineRule> rules) {
  Page page;
  page.title = "What changes in an engine from release to release";
  Rows rows;
  for (const EngineRule& rule : rules)
    rows.push_back({rule.engine, or_dash(rule.since), or_dash(rule.until),
                    std::string(rule.rule) + (rule.value.empty() ? "" : " [" + rule.value + "]"), rule.checked,
                    rule.evidence});
  page.add("", Detail::kComment, titled_table({"engine", "since", "until", "rule", "checked", "evidence"}, 0, rows),
           {"Since: the first release with it. Until: the first one without it. Executed, or source: the engine's "
            "code was run, or read, before and after the change. Between: only these two releases are known."});
  return page;
}

static Page gpus_page(std::span<const Gpu> cards) {
  Page page;
  page.title = "GPUs";
  Rows rows;
  for (const Gpu& gpu : cards)
    rows.push_back({gpu.vendor, gpu.name,
                    // "~": the driver's figure is not recorded.
                    (gpu.reported ? "" : "~") + mib_as_gib(gpu.memory_mib),
                    gpu.usable_mib == 0 ? "-" : mib_as_gib(gpu.usable_mib),
                    gpu.bandwidth_gb_s > 0 ? fmt::format("{:.0f}", gpu.bandwidth_gb_s) : "-", source_text(gpu),
                    or_dash(gpu.aliases)});
  constexpr std::size_t kSource = 5;
  page.add("", Detail::kComment,
           titled_table({"vendor", "GPU", "memory GiB", "usable GiB", "GB/s", "source", "also called"}, 0b11100, rows,
                        {kSource}),
           {"Memory: as the driver reports it; ~ means nominal, because no report is known.",
            "Usable: what a program can use of it (CUDA's total, Metal's working set). If it is empty, plans use the "
            "memory."});
  return page;
}

Reply reply_of(std::span<const KindInfo> kinds) {
  return reply_with(kinds_page, kinds);
}

Reply reply_of(const KindInfo& kind, const std::vector<std::string>& derivation, std::span<const KindInfo> beside) {
  return {[&kind, &derivation, beside] { return kind_page(kind, derivation, beside); },
          [&kind] { return json_of(std::span(&kind, 1)); },
          {}};
}

Reply reply_of(std::span<const DtypeInfo> types) {
  return reply_with(dtypes_page, types);
}

Reply reply_of(std::span<const EngineRow> rows) {
  return reply_with(engine_table_page, rows);
}

Reply reply_of(std::span<const EngineRule> rules) {
  return reply_with(rules_page, rules);
}

Reply reply_of(std::span<const Gpu> cards) {
  return reply_with(gpus_page, cards);
}

}  // namespace kvplan
