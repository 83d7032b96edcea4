#include "plan/answer.h"

#include <algorithm>
#include <tuple>

#include "kvplan/gpus.h"
#include "kvplan/strings.h"

namespace kvplan {

std::string options_text(const OptionValues& options, std::string_view spelling) {
  std::string out;
  for (const auto& [option, value] : options) {
    std::string_view name = option;
    for (const std::string_view pair : split(spelling))
      if (pair.substr(0, pair.find('=')) == option) name = pair.substr(pair.find('=') + 1);
    const bool is_variable =
        std::none_of(name.begin(), name.end(), [](char c) { return c == '-' || (c >= 'a' && c <= 'z'); });
    if (name.empty()) continue;  // the engine does not need an option for it
    out += (out.empty() ? "" : " ") + std::string(name);
    if (!value.empty()) out += (is_variable ? "=" : " ") + value;
  }
  return out;
}

std::string layout_name(const Parallel& parallel) {
  std::string out;
  const auto add = [&](std::string_view word, std::uint64_t ranks) {
    if (ranks > 1) out += (out.empty() ? "" : ", ") + std::string(word) + " " + std::to_string(ranks);
  };
  add("TP", parallel.tensor);
  add("PP", parallel.pipeline);
  add("DP", parallel.data);
  if (parallel.data > 1 && parallel.dp_attention) out += " (attention)";
  add("DCP", parallel.decode_context);
  if (out.empty()) return "1 GPU";
  return out + (parallel.expert ? ", EP" : "");
}

Bytes Plan::card_of(std::size_t gpu, Bytes alike) const {
  return request.card.mixed.empty() ? alike : request.card.mixed[gpu % request.card.mixed.size()]->budget();
}

const GpuMemory& Plan::fullest() const {
  if (!request.card.mixed.empty()) {
    const auto room = [&](std::size_t gpu) {
      return signed_difference(card_of(gpu, Bytes(0)).count(), memory[gpu].total.count());
    };
    std::size_t least = 0;
    for (std::size_t gpu = 1; gpu < memory.size(); ++gpu)
      if (room(gpu) < room(least)) least = gpu;
    return memory[least];
  }
  return *std::max_element(memory.begin(), memory.end(),
                           [](const GpuMemory& a, const GpuMemory& b) { return a.total < b.total; });
}

Request Plan::unplaced() const {
  Request out = request;
  if (asked_placement) std::tie(out.llama_cpp, out.max_model_len) = *asked_placement;
  return out;
}

Request Plan::as_asked() const {
  Request out = unplaced();
  out.parallel = asked_parallel;
  return out;
}

Tokens Plan::tokens_of_sequence() const {
  return mix ? Tokens(mix->tokens.count() / mix->sequences) : load.tokens_of_sequence();
}

Bytes Plan::host_total() const {
  Bytes out;
  for (const LedgerLine& line : host) out += line.bytes;
  return out;
}

Bytes kept_asleep(const Plan& plan) {
  Bytes out = plan.fullest().runtime.value_or(Bytes(0));
  for (const LedgerLine& line : plan.fullest().lines)
    if (line.id == LineId::kEncoderCache) out += line.bytes;
  return out;
}

}  // namespace kvplan
