#include "measure/diagnosis.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "engines/engine.h"
#include "kvplan/error.h"
#include "measure/log_reader.h"
#include "plan/plan.h"

namespace kvplan {

namespace {

constexpr std::string_view kRests = "depends on assumptions";

double sum_of(const GpuMemory& gpu, Section part, LineId kind, bool is) {
  double out = 0;
  for (const LedgerLine& line : gpu.lines)
    if (line.part == part && (line.id == kind) == is) out += static_cast<double>(line.bytes.count());
  return out;
}

bool is_packed(const ModelSpec& model, const Request& request) {
  return request.weights || is_declared(model.quantization) || model.is_gguf;
}

// Figures that belong to the request and are not compared.
bool is_setting(std::string_view what) {
  constexpr std::string_view kSettings[] = {"kv_cells",   "kv_layers",     "kv_seqs",    "kv_streams",   "kv_size",
                                            "v_cache",    "state_cells",   "window",     "window_cells", "n_slots",
                                            "n_ctx_slot", "n_ctx_train",   "world_size", "graphs_full",  "page_size",
                                            "kv_share",   "ollama_context"};
  return std::find(std::begin(kSettings), std::end(kSettings), what) != std::end(kSettings);
}

// The plan that a log is compared with, in the variants that the log's lines call for.
class Checker {
 public:
  Checker(const ModelSpec& model, LogRequest stated, const LogReading& reading, LogCheck& out)
      : model_(model), stated_(std::move(stated)), log_(reading), out_(out), counts_all_(has("initial_usage")) {}

  void run() {
    plan();
    for (const Observation& seen : log_.observations)
      if (!is_setting(seen.what)) out_.lines.push_back({seen, std::nullopt, false, ""});
    budgets();
    for (LogLine& line : out_.lines) {
      estimate(line);
      add_range(line);
      count(line);
    }
    tokens();
    if (log_of(engine_of(stated_.request)).by_device) compare_buffers(out_.plan, out_.lines);
    judge();
  }

 private:
  bool has(std::string_view what) const { return log_.smallest(what).has_value(); }

  void plan() {
    // One plan with the GPU, for what the utilization leaves, and one with the printed budget, for what fits in it.
    Request with_card = stated_.request;
    if (!with_card.card.memory)
      for (const Observation& seen : log_.observations)
        if (seen.what == "gpu_memory" && seen.bytes() > 0 && seen.bytes() < 1e15 && !with_card.card.memory)
          with_card.card.memory = Bytes(static_cast<std::uint64_t>(seen.bytes()));
    card_ = make_plan(model_, with_card);
    // Some engines print the cache's bytes only when the start is over.
    const std::string_view budget = has("kv_budget") ? "kv_budget" : "kv_in_use";
    for (const Observation& seen : log_.observations)
      if (seen.what == budget && seen.bytes() > 0 && seen.bytes() < 1e15) {
        // The log may omit a figure's trailing zeros.
        const double unit = in_unit(1, seen.unit) == 1 ? 1 : seen.bytes() / seen.value;
        const double step = std::min(seen.step, unit == 1 ? seen.step : 0.01) * unit;
        budgets_.insert({seen.bytes(), step / 2});
      }
    if (const auto left = budgets_.empty() ? budget_by_share() : std::nullopt; left && explains(*left)) {
      budgets_.insert(*left);
      if (!guess_.empty()) out_.read.push_back(guess_);
    }
    out_.plan = budgets_.empty() || stated_.request.kv_cache_memory_bytes ? card_ : plan_of(budgets_.begin()->first);
  }

  Plan plan_of(double budget) const {
    Request request = stated_.request;
    request.kv_cache_memory_bytes = Bytes(static_cast<std::uint64_t>(std::max(budget, 1.0)));
    return make_plan(model_, request);
  }

  // Bytes, and the uncertainty of the printed digits.
  using Budget = std::pair<double, double>;

  std::optional<double> smallest_bytes(std::string_view what) const {
    std::optional<double> out;
    for (const Observation& seen : log_.observations)
      if (seen.what == what && (!out || seen.bytes() < *out)) out = seen.bytes();
    return out;
  }

