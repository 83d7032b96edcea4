#include "measure/log_reader.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "engines/engine.h"
#include "kvplan/error.h"
#include "kvplan/strings.h"

namespace kvplan {

// Of a long line only the beginning is read.
constexpr std::size_t kLongestLine = 16384;
constexpr std::size_t kMostObservations = 20000;
constexpr std::size_t kMostWorkers = 4096;

static double step_of(const LogValue& value) {
  double step = last_digit_of(value.text);
  // If the unit is not the figure's own ("1.50 TiB" for GiB), the last digit is scaled too.
  double number = 0;
  if (const auto printed = log_number(value.text)) number = printed->value;
  if (number != 0) step *= std::abs(value.value / number);
  return step;
}

// A rank's number over all GPUs, as in torch.distributed.
constexpr std::uint64_t kPipelineShift = 20, kDataShift = 40;

static std::optional<std::uint64_t> packed(const LogRanks& ranks) {
  if (!ranks.any()) return std::nullopt;
  return ranks.tensor.value_or(0) | ranks.pipeline.value_or(0) << kPipelineShift | ranks.data.value_or(0) << kDataShift;
}

void LogReader::line(std::string_view text) {
  ++out_.lines;
  if (text.empty()) return;
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
  const EventReader::Entries entries = log_index().candidates(plain);
  events_.line(plain, out_.lines, entries);
  slots_.line(plain, out_.lines, entries);
  if (!entries.empty()) metrics_.line(plain, out_.lines, entries);
  std::vector<Found> all;
  for (const TemplateIndex::Entry* const entry : entries)
    if (entry->kind != TemplateIndex::Kind::kFigure)
      continue;
    else if (auto match = entry->pattern.match(plain))
      all.push_back({entry, std::move(*match)});
  const LogRanks ranks = ranks_of(plain);
  read_ranks(ranks);
  for (const Found& found : all) {
    // "KV Cache is allocated" must not match "SWA KV Cache is allocated".
    const std::string_view anchor = found.entry->pattern.anchor();
    const bool is_part = std::any_of(all.begin(), all.end(), [&](const Found& other) {
      const std::string_view longer = other.entry->pattern.anchor();
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
  votes_.clear();
  phase_ = StartPhase::kNone;
  ++out_.starts;
}

void LogReader::follow_start(const Found& found, const LogRanks& ranks) {
  using enum StartPhase;
  const auto reach = [&](StartPhase phase) { phase_ = std::max(phase_, phase); };
  if (out_.starts == 0) out_.starts = 1;
  switch (found.entry->row->phase) {
    case kNone: break;
    case kServer:
      if (phase_ >= kEngine) start_over(false);
      break;
    case kEngine:
      // An engine's data parallel copies start one after another.
      if (phase_ >= kWeights && ranks.data.value_or(0) == 0) start_over(false);
      reach(kEngine);
      break;
    case kWeights:  // a draft's weights come before the cache
      if (phase_ >= kCache && !has_data_ranks_) start_over(true);
      break;
    case kCache:
    case kServing: reach(found.entry->row->phase); break;
  }
  if (found.match.value("weights") != nullptr) reach(kWeights);
  if (found.match.value("num_blocks") != nullptr || found.match.value("kv_buffer") != nullptr) reach(kCache);
}

void LogReader::read_match(const Found& found, const LogRanks& ranks) {
  const LogTemplate& source = *found.entry->row;
  Votes& votes = votes_[found.entry->program->engine];
  if (!source.since.empty() && (votes.since.empty() || is_older(votes.since, source.since))) votes.since = source.since;
  if (!source.until.empty() && (votes.until.empty() || is_older(source.until, votes.until))) votes.until = source.until;
  const LogValue* const device = found.match.value("device");
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
    Observation seen{out_.lines,    value.name,    value.value, value.unit, device == nullptr ? "" : device->text,
                     packed(ranks), step_of(value)};
    // More than any engine has: figures are later computed with in 64 bits.
    constexpr double kMost = 1e15;
    if (!(std::abs(seen.value) < kMost) || !(std::abs(seen.bytes()) < kMost)) continue;
    if (out_.observations.size() < kMostObservations) out_.observations.push_back(std::move(seen));
  }
  if (is_own) ++votes.count;
}

// Words from the log appear in every output format, so they must be printable.
static void make_printable(LogReading& reading) {
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

LogReading LogReader::finish() {
  if (is_open_) line(open_line_);
  LogReading out = std::move(out_);
  out.events = events_.finish();
  if (auto traffic = slots_.event()) {
    const auto later = [&](const LogEvent& event) { return event.line_number > traffic->line_number; };
    out.events.insert(std::find_if(out.events.begin(), out.events.end(), later), std::move(*traffic));
  }
  for (LogEvent& event : metrics_.events()) out.events.push_back(std::move(event));
  LogOptions& options = out.options;
  // Other engines have options with vLLM's names.
  std::size_t most = 0;
  for (const Engine& engine : engines()) {
    const Votes votes = votes_[&engine];
    const std::size_t count = votes.count * (engine.wraps_engine ? 1000 : 1);
    if (count <= most) continue;
    most = count;
    options.engine = engine.name;
    options.since = votes.since;
    options.until = has_data_ranks_ ? "" : votes.until;
  }
  // A fork that words its lines differently.
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

void LogText::decide() {
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  if (open_.starts_with("\xFF\xFE")) {
    coding_ = Coding::kLittle;
    open_.erase(0, 2);
  } else if (open_.starts_with("\xFE\xFF")) {
    coding_ = Coding::kBig;
    open_.erase(0, 2);
  } else if (open_ != "\xFF" && open_ != "\xFE" && (open_.size() >= kMark.size() || !kMark.starts_with(open_))) {
    coding_ = Coding::kBytes;
    if (open_.starts_with(kMark)) open_.erase(0, kMark.size());
  }
}

void LogText::take_unit(char32_t unit, std::string& out) {
  constexpr char32_t kHigh = 0xD800, kLow = 0xDC00, kEnd = 0xE000, kFirst = 0x10000, kReplacement = 0xFFFD;
  const bool is_low = unit >= kLow && unit < kEnd;
  if (high_ != 0) {
    const char32_t high = std::exchange(high_, 0);
    append_utf8(is_low ? kFirst + ((high - kHigh) << 10U) + (unit - kLow) : kReplacement, out);
    if (is_low) return;
  }
  if (unit >= kHigh && unit < kLow)
    high_ = unit;
  else
    append_utf8(is_low ? kReplacement : unit, out);
}

std::string LogText::utf8(std::string_view piece) {
  open_ += piece;
  if (coding_ == Coding::kUnknown) decide();
  std::string out;
  if (coding_ == Coding::kUnknown) return out;  // possibly part of a byte order mark
  if (coding_ == Coding::kBytes) {
    out.swap(open_);
    return out;
  }
  const bool is_big = coding_ == Coding::kBig;
  std::size_t at = 0;
  for (; at + 1 < open_.size(); at += 2) {
    const auto byte = [&](std::size_t i) { return char32_t{static_cast<unsigned char>(open_[i])}; };
    take_unit(is_big ? byte(at) << 8U | byte(at + 1) : byte(at + 1) << 8U | byte(at), out);
  }
  open_.erase(0, at);
  return out;
}

constexpr std::uint64_t kMostRanks = 4096;

// The number in "TP3" or "rank=3", or nothing.
static std::optional<std::uint64_t> rank_behind(std::string_view word, std::string_view name) {
  if (!word.starts_with(name)) return std::nullopt;
  const std::string_view digits = word.substr(name.size());
  if (digits.empty() || digits.size() > 4 || digits.find_first_not_of("0123456789") != std::string_view::npos)
    return std::nullopt;
  const auto rank = whole_number(digits);
  return rank && *rank < kMostRanks ? rank : std::nullopt;
}

static void read_group(std::string_view group, LogRanks& out) {
  const bool worker = group.starts_with("VllmWorkerProcess ") || group.starts_with("RayWorkerVllm ") ||
                      group.starts_with("RayWorkerWrapper ");
  const auto take = [](std::optional<std::uint64_t>& field, std::optional<std::uint64_t> rank) {
    if (rank && !field) field = rank;
  };
  while (!group.empty()) {
    const std::size_t end = group.find_first_of(" _,");
    const std::string_view word = group.substr(0, end);
    take(out.tensor, rank_behind(word, "TP"));
    take(out.tensor, rank_behind(word, "rank="));
    take(out.tensor, rank_behind(word, "id="));  // also "gpu_id=2"
    take(out.pipeline, rank_behind(word, "PP"));
    take(out.data, rank_behind(word, "DP"));
    take(out.expert, rank_behind(word, "EP"));
    if (worker && word.starts_with("pid=")) take(out.worker, whole_number(word.substr(4)));
    group = end == std::string_view::npos ? std::string_view() : group.substr(end + 1);
  }
}

// The contents of a JSON string, from after its opening quote to the closing one or to the end of a cut line.
static std::string json_text(std::string_view rest) {
  std::string out;
  for (std::size_t i = 0; i < rest.size() && rest[i] != '"'; ++i) {
    if (rest[i] != '\\' || i + 1 >= rest.size()) {
      const std::size_t end = std::min(rest.find_first_of("\"\\", i + 1), rest.size());
      out += rest.substr(i, end - i);
      i = end - 1;
      continue;
    }
    switch (const char c = rest[++i]) {
      case 'n': out += '\n'; break;
      case 't': out += '\t'; break;
      case 'r': out += '\r'; break;
      case 'b':
      case 'f': out += ' '; break;
      case 'u': {
        const auto code = whole_number(rest.substr(i + 1, 4), 16);
        if (code && i + 4 < rest.size()) append_utf8(static_cast<char32_t>(*code), out);
        i += 4;
        break;
      }
      default: out += c;
    }
  }
  return out;
}

LogRanks ranks_of(std::string_view plain) {
  constexpr std::size_t kPrefix = 200;
  constexpr std::size_t kGroup = 80;
  LogRanks out;
  const std::string_view prefix = plain.substr(0, kPrefix);
  for (std::size_t at = prefix.find_first_of("(["); at != std::string_view::npos;
       at = prefix.find_first_of("([", at + 1)) {
    const std::string_view rest = prefix.substr(at + 1, kGroup);
    const std::size_t end = rest.find_first_of("([)]");
    if (end != std::string_view::npos) read_group(rest.substr(0, end), out);
  }
  return out;
}

std::optional<std::string> unpacked(std::string_view line) {
  while (!line.empty() && (line.front() == ' ' || line.front() == '\t')) line.remove_prefix(1);
  if (!line.starts_with('{')) return std::nullopt;
  for (const std::string_view key : {"\"log\"", "\"message\"", "\"MESSAGE\"", "\"msg\"", "\"line\"", "\"text\""}) {
    const std::size_t at = line.find(key);
    if (at == std::string_view::npos) continue;
    std::string_view rest = line.substr(at + key.size());
    while (!rest.empty() && (rest.front() == ' ' || rest.front() == ':')) rest.remove_prefix(1);
    if (rest.starts_with('"')) return json_text(rest.substr(1));
  }
  return std::nullopt;
}

}  // namespace kvplan
