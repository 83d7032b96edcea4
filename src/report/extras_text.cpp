#include "report/extras_text.h"

#include <fmt/format.h>

#include "kvplan/error.h"
#include "kvplan/strings.h"
#include "report/text.h"

namespace kvplan {

std::string extra_lines_text(const Plan& plan) {
  std::vector<std::vector<std::string>> rows;
  bool asked = false;  // an encoder's outputs alone are the engine's own habit, and stand in the ledger
  for (const LedgerLine& line : plan.fullest().lines) {
    if (!is_extra(line.id) || line.bytes == Bytes(0)) continue;
    asked = asked || line.id != LineId::kEncoderCache;
    rows.push_back({line.what, human_bytes(line.bytes),
                    line.low == line.high ? "" : human_bytes(line.low) + " to " + human_bytes(line.high)});
  }
  if (!asked) return "";
  return "Extras, part of the above\n" + columns(rows, 0b10);
}

std::string companions_text(const ExtrasRequest& extras) {
  std::string out;
  for (const AdapterFile& adapter : extras.adapters) {
    const std::string targets = join(adapter.targets);
    out += fmt::format("LoRA adapter {}: rank {}, {} elements, {}\n  modules  {}\n", one_line(adapter.source, 200),
                       adapter.rank, grouped(adapter.elements.count()), human_bytes(adapter.bytes),
                       targets.empty() ? "not named" : targets);
  }
  if (extras.projector)
    out +=
        fmt::format("image projector {} ({}): {} tensors, {}, images of {}, patches of {}\n",
                    one_line(extras.projector->source, 200), extras.projector->projector, extras.projector->tensors,
                    human_bytes(extras.projector->bytes), extras.projector->image_size, extras.projector->patch_size);
  return out;
}

}  // namespace kvplan
