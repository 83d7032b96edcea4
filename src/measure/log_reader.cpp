#include "measure/log_reader.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "engines/engine.h"
#include "kvplan/error.h"
#include "measure/log_options.h"

namespace kvplan {

namespace {

// Log lines are short; of longer ones only the beginning is read.
constexpr std::size_t kLongestLine = 16384;
constexpr std::size_t kMostObservations = 20000;
constexpr std::size_t kMostWorkers = 4096;

// All engines' figures in one index, with the engine and releases of each.
struct Figures {
  TemplateIndex index;
  std::vector<std::size_t> engine;
  std::vector<const LogTemplate*> source;
};

const Figures& figures() {
  static const Figures kFigures = [] {
    Figures out;
    const auto all = engines();
    for (std::size_t e = 0; e < all.size(); ++e)
      for (const LogTemplate& row : all[e].log.figures) {
        out.index.add(row);
        out.engine.push_back(e);
        out.source.push_back(&row);
      }
    return out;
  }();
  return kFigures;
}

const LogValue* value_of(const LineTemplate::Match& match, std::string_view name) {
  for (const LogValue& value : match.values)
    if (value.name == name) return &value;
  return nullptr;
}

double step_of(const LogValue& value) {
  double step = last_digit_of(value.text);
  // Another unit than the figure's own ("1.50 TiB" for GiB) scales its last digit as well.
  double number = 0;
  if (const auto printed = log_number(value.text)) number = printed->value;
  if (number != 0) step *= std::abs(value.value / number);
  return step;
}

// The global rank, numbered as in torch.distributed.
constexpr std::uint64_t kPipelineShift = 20, kDataShift = 40;

std::optional<std::uint64_t> packed(const LogRanks& ranks) {
  if (!ranks.any()) return std::nullopt;
  return ranks.tensor.value_or(0) | ranks.pipeline.value_or(0) << kPipelineShift | ranks.data.value_or(0) << kDataShift;
}

}  // namespace

LogReader::LogReader() : engine_votes_(engines().size()), since_(engines().size()), until_(engines().size()) {}

void LogReader::line(std::string_view text) {
  ++out_.lines;
  text = text.substr(0, kLongestLine);
  if (const auto inner = unpacked(text)) {
    std::string_view rest = *inner;
    while (!rest.empty()) {
      const std::size_t end = rest.find('\n');
      read_plain(plain_line(rest.substr(0, end)));
      rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
    }
    return;
  }
  read_plain(plain_line(text));
}

void LogReader::read_plain(const std::string& plain) {
  events_.line(plain, out_.lines);
  slots_.line(plain, out_.lines);
  const Figures& known = figures();
  known.index.candidates(plain, candidates_);
  found_.clear();
  for (const std::size_t number : candidates_)
    if (auto match = known.index.at(number).match(plain)) found_.push_back({number, std::move(*match)});
  const LogRanks ranks = ranks_of(plain);
  read_ranks(ranks);
  for (const Found& found : found_) {
    // "KV Cache is allocated" must not match "SWA KV Cache is allocated".
    const std::string_view anchor = known.index.at(found.number).anchor();
    const bool is_part = std::any_of(found_.begin(), found_.end(), [&](const Found& other) {
      const std::string_view longer = known.index.at(other.number).anchor();
      return longer.size() > anchor.size() && longer.ends_with(anchor) && other.match.begin < found.match.begin;
    });
    if (is_part) continue;
    follow_start(found, ranks);
    read_match(found, ranks);
  }
}

void LogReader::read_ranks(const LogRanks& ranks) {
  if (ranks.tensor) tensor_ = std::max(tensor_, *ranks.tensor + 1);
  if (ranks.pipeline) pipeline_ = std::max(pipeline_, *ranks.pipeline + 1);
  if (ranks.data) data_ = std::max(data_, *ranks.data + 1);
  if (ranks.expert) has_expert_ranks_ = true;
  if (ranks.data.value_or(0) > 0) has_data_ranks_ = true;
  if (ranks.worker && workers_.size() < kMostWorkers) workers_.insert(*ranks.worker);
}

void LogReader::start_over(bool keeps_options) {
  events_.restart();
  out_.observations.clear();
  if (!keeps_options) {
    out_.options = LogOptions();
    workers_.clear();
    tensor_ = pipeline_ = data_ = world_size_ = 0;
    has_data_ranks_ = has_expert_ranks_ = false;
  }
  has_cpu_blocks_ = false;
  for (auto* releases : {&since_, &until_}) std::fill(releases->begin(), releases->end(), "");
  std::fill(engine_votes_.begin(), engine_votes_.end(), 0);
  phase_ = Phase::kBanner;
  ++out_.starts;
}

void LogReader::follow_start(const Found& found, const LogRanks& ranks) {
  const LineTemplate::Match& match = found.match;
  const std::string_view anchor = figures().index.at(found.number).anchor();
  const std::string_view engine = engines()[figures().engine[found.number]].name;
  const auto has = [&](std::string_view name) { return value_of(match, name) != nullptr; };
  if (out_.starts == 0) out_.starts = 1;
  const bool loads = anchor.starts_with("Model loading took") || anchor.starts_with("Loading model weights took");
  if (has("api_version")) {
    if (phase_ >= Phase::kEngine) start_over(false);
  } else if (has("version")) {
    // Data parallel copies of an engine start one after another.
    if (engine != "ollama" && phase_ >= Phase::kWeights && ranks.data.value_or(0) == 0) start_over(false);
    phase_ = std::max(phase_, Phase::kEngine);
  } else if (engine == "ollama" && has("n_ctx") && phase_ >= Phase::kWeights) {
    start_over(false);
  } else if (engine == "sglang" && has("model") && phase_ >= Phase::kWeights) {
    start_over(false);
  } else if ((loads && phase_ >= Phase::kCache && !has_data_ranks_) ||
             (has("available_before_weights") && phase_ == Phase::kServing)) {
    // A draft's weights come before the cache in vLLM, and before the scheduler's line in SGLang.
    start_over(true);
  }
  if (has("weights")) phase_ = std::max(phase_, Phase::kWeights);
  if (has("num_blocks") || has("kv_buffer") || (engine == "vllm" && has("kv_tokens")))
    phase_ = std::max(phase_, Phase::kCache);
  if (engine == "sglang" && anchor.starts_with("max_total_num_tokens")) phase_ = Phase::kServing;
}

void LogReader::read_match(const Found& found, const LogRanks& ranks) {
  const Figures& known = figures();
  const std::size_t engine = known.engine[found.number];
  const LogTemplate& source = *known.source[found.number];
  if (!source.since.empty() && (since_[engine].empty() || is_older(since_[engine], source.since)))
    since_[engine] = source.since;
  if (!source.until.empty() && (until_[engine].empty() || is_older(source.until, until_[engine])))
    until_[engine] = source.until;
  std::string device;
  if (const LogValue* const named = value_of(found.match, "device")) device = named->text;
  bool is_own = !source.since.empty() || !source.until.empty();  // not another engine's argument of the same name
  for (const LogValue& value : found.match.values) {
    if (value.name == "device") continue;
    if (value.name == "world_size" && value.value >= 1 && value.value <= 4096)
      world_size_ = std::max(world_size_, static_cast<std::uint64_t>(value.value));
    if (take_option(value, out_.options)) {
      if (value.name == "version" || value.name == "api_version") is_own = true;
      continue;
    }
    is_own = true;
    if (value.name == "cpu_blocks") has_cpu_blocks_ = true;
    Observation seen{out_.lines, value.name, value.value, value.unit, device, packed(ranks), step_of(value)};
    // More than any engine has: figures are later computed with in 64 bits.
    constexpr double kMost = 1e15;
    if (!(std::abs(seen.value) < kMost) || !(std::abs(seen.bytes()) < kMost)) continue;
    if (out_.observations.size() < kMostObservations) out_.observations.push_back(std::move(seen));
  }
  if (is_own) ++engine_votes_[engine];
}

namespace {

// The log's words that are kept get printed in every form.
void make_printable(LogReading& reading) {
  for (LogEvent& event : reading.events) {
    event.words = one_line(event.words);
    for (LogValue& value : event.values) value.text = one_line(value.text);
  }
  for (Observation& seen : reading.observations) seen.device = one_line(seen.device);
  LogOptions& options = reading.options;
  for (std::string* const text :
       {&options.version, &options.model, &options.card, &options.dtype, &options.kv_cache_dtype, &options.quantization,
        &options.file_type, &options.cache_type_k, &options.cache_type_v, &options.speculative_method,
        &options.mamba_cache_mode, &options.state_dtype})
    *text = one_line(*text);
}

}  // namespace

LogReading LogReader::finish() {
  if (is_open_) line(open_line_);
  LogReading out = std::move(out_);
  out.events = events_.finish();
  if (auto traffic = slots_.event()) {
    const auto later = [&](const LogEvent& event) { return event.line_number > traffic->line_number; };
    out.events.insert(std::find_if(out.events.begin(), out.events.end(), later), std::move(*traffic));
  }
  LogOptions& options = out.options;
  // ollama's runner also prints llama.cpp's lines, and other engines have arguments like vLLM's.
  const auto all = engines();
  std::size_t most = 0;
  for (std::size_t e = 0; e < all.size(); ++e) {
    const std::size_t votes = all[e].name == "ollama" ? engine_votes_[e] * 1000 : engine_votes_[e];
    if (votes <= most) continue;
    most = votes;
    options.engine = all[e].name;
    options.since = since_[e];
    options.until = has_data_ranks_ ? "" : until_[e];
  }
  // A fork with its own wording.
  if (!options.since.empty() && !options.until.empty() && is_older(options.until, options.since))
    options.since = options.until = "";
  if (!workers_.empty()) options.worker_processes = workers_.size() + (has_cpu_blocks_ ? 1 : 0);
  if (tensor_ > 0) options.ranks = tensor_;
  if (!options.pipeline_parallel && pipeline_ > 1) options.pipeline_parallel = pipeline_;
  if (!options.data_parallel && data_ > 1) options.data_parallel = data_;
  if (!options.expert_parallel && has_expert_ranks_) options.expert_parallel = true;
  if (!options.tensor_parallel && world_size_ > 0)
    options.tensor_parallel = std::max<std::uint64_t>(1, world_size_ / options.pipeline_parallel.value_or(1));
  if (!options.tensor_parallel && tensor_ > 0) options.tensor_parallel = tensor_;
  const std::uint64_t tensor = options.tensor_parallel.value_or(tensor_);
  for (Observation& seen : out.observations) {
    if (!seen.rank) continue;
    constexpr std::uint64_t kMask = (std::uint64_t{1} << kPipelineShift) - 1;
    const std::uint64_t stage = (*seen.rank >> kPipelineShift) & kMask;
    const std::uint64_t copy = *seen.rank >> kDataShift;
    seen.rank = (copy * std::max<std::uint64_t>(1, pipeline_) + stage) * tensor + (*seen.rank & kMask);
  }
  make_printable(out);
  complete_options(out, options);
  return out;
}

void LogReader::piece(std::string_view bytes) {
  const std::string utf8 = text_.utf8(bytes);
  std::string_view text = utf8;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view part = text.substr(0, end);
    if (open_line_.size() < kLongestLine) open_line_.append(part.substr(0, kLongestLine - open_line_.size()));
    is_open_ = end == std::string_view::npos;
    if (is_open_) return;
    line(open_line_);
    open_line_.clear();
    text.remove_prefix(end + 1);
  }
}

LogReading read_log(std::string_view text) {
  LogReader reader;
  reader.piece(text);
  return reader.finish();
}

}  // namespace kvplan
