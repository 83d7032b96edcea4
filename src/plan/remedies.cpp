// What would make a request fit. Each remedy is a plan from make_plan.
#include <algorithm>

#include "engines/launch_words.h"
#include "kvplan/error.h"
#include "kvplan/numbers.h"
#include "kvplan/strings.h"
#include "plan/questions.h"
#include "plan/search.h"
#include "plan/steps.h"

namespace kvplan {

namespace {

constexpr const char* kAloneOnCard = "if nothing else runs on the GPU";
constexpr const char* kSlowerPrefill = "long prompts take more steps";
constexpr const char* kOtherCheckpoint = "another checkpoint: this one is quantized already";
constexpr const char* kNoGraphs = "decodes more slowly without CUDA graphs";

class RemedySearch {
 public:
  RemedySearch(PlanCache& cache, const Plan& asked)
      : cache_(cache), asked_(asked), own_(asked.as_asked()), request_(with_reserve(own_)), engine_(engine_of(own_)) {}

  // The smallest change comes first. A default length is shortened early, a requested one last. If the model is a file
  // of weights, its type is fixed. llama.cpp itself first shortens the context and then moves layers to the host.
  std::vector<Remedy> all() {
    const bool named = request_.max_model_len || request_.llama_cpp.ctx_size;
    const bool moves_layers = engine_.loading.embedding_on_host && cache_.model().is_gguf;
    lower_cap();
    deal_otherwise();
    share_windows();
    claim_more();
    run_fewer_at_once();
    prefill_in_smaller_steps();
    if (!moves_layers) change_type(false);
    if (!named) shorten(kDefaultContext);
    if (moves_layers) {
      offload();
      change_type(false);
    }
    leave_out_graphs();
    change_type(true);
    if (!moves_layers) offload();
    if (engine_.places == nullptr) add_cards();
    plan_fewer_sequences();
    if (named || found_.empty()) shorten(1);
    if (engine_.places != nullptr) add_cards();
    return std::move(found_);
  }

 private:
  bool add_if_fits(Request changed, OptionValues options, Template cost = {}) {
    if (!fits(cache_, changed)) return false;
    changed.limits.reserve = own_.limits.reserve;
    return unless_misfit([&] {  // a context below the given lengths helps nobody
      const OptionValues cap = lower_seqs_cap(cache_, changed);
      options.insert(options.end(), cap.begin(), cap.end());
      const Plan plan = make_plan(cache_, changed);
      Remedy& made = found_.emplace_back(
          Remedy{options, changed.card.count, plan.fullest().total, plan.verdict.headroom, plan.host_total()});
      made.cost = std::move(cost);
      if (made.headroom && asked_.verdict.headroom) made.frees = *made.headroom - *asked_.verdict.headroom;
      return true;
    });
  }

  // If the engine refuses its cap on sequences because of its cache, a lower cap costs nothing. The other remedies are
  // then tried with it.
  void lower_cap() {
    if (!asked_.verdict.needs_fewer_seqs) return;
    Request fewer = request_;
    fewer.max_num_seqs = asked_.verdict.largest_seqs_cap;
    add_if_fits(fewer, {seqs_cap_option(*fewer.max_num_seqs)},
                {"at most {most:request} run at once", {{"most", *fewer.max_num_seqs}}});
    request_.max_num_seqs = asked_.settings.max_num_seqs;
  }

  // Another layout of the same GPUs costs nothing.
  void deal_otherwise() {
    const std::uint64_t here = asked_.request.parallel.gpus();
    if (here < 2 || !own_.parallel.given) return;
    if (const auto dealt = on_more_cards(cache_, own_, here))
      if (!dealt->options.empty()) add_if_fits(with_reserve(dealt->request), dealt->options);
  }

