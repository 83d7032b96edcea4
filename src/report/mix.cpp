// A mix of sequence lengths, for people to read.
#include <fmt/format.h>

#include "report/report.h"
#include "report/text.h"

namespace kvplan {

namespace {

std::string unused(Bytes taken, Bytes needed) {
  if (taken == Bytes(0)) return "-";
  return fmt::format("{:.1f} %",
                     100.0 * static_cast<double>((taken - needed).count()) / static_cast<double>(taken.count()));
}

}  // namespace

std::string mix_lines(const Plan& plan) {
  if (!plan.mix) return "";
  const MixReport& mix = *plan.mix;
  std::vector<std::vector<std::string>> rows{{"", "KV", "unused", ""}};
  rows.push_back({"needed", gib(mix.needed), "-", ""});
  rows.push_back({"slabs", gib(mix.slab), unused(mix.slab, mix.needed),
                  fmt::format("{} tokens for every sequence", grouped(plan.load.max_model_len.count()))});
  rows.push_back({"pages", gib(mix.pages), unused(mix.pages, mix.needed),
                  fmt::format("of {} tokens{}", mix.block_size, mix.engine_pages ? "" : " (the engine has none)")});
  rows.push_back({"page tables", human_bytes(mix.page_table), "", ""});
  if (mix.shared_prefix > Tokens(0))
    rows.push_back(
        {"pages, shared", gib(mix.pages - mix.shared_saving), "",
         fmt::format("{} tokens stored once save {}", grouped(mix.shared_prefix.count()), gib(mix.shared_saving))});
  return fmt::format("Mix of {}, {} (all GPUs)\n", plural(mix.sequences, "sequence"),
                     plural(mix.tokens.count(), "token")) +
         columns(rows, 0b0110);
}

}  // namespace kvplan
