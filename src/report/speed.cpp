#include "report/speed.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/text.h"

namespace kvplan {

namespace {

// 0.034, 0.49, 1.4, 23, 1,480: two digits that a bound deserves.
std::string number(double value) {
  constexpr double kCounted = 1e15;
  if (value >= kCounted) return fmt::format("{:.2g}", value);
  if (value >= 100) return grouped(static_cast<std::uint64_t>(value));
  return value >= 10 ? fmt::format("{:.0f}", value) : fmt::format("{:.2g}", value);
}

// A figure of the card or of the user, whole where it is no small one.
std::string given(double value) {
  return value >= 10 ? fmt::format("{:.0f}", value) : fmt::format("{:.3g}", value);
}

std::string rate(double tokens) {
  return number(tokens) + " tokens/s";
}

std::string crossing_text(const Roofline& bounds) {
  if (!bounds.cache_outweighs_at) return "never: the cache is less to read than the weights";
  return grouped(*bounds.cache_outweighs_at) + (*bounds.cache_outweighs_at == 1 ? " sequence" : " sequences");
}

std::string first_token_text(const Roofline& bounds) {
  if (bounds.first_token_s)
    return *bounds.first_token_s < 1 ? number(*bounds.first_token_s * 1000) + " ms"
                                     : number(*bounds.first_token_s) + " s";
  if (bounds.prefill_flops <= 0) return "not known";
  return fmt::format("{:.3g} FLOPs; for a time name --gpu-tflops", bounds.prefill_flops);
}

}  // namespace

std::string speed_lines(const Plan& plan) {
  if (!plan.roofline) return "";
  const Roofline& bounds = *plan.roofline;
  const std::string length = grouped(plan.load.tokens_of_sequence().count());
  std::vector<std::vector<std::string>> rows;
  rows.push_back({"one sequence, empty", rate(bounds.tokens_per_s_empty)});
  rows.push_back({"one of " + length + " tokens", rate(bounds.tokens_per_s)});
  if (bounds.num_seqs > 1)
    rows.push_back({fmt::format("all {} together", grouped(bounds.num_seqs)), rate(bounds.tokens_per_s_batch)});
  rows.push_back({"the cache outweighs the weights from", crossing_text(bounds)});
  rows.push_back({"first token of such a prompt after", first_token_text(bounds)});
  const bool on_host = std::any_of(plan.host.begin(), plan.host.end(), [](const LedgerLine& line) {
    return line.part == Section::kWeights && line.id != LineId::kEmbedding;
  });
  return fmt::format("Speed at most, by {} GB/s (bounds, no forecast{})\n", given(bounds.bandwidth_gb_s),
                     on_host ? "; host memory taken as fast" : "") +
         columns(rows, 0);
}

std::string speed_section(const Plan& plan) {
  if (!plan.roofline) return "";
  const Roofline& bounds = *plan.roofline;
  const Request& request = plan.request;
  std::string out = speed_lines(plan);
  out += fmt::format("  a step reads       {} of weights{} and {} of cache for a sequence{}\n",
                     human_bytes(bounds.weights_read), request.pipeline_parallel > 1 ? " (all stages of one rank)" : "",
                     human_bytes(bounds.cache_read), request.tensor_parallel > 1 ? ", on each rank" : "");
  if (bounds.weights_read_batch != bounds.weights_read)
    out += fmt::format("  experts            {} of weights for a batch of {}: E * (1 - (1 - k/E)^B) experts are met\n",
                       human_bytes(bounds.weights_read_batch), plan.load.num_seqs);
  out += fmt::format("  prefill            {:.3g} FLOPs{}\n", bounds.prefill_flops,
                     bounds.tflops ? fmt::format(" at {} TFLOPS a GPU (dense, 16 bit)", given(*bounds.tflops)) : "");
  return out;
}

std::string prefill_section(const Plan& plan) {
  const std::uint64_t chunk = plan.explanation.prefill_chunk;
  const std::uint64_t length = plan.load.tokens_of_sequence().count();
  std::string out = "What a prefill holds at least\n";
  out += fmt::format("  hidden states      {} tokens of a chunk * {} * 2 B = {}: the floor\n", grouped(chunk),
                     plan.model->hidden_size, human_bytes(Bytes(chunk) * plan.model->hidden_size * 2));
  const std::uint64_t heads = plan.explanation.num_heads;
  if (heads == 0) return out;
  const Bytes row = Bytes(length) * heads * 4;
  out += fmt::format("  naive scores       {} heads * 4 B * {} tokens squared = {} in one pass, {} by chunks\n", heads,
                     grouped(length), human_bytes(row * length), human_bytes(row * std::min(chunk, length)));
  out += "  flash attention    none: scores stay on the chip\n";
  return out;
}

}  // namespace kvplan