  // Another ratio of window tokens to full tokens costs nothing. kvplan takes the ratio that fits and is nearest to the
  // usual one.
  void share_windows() {
    if (!engine_.has_window_ratio || request_.extras.swa_ratio) return;
    for (int percent = 95; percent >= 5; percent -= 5) {
      Request shared = request_;
      shared.extras.swa_ratio = percent / 100.0;
      const std::string value = "0." + std::string(percent < 10 ? "0" : "") + std::to_string(percent);
      if (add_if_fits(shared, {{"--swa-full-tokens-ratio", value}})) return;
    }
  }

  void claim_more() {
    if (engine_.share_option.empty() || !asked_.usable_share || request_.kv_cache_memory_bytes) return;
    constexpr int kMostPercent = 95;
    for (int percent = static_cast<int>(*asked_.usable_share * 100) + 1; percent <= kMostPercent; ++percent) {
      Request more = request_;
      more.memory_utilization = percent / 100.0;
      const std::string value = "0." + std::string(percent < 10 ? "0" : "") + std::to_string(percent);
      if (add_if_fits(more, {{std::string(engine_.share_option), value}}, kAloneOnCard)) return;
    }
  }

  // The cap on sequences determines the size of logits, graphs and tables.
  void run_fewer_at_once() {
    if (!asked_.settings.max_num_seqs || asked_.verdict.needs_fewer_seqs) return;
    for (std::uint64_t cap = kLargestCap; cap >= std::max<std::uint64_t>(asked_.load.num_seqs, 1); cap /= 2) {
      if (cap >= *asked_.settings.max_num_seqs) continue;
      Request fewer = request_;
      fewer.max_num_seqs = cap;
      if (add_if_fits(fewer, {seqs_cap_option(cap)}, {"at most {most:request} run at once", {{"most", cap}}})) return;
    }
  }

  void prefill_in_smaller_steps() {
    const std::optional<std::uint64_t>& batch = asked_.settings.max_num_batched_tokens;
    if (!batch || engine_.loading.embedding_on_host) return;
    for (std::uint64_t tokens = kLargestBatch; tokens >= kLeastBatch; tokens /= 2) {
      if (tokens >= *batch || tokens < request_.max_num_seqs.value_or(0)) continue;
      Request smaller = request_;
      smaller.max_num_batched_tokens = Tokens(tokens);
      if (add_if_fits(smaller, {{std::string(engine_.chunk_option), std::to_string(tokens)}}, kSlowerPrefill)) return;
    }
  }

  void leave_out_graphs() {
    if (request_.enforce_eager || !has_word(engine_.options, "--enforce-eager")) return;
    Request eager = request_;
    eager.enforce_eager = true;
    add_if_fits(eager, {{"--enforce-eager", ""}}, kNoGraphs);
  }

  void change_type(bool weights) {
    for (Change change : type_changes(request_, asked_, weights)) {
      const auto [option, type] = change.options.front();
      if ((option == "--weights") != weights) continue;
      if (weights) change.request = in_this_context(std::move(change.request), change.options);
      const bool is_packed = cache_.model().is_gguf || is_declared(cache_.model().quantization);
      const bool is_other = weights && is_packed && has_word(engine_.loading.made_at_load, type);
      if (add_if_fits(std::move(change.request), std::move(change.options),
                      is_other ? Template(kOtherCheckpoint) : Template()))
        return;
    }
  }

  void shorten(std::uint64_t least) {
    if (request_.limits.min_context) return;
    const std::uint64_t longest =
        longest_that_fits(cache_, request_, asked_.capacity ? asked_.capacity->max_model_len : 4096);
    if (longest >= least && longest < asked_.load.max_model_len.count())
      add_if_fits(with_context(request_, longest), {context_option(request_, longest)});
  }