  // Half of a figure's last digit, in bytes.
  double half_digit(std::string_view what) const {
    for (const Observation& seen : log_.observations)
      if (seen.what == what && seen.value > 0) return seen.step / 2 * seen.bytes() / seen.value;
    return 0;
  }

  // SGLang and TensorRT-LLM print free memory, not their KV budget. The budget is a fraction of what is free after the
  // weights, or a fraction of what was free before them, less the weights.
  std::optional<Budget> budget_by_share() {
    const auto before = smallest_bytes("available_before_weights");
    const auto after = smallest_bytes("available_after_weights");
    const auto free = before ? before : smallest_bytes("kv_available");
    if (!free || *free <= 0 || before.has_value() != after.has_value()) return std::nullopt;
    std::optional<double> share = before ? stated_.request.memory_utilization : log_.first("kv_share");
    if (!share) share = share_by_tokens(*free, after.value_or(*free));
    if (!share) return std::nullopt;
    if (!before) return Budget{*free * *share, half_digit("kv_available") * *share};
    return Budget{*after - *free * (1 - *share),
                  half_digit("available_after_weights") + half_digit("available_before_weights") * (1 - *share)};
  }

  // The fraction, to two digits, that gives the printed number of tokens.
  std::optional<double> share_by_tokens(double free, double after) {
    constexpr double kMost = 1e12, kHundredths = 100;
    const double tokens = log_.smallest("kv_tokens").value_or(0);
    if (tokens < 1 || tokens > kMost) return std::nullopt;
    Request request = stated_.request;
    request.max_model_len = Tokens(static_cast<std::uint64_t>(tokens));
    request.num_seqs = 1;
    const double pool = pool_bytes(make_plan(model_, request)).all;
    const double share = std::round((1 - (after - pool) / free) * kHundredths) / kHundredths;
    if (!(share > 0 && share < 1)) return std::nullopt;
    const std::string_view own = engine_of(stated_.request).share_option;
    guess_ = std::string(own.empty() ? "--gpu-memory-utilization" : own) + " " + std::to_string(share).substr(0, 4) +
             ", by the figures";
    return share;
  }

  // Whether exactly what the log says fits in the budget. Other releases counted free memory differently, and a
  // fraction that the log does not name is a guess, so a budget must explain the figure.
  bool explains(const Budget& budget) const {
    if (budget.first <= budget.second) return false;
    const Plan low = plan_of(budget.first - budget.second);
    const Plan high = plan_of(budget.first + budget.second);
    if (!low.capacity || !high.capacity) return false;
    const auto within = [&](std::string_view what, std::optional<std::uint64_t> least,
                            std::optional<std::uint64_t> most) {
      const auto seen = log_.smallest(what);
      return seen && least && most && *seen >= static_cast<double>(*least) && *seen <= static_cast<double>(*most);
    };
    return within("num_blocks", low.capacity->num_blocks, high.capacity->num_blocks) ||
           within("kv_tokens", low.capacity->tokens, high.capacity->tokens);
  }

  // What fits in each rank's printed budget, at both ends of its rounding.
  void budgets() {
    constexpr std::size_t kMost = 8;
    if (stated_.request.kv_cache_memory_bytes) {
      if (out_.plan.capacity) held_.push_back({*out_.plan.capacity, *out_.plan.capacity});
      return;
    }
    const bool asks = has("num_blocks") || has("kv_tokens") || has("max_concurrency") || has("max_model_len_estimated");
    for (const auto& [budget, play] : budgets_) {
      if (!asks || held_.size() == kMost) break;
      const Plan low = plan_of(budget - play);
      const Plan high = plan_of(budget + play);
      if (low.capacity && high.capacity) held_.push_back({*low.capacity, *high.capacity});
    }
  }

