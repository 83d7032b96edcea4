#include "engines/rotary.h"

namespace kvplan {

std::vector<LedgerLine> rotary_lines(const ModelShape& model, std::uint64_t element, std::uint64_t video,
                                     std::string_view source) {
  Bytes all;
  std::string formula;
  for (const RotaryTable& table : model.rotary_tables) {
    const std::uint64_t positions =
        checked_mul(table.positions, table.is_multimodal ? video : 1, "the positions of a rotary table");
    all += Bytes(positions) * table.width * element;
    formula += (formula.empty() ? "" : " + ") + std::to_string(positions) + " positions x " +
               std::to_string(table.width) + " x " + std::to_string(element) + " B";
  }
  if (all == Bytes(0)) return {};
  return {exact_line(Section::kWeights, "rotary tables", all, std::move(formula), std::string(source))};
}

}  // namespace kvplan