  // llama.cpp can leave layers on the host: as few as possible, and experts first. The command's
  // own -ngl and --n-cpu-moe are changed.
  void offload() {
    if (engine_.fills_gpu != nullptr && !own_.limits.no_offload && !request_.transformers.device_map) {
      Request changed = own_;
      changed.transformers.device_map = true;
      add_if_fits(std::move(changed), {{"--device-map", "auto"}});
    }
    if (!engine_.loading.embedding_on_host || asked_.verdict.status == Verdict::kPartlyOnCpu || own_.limits.no_offload)
      return;
    const std::uint64_t layers = cache_.model().layers.size();
    const std::uint64_t units = layers + cache_.model().num_nextn_layers + 1;  // the output counts as one
    const std::optional<std::uint64_t>& given = request_.llama_cpp.gpu_layers;
    const auto split = engine_.loading.places_parts && given.value_or(units) >= units ? unevenly_split(cache_, request_)
                                                                                      : std::nullopt;
    const std::uint64_t split_layers =
        split && split->llama_cpp.gpu_layers != given ? split->llama_cpp.gpu_layers.value_or(0) : 0;
    if (split && split_layers == 0)
      add_if_fits(*split, {{"--tensor-split", shares_text(split->llama_cpp.tensor_split)}});
    const auto fewest = [&](std::uint64_t most, const auto& with) -> std::optional<std::uint64_t> {
      if (most == 0 || !fits(cache_, with(most))) return std::nullopt;
      return last_good(0, most, [&](std::uint64_t n) { return !fits(cache_, with(n)); }) + 1;
    };
    const auto with_experts = [&](std::uint64_t on_host) {
      Request changed = request_;
      changed.llama_cpp.cpu_moe_layers = on_host;
      return changed;
    };
    const auto with_layers = [&](std::uint64_t on_host) {
      Request changed = request_;
      changed.llama_cpp.gpu_layers = units - on_host;
      return changed;
    };
    if (cache_.model().experts.count > 0 && engine_.loading.places_parts)
      if (const auto count = fewest(layers, with_experts))
        add_if_fits(with_experts(*count), {{"--n-cpu-moe", std::to_string(*count)}});
    const auto count = fewest(units, with_layers);
    // Filling one GPU after another may fit more layers than equal parts.
    if (split_layers > (count ? units - *count : 0) &&
        add_if_fits(*split, {{"-ngl", std::to_string(split_layers)},
                             {"--tensor-split", shares_text(split->llama_cpp.tensor_split)}}))
      return;
    if (count) add_if_fits(with_layers(*count), {{"-ngl", std::to_string(units - *count)}});
  }

  // With more memory the engine would choose another context than the planned one.
  Request in_this_context(Request request, OptionValues& options) const {
    if (own_.max_model_len || own_.llama_cpp.ctx_size || engine_.places == nullptr ||
        (!asked_.request.max_model_len && engine_.default_context == nullptr))
      return request;
    const std::uint64_t length = asked_.load.max_model_len.count();
    options.insert(options.begin(), context_option(own_, length));
    return with_context(std::move(request), length);
  }

  void add_cards() {
    const std::uint64_t here = asked_.request.parallel.gpus();
    OptionValues context;
    const Request own = in_this_context(own_, context);
    const std::uint64_t fewest = fewest_cards(asked_);
    for (const std::uint64_t count : usual_gpu_counts(own_)) {
      if (count <= std::max(here, own_.card.count) || count < fewest) continue;
      const auto more = on_more_cards(cache_, own, count);
      if (!more) continue;
      OptionValues options = context;
      options.insert(options.end(), more->options.begin(), more->options.end());
      if (add_if_fits(with_reserve(more->request), std::move(options))) return;
    }
  }

  void plan_fewer_sequences() {
    if (request_.limits.min_seqs || request_.num_seqs < 2) return;
    const std::uint64_t most = most_that_fit(cache_, request_);
    if (most > 0 && most < request_.num_seqs) add_if_fits(with_seqs(request_, most), {seqs_option(most)});
  }

  static constexpr std::uint64_t kLargestCap = 512, kLargestBatch = 8192, kLeastBatch = 256;

  PlanCache& cache_;
  const Plan& asked_;
  const Request own_;
  Request request_;
  const Engine& engine_;
  std::vector<Remedy> found_;
};

}  // namespace

std::vector<Remedy> remedies(PlanCache& cache, const Plan& asked) {
  return RemedySearch(cache, asked).all();
}

}  // namespace kvplan