  void estimate(LogLine& line) const {
    const Observation& seen = line.seen;
    const std::string_view what = seen.what;
    const GpuMemory& gpu = out_.plan.memory.front();
    const GpuMemory* const on = gpu_of(out_.plan, seen.device);
    const auto says = [&](double bytes, std::string reason) {
      line.predicted = in_unit(bytes, seen.unit);
      line.reason = std::move(reason);
    };
    const double runtime = sum_of(gpu, Section::kRuntime, LineId::kGraphs, false);
    if (what == "weights" && gpu.weights && seen.device.empty())
      says(static_cast<double>(gpu.weights->count()),
           is_packed(model_, stated_.request) ? "as loaded; engines repack some types" : "");
    if (what == "consumed" && gpu.weights)
      says(static_cast<double>(gpu.weights->count()) + runtime, "weights, context and libraries: an estimate");
    if (what == "activation" && gpu.activation)
      says(static_cast<double>(gpu.activation->count()), "the peak of the profiling run: an estimate");
    constexpr std::uint64_t kSmall = 16 * kMiB;  // norms, which are not part of the split matrices
    if ((what == "weights" || what == "model_memory") && !seen.device.empty() && on != nullptr && on->weights &&
        *on->weights > Bytes(kSmall) && seen.bytes() > static_cast<double>(kSmall))
      says(static_cast<double>(on->weights->count()), "an estimate: the GPUs get the layers in order");
    if ((what == "compute_buffer" || what == "compute_memory") && on != nullptr && on->activation)
      says(static_cast<double>(on->activation->count()), "an estimate");
    // Until 0.6.4 the figure was the driver's whole count, including the context and other processes.
    if (what == "non_torch" && !counts_all_) says(runtime, "context and libraries: an estimate");
    if (what == "cuda_graphs" || what == "cuda_graphs_estimated")
      says(sum_of(gpu, Section::kRuntime, LineId::kGraphs, true), "by captured sizes: an estimate");
    if (what == "kv_budget" && card_.capacity && card_.card && !card_.request.kv_cache_memory_bytes)
      says(static_cast<double>(card_.capacity->kv_cache_memory.count()), "utilization x memory - the estimates above");
  }

  // Adds the plan's range for an estimate, and the planned figure for llama.cpp's buffers in main memory.
  void add_range(LogLine& line) const {
    const Observation& seen = line.seen;
    const bool is_host = is_host_device(seen.device);
    const GpuMemory* const on = gpu_of(out_.plan, seen.device);
    if (seen.what == "non_torch" || seen.what == "cuda_graphs" ||
        (is_host ? seen.what != "compute_buffer" : on == nullptr))
      return;
    std::vector<LedgerLine> lines = is_host ? out_.plan.host : on->lines;
    if (is_host) std::erase_if(lines, [](const LedgerLine& one) { return one.id == LineId::kSampled; });
    const auto part = planned_part(lines, seen.what);
    if (!part || part->predicted == Bytes(0)) return;
    if (is_host) {
      line.predicted = in_unit(static_cast<double>(part->predicted.count()), seen.unit);
      line.reason = "an estimate";
    }
    line.low = in_unit(static_cast<double>(part->low.count()), seen.unit);
    line.high = in_unit(static_cast<double>(part->high.count()), seen.unit);
  }

  // Adds counts that follow from the printed budget, and the bytes of one sequence.
  void count(LogLine& line) const {
    const std::string_view what = line.seen.what;
    const auto of = [&](const Capacity& held) -> std::optional<double> {
      if (what == "num_blocks" && held.num_blocks) return static_cast<double>(*held.num_blocks);
      if (what == "kv_tokens" && held.tokens) return static_cast<double>(*held.tokens);
      if (what == "max_concurrency") return held.max_concurrency;
      if (what == "max_model_len_estimated" && held.max_model_len < kAnyCount)
        return static_cast<double>(held.max_model_len);
      return std::nullopt;
    };
    const double half = line.seen.unit == LogUnit::kTimes ? line.seen.step / 2 * (1 + 1e-9) : 0;
    for (const auto& [low, high] : held_) {
      const auto least = of(low);
      const auto most = of(high);
      if (!least || !most) continue;
      const bool agrees = line.seen.value >= *least - half && line.seen.value <= *most + half;
      if (line.predicted && !agrees) continue;
      line.exact = true;
      line.reason = has("kv_budget") || has("kv_in_use") ? "of the printed KV budget" : "of what the fraction leaves";
      // If the log's figure is within the rounding of the budget, it is also the prediction.
      line.predicted = agrees                                                                   ? line.seen.value
                       : std::abs(*least - line.seen.value) < std::abs(*most - line.seen.value) ? *least
                                                                                                : *most;
      if (agrees) break;
    }
    if (what == "block_size" && out_.plan.kv_cache.block_size &&
        stated_.request.block_size != log_.options.block_size) {
      line.predicted = static_cast<double>(*out_.plan.kv_cache.block_size);
      line.exact = true;
    }
    if (what == "kv_needed") {
      Request request = stated_.request;
      request.num_seqs = 1;
      line.predicted =
          in_unit(static_cast<double>(make_plan(model_, request).kv_cache.reserved.count()), line.seen.unit);
      line.exact = true;
      line.reason = "of one sequence";
    }
  }

