// What would make a request fit. Each remedy is a plan from make_plan.
#include <algorithm>

#include "engines/launch_words.h"
#include "kvplan/error.h"
#include "kvplan/numbers.h"
#include "plan/changes.h"
#include "plan/layouts.h"
#include "plan/offload.h"
#include "plan/remedies.h"
#include "plan/search.h"

namespace kvplan {

std::vector<Remedy> remedies(PlanCache& cache, const Plan& asked) {
  const Request own = asked.as_asked();
  Request request = with_reserve(own);
  std::vector<Remedy> out;
  const auto add_if_fits = [&](Request changed, OptionValues options) {
    if (!fits(cache, changed)) return false;
    changed.limits.reserve = own.limits.reserve;
    return unless_misfit([&] {  // a context below the stated lengths is none
      const OptionValues cap = lower_seqs_cap(cache, changed);
      options.insert(options.end(), cap.begin(), cap.end());
      const Plan plan = make_plan(cache, changed);
      out.push_back({options, changed.card.count, plan.fullest().total, plan.verdict.headroom, plan.host_total()});
      return true;
    });
  };
  const auto add_type = [&](bool weights) {
    for (const Change& change : type_changes(request, asked))
      if ((change.options.front().first == "--weights") == weights && add_if_fits(change.request, change.options))
        return;
  };
  // A cap that the engine refuses for its cache costs nothing to lower. What else would help does so at that cap.
  if (asked.verdict.needs_fewer_seqs) {
    Request fewer = request;
    fewer.max_num_seqs = asked.verdict.largest_seqs_cap;
    add_if_fits(fewer, {seqs_cap_option(*fewer.max_num_seqs)});
    request.max_num_seqs = asked.settings.max_num_seqs;
  }
  const std::uint64_t wanted = asked.load.max_model_len.count();
  const auto add_shorter = [&](std::uint64_t least) {
    if (request.limits.min_context) return;
    const std::uint64_t longest =
        longest_that_fits(cache, request, asked.capacity ? asked.capacity->max_model_len : 4096);
    if (longest >= least && longest < wanted)
      add_if_fits(with_context(request, longest), {context_option(request, longest)});
  };
  // llama.cpp can leave layers on the host: as few as make the rest fit, and of a mixture the experts first.
  const Engine& engine = engine_of(request);
  const auto add_offload = [&] {
    if (!engine.loading.embedding_on_host || request.llama_cpp.gpu_layers || request.llama_cpp.cpu_moe_layers) return;
    const auto split = engine.loading.places_parts ? unevenly_split(cache, request) : std::nullopt;
    const std::uint64_t split_layers = split ? split->llama_cpp.gpu_layers.value_or(0) : 0;
    if (split && split_layers == 0)
      add_if_fits(*split, {{"--tensor-split", shares_text(split->llama_cpp.tensor_split)}});
    const auto fewest = [&](std::uint64_t most, const auto& with) -> std::optional<std::uint64_t> {
      if (most == 0 || !fits(cache, with(most))) return std::nullopt;
      return last_good(0, most, [&](std::uint64_t n) { return !fits(cache, with(n)); }) + 1;
    };
    const std::uint64_t layers = cache.model().layers.size();
    const std::uint64_t units = layers + cache.model().num_nextn_layers + 1;  // the output is one of them
    const auto with_experts = [&](std::uint64_t on_host) {
      Request changed = request;
      changed.llama_cpp.cpu_moe_layers = on_host;
      return changed;
    };
    const auto with_layers = [&](std::uint64_t on_host) {
      Request changed = request;
      changed.llama_cpp.gpu_layers = units - on_host;
      return changed;
    };
    if (cache.model().experts.count > 0 && engine.loading.places_parts)
      if (const auto count = fewest(layers, with_experts))
        add_if_fits(with_experts(*count), {{"--n-cpu-moe", std::to_string(*count)}});
    const auto count = fewest(units, with_layers);
    // Cards that each take what they can hold may together hold more layers than even shares.
    if (split_layers > (count ? units - *count : 0) &&
        add_if_fits(*split, {{"-ngl", std::to_string(split_layers)},
                             {"--tensor-split", shares_text(split->llama_cpp.tensor_split)}}))
      return;
    if (count) add_if_fits(with_layers(*count), {{"-ngl", std::to_string(units - *count)}});
  };
  const std::uint64_t here = asked.request.parallel.gpus();
  // Another layout of the same cards gives nothing up.
  if (here > 1 && own.parallel.given)
    if (const auto dealt = on_more_cards(cache, own, here))
      if (!dealt->options.empty()) add_if_fits(with_reserve(dealt->request), dealt->options);
  // Another ratio of the tokens for window layers and for full ones costs nothing: the one nearest the usual that fits.
  if (engine_of(request).has_window_ratio && !request.extras.swa_ratio) {
    for (int percent = 95; percent >= 5; percent -= 5) {
      Request shared = request;
      shared.extras.swa_ratio = percent / 100.0;
      const std::string value = "0." + std::string(percent < 10 ? "0" : "") + std::to_string(percent);
      if (add_if_fits(shared, {{"--swa-full-tokens-ratio", value}})) break;
    }
  }
  // A larger share of the card costs nothing either, as far as the driver and later growth leave room.
  if (!engine.share_option.empty() && asked.usable_share && !request.memory_utilization &&
      !request.kv_cache_memory_bytes) {
    constexpr int kMostPercent = 95;
    for (int percent = static_cast<int>(*asked.usable_share * 100) + 1; percent <= kMostPercent; ++percent) {
      Request more = request;
      more.memory_utilization = percent / 100.0;
      if (add_if_fits(more, {{std::string(engine.share_option), "0." + std::to_string(percent)}})) break;
    }
  }
  // A length that nobody named is shortened early, one that was asked for last.
  const bool named = request.max_model_len || request.llama_cpp.ctx_size;
  // A file's weights are what they are: llama.cpp itself shortens the context, and then moves layers to the host.
  const bool moves_layers = engine.loading.embedding_on_host && cache.model().is_gguf;
  if (!moves_layers) add_type(false);
  if (!named) add_shorter(kDefaultContext);
  if (moves_layers) {
    add_offload();
    add_type(false);
  }
  add_type(true);
  if (!moves_layers) add_offload();
  const std::uint64_t fewest = fewest_cards(asked);
  for (const std::uint64_t count : usual_gpu_counts(own)) {
    if (count <= std::max(here, own.card.count) || count < fewest) continue;
    if (const auto more = on_more_cards(cache, own, count);
        more && add_if_fits(with_reserve(more->request), more->options))
      break;
  }
  if (!request.limits.min_seqs && request.num_seqs > 1)
    if (const std::uint64_t most = most_that_fit(cache, request); most > 0 && most < request.num_seqs)
      add_if_fits(with_seqs(request, most), {seqs_option(most)});
  if (named || out.empty()) add_shorter(1);
  return out;
}

}  // namespace kvplan
