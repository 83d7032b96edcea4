#include "measure/log_reader.h"

#include <algorithm>
#include <array>
#include <variant>

#include "kvplan/strings.h"

namespace kvplan {

namespace {

struct Option {
  std::string_view name;
  std::variant<std::optional<std::uint64_t> LogOptions::*, std::string LogOptions::*, std::optional<bool> LogOptions::*>
      field;
  bool is_figure = false;  // also kept as an observation
  bool last = false;       // a later line is more reliable
};
constexpr Option kOptions[] = {
    {"tensor_parallel", &LogOptions::tensor_parallel},
    {"pipeline_parallel", &LogOptions::pipeline_parallel},
    {"data_parallel", &LogOptions::data_parallel},
    {"context_parallel", &LogOptions::context_parallel},
    {"expert_ranks", &LogOptions::expert_ranks},
    {"max_model_len", &LogOptions::max_model_len, true, true},
    {"n_seq_max", &LogOptions::num_seqs, true},
    {"n_batch", &LogOptions::n_batch, true},
    {"n_ubatch", &LogOptions::n_ubatch, true},
    {"n_rs_seq", &LogOptions::n_rs_seq},
    {"block_size", &LogOptions::block_size, true, true},
    {"max_num_seqs", &LogOptions::max_num_seqs},
    {"max_num_batched_tokens", &LogOptions::max_num_batched_tokens},
    {"num_speculative_tokens", &LogOptions::num_speculative_tokens},
    {"kv_cache_memory_bytes", &LogOptions::kv_cache_memory_bytes},
    {"largest_graph", &LogOptions::largest_graph},
    {"model", &LogOptions::model},
    {"card", &LogOptions::card},
    {"dtype", &LogOptions::dtype},
    {"kv_cache_dtype", &LogOptions::kv_cache_dtype},
    {"quantization", &LogOptions::quantization},
    {"file_type", &LogOptions::file_type},
    {"cache_type_k", &LogOptions::cache_type_k},
    {"cache_type_v", &LogOptions::cache_type_v},
    {"speculative_method", &LogOptions::speculative_method},
    {"mamba_cache_mode", &LogOptions::mamba_cache_mode},
    {"state_dtype", &LogOptions::state_dtype},
    {"expert_parallel", &LogOptions::expert_parallel},
    {"dp_attention", &LogOptions::dp_attention},
    {"prefix_caching", &LogOptions::prefix_caching},
    {"enforce_eager", &LogOptions::enforce_eager},
    {"chunked_prefill", &LogOptions::chunked_prefill},
    {"kv_unified", &LogOptions::kv_unified},
    {"flash_attention", &LogOptions::flash_attention},
};

std::optional<bool> flag_of(std::string_view word) {
  const std::string text = lower(std::string(word));
  for (const std::string_view yes : {"true", "1", "enabled", "on"})
    if (text == yes) return true;
  for (const std::string_view no : {"false", "0", "disabled", "off"})
    if (text == no) return false;
  return std::nullopt;  // "auto"
}

std::optional<std::uint64_t> count_of(double value) {
  if (!(value >= 1 && value < 1e15)) return std::nullopt;
  return static_cast<std::uint64_t>(value);
}

void take_value(const LogValue& value, const Option& option, std::optional<std::uint64_t>& field) {
  if (const auto count = count_of(value.value); count && (!field || option.last)) field = count;
}
void take_value(const LogValue& value, const Option&, std::string& field) {
  const std::string_view text =
      std::string_view(value.text).substr(value.text.starts_with("torch.") ? std::string_view("torch.").size() : 0);
  if (text != "None" && text != "auto" && field.empty()) field = text;
}
void take_value(const LogValue& value, const Option&, std::optional<bool>& field) {
  if (const auto flag = flag_of(value.text)) field = flag;
}

void take_version(const LogValue& value, LogOptions& out) {
  std::string_view text = value.text;
  if (text.starts_with('v')) text.remove_prefix(1);
  // "b9849-abc" in build_info: the commit is not part of the build number.
  if (text.starts_with('b')) text = text.substr(0, text.find('-'));
  const std::size_t first = text.starts_with('b') ? 1 : 0;
  const bool is_number = text.size() > first && text[first] >= '0' && text[first] <= '9';
  if (is_number && out.version.empty()) out.version = std::string(text);
}

// The numbers of a release: 0.20.1 -> {0, 20, 1}.
std::array<std::uint64_t, 3> numbers_of(std::string_view release) {
  std::array<std::uint64_t, 3> out{};
  for (std::uint64_t& number : out) {
    number = whole_number(release).value_or(0);
    const std::size_t dot = release.find('.');
    if (dot == std::string_view::npos) break;
    release.remove_prefix(dot + 1);
  }
  return out;
}

}  // namespace

bool is_older(std::string_view a, std::string_view b) {
  return numbers_of(a) < numbers_of(b);
}

std::string release_of(std::string_view version) {
  std::string out;
  std::size_t at = 0;
  int dots = 0;
  for (; at < version.size(); ++at) {
    const char c = version[at];
    if (c == '.' && (++dots == 3 || at + 1 == version.size() || version[at + 1] < '0' || version[at + 1] > '9')) break;
    if ((c < '0' || c > '9') && c != '.') break;
    out += c;
  }
  while (!out.empty() && out.back() == '.') out.pop_back();
  // While a release is prepared, builds of the main branch are numbered as candidates of the next patch.
  const std::string_view rest = version.substr(at);
  const auto numbers = numbers_of(out);
  if (rest.starts_with("rc") && rest.find(".dev") != std::string_view::npos && numbers[2] > 0)
    return std::to_string(numbers[0]) + "." + std::to_string(numbers[1] + 1);
  return out;
}

bool take_option(const LogValue& value, LogOptions& out) {
  const std::string_view name = value.name;
  if (name == "version" || name == "api_version") {
    take_version(value, out);
    return true;
  }
  if (name == "memory_utilization" || name == "gpu_memory_utilization") {
    if (value.value > 0 && value.value <= 1) out.memory_utilization = value.value;
    return name == "memory_utilization";
  }
  if (name == "cache_type") {
    if (!value.text.empty()) out.cache_type_k = out.cache_type_v = value.text;
    return true;
  }
  if (name == "no_prefix_caching") {
    if (flag_of(value.text).value_or(false)) out.prefix_caching = false;
    return true;
  }
  if (name == "old_llama") return out.old_llama = true;
  if (name == "has_arguments") return out.has_arguments = true;
  if (name == "swa_full") return (out.swa_full = true).value();
  const auto* const option =
      std::find_if(std::begin(kOptions), std::end(kOptions), [&](const Option& one) { return one.name == name; });
  if (option == std::end(kOptions)) return false;
  std::visit([&](auto member) { take_value(value, *option, out.*member); }, option->field);
  return !option->is_figure;
}

void complete_options(const LogReading& reading, LogOptions& out) {
  for (const std::string_view what : {"n_ctx_seq", "n_ctx"})
    for (const Observation& seen : reading.observations)
      if (const auto count = count_of(seen.value); count && seen.what == what && !out.max_model_len)
        out.max_model_len = count;
}

}  // namespace kvplan