  // The bytes of a pool follow from its number of tokens.
  void tokens() {
    if (log_of(engine_of(stated_.request)).by_device) return;
    std::map<std::uint64_t, PoolBytes> pools;  // by the pool's tokens
    std::map<std::uint64_t, std::uint64_t> on_line;
    for (const LogLine& line : out_.lines)
      if (line.seen.what == "kv_tokens" && line.seen.value >= 1 && line.seen.value < 1e12)
        on_line[line.seen.line_number] = static_cast<std::uint64_t>(line.seen.value);
    if (on_line.empty()) return;
    std::uint64_t least = on_line.begin()->second;
    for (const auto& entry : on_line) least = std::min(least, entry.second);
    std::set<std::pair<std::string_view, std::uint64_t>> done;
    for (LogLine& line : out_.lines) {
      const std::string_view what = line.seen.what;
      if (what != "k_bytes" && what != "v_bytes" && what != "kv_bytes" && what != "swa_pool_bytes") continue;
      // The second pool of a rank is the draft's.
      if (!done.insert({what, line.seen.rank.value_or(0)}).second) {
        line.reason = "another pool: a draft's?";
        continue;
      }
      const auto own = on_line.find(line.seen.line_number);
      const std::uint64_t held = own != on_line.end() ? own->second : least;
      auto known = pools.find(held);
      if (known == pools.end()) {
        Request request = stated_.request;
        request.max_model_len = Tokens(held);
        request.llama_cpp.ctx_size = std::nullopt;
        request.num_seqs = 1;
        known = pools.emplace(held, pool_bytes(make_plan(model_, request))).first;
      }
      const PoolBytes& pool = known->second;
      const double bytes = what == "k_bytes" ? pool.keys : what == "v_bytes" ? pool.all - pool.keys : pool.all;
      line.predicted = in_unit(bytes, line.seen.unit);
      line.exact = true;
      line.reason = "of the printed tokens";
    }
  }

  void judge() {
    const KvCachePlan& cache = out_.plan.kv_cache;
    const bool is_plain = cache.groups.size() <= 1 && cache.bytes_per_sequence == Bytes(0) &&
                          cache.bytes_per_token == cache.bytes_per_token_in_window;
    const bool assumes = stated_.assumes_cache || (stated_.assumes_batch && !is_plain);
    for (LogLine& line : out_.lines) {
      if (line.is_outside()) ++out_.outside;
      if (!line.exact || !line.predicted) continue;
      if (agrees(line)) {
        ++out_.compared;
        continue;
      }
      if (!assumes) {
        ++out_.compared;
        ++out_.disagreements;
        continue;
      }
      line.exact = false;
      line.reason = kRests;
    }
  }

  const ModelSpec& model_;
  LogRequest stated_;
  const LogReading& log_;
  LogCheck& out_;
  bool counts_all_;
  Plan card_;
  std::string guess_;  // set if the fraction is a guess
  std::set<Budget> budgets_;
  std::vector<std::pair<Capacity, Capacity>> held_;  // at the smallest and the largest budget that the rounding allows
};

}  // namespace

LogCheck check_against(const ModelSpec& model, const LogRequest& stated, const LogReading& reading) {
  LogCheck out;
  out.options = reading.options;
  out.read = stated.read;
  out.assumed = stated.assumed;
  Checker(model, stated, reading, out).run();
  return out;
}

bool rests_on_assumptions(const LogCheck& check) {
  return std::any_of(check.lines.begin(), check.lines.end(), [](const LogLine& line) { return line.reason == kRests; });
}

}  // namespace kvplan
