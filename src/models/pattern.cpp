#include "models/pattern.h"

#include <algorithm>
#include <optional>
#include <string>

#include "kvplan/error.h"
#include "kvplan/strings.h"

namespace kvplan {

namespace {

using Labels = std::vector<Label>;

struct Row {
  std::string_view words;
  Label label;
};
constexpr Row kRows[] = {
    {"full_attention attention attn qwen_sparse_attention full reference_sliding_attention global global_attention",
     Label::kFull},
    {"sliding_attention sliding_window sliding_window_attention local local_attention swa window window_attention",
     Label::kSliding},
    {"chunked_attention chunked chunked_local_attention", Label::kChunked},
    {"attention_sink", Label::kSink},
    {"linear_attention linear mamba mamba1 mamba2 ssm recurrent conv short_conv kda jet gated_deltanet gated_delta_net "
     "lightning lightning_attention rwkv rg_lru",
     Label::kRecurrent},
    {"hybrid", Label::kHybrid},
    {"hybrid_sliding", Label::kHybridSliding},
    {"cross cross_attention", Label::kCross},
    {"moe mlp none no_op", Label::kNone},
    {"deepseek_sparse_attention sparse_mla minimax_m3_sparse sparse_attention indexed_attention", Label::kSparse},
    {"shared shared_attention", Label::kShared},
    {"sparse_gqa", Label::kSparseGqa},
    {"mha", Label::kMha},
    {"gqa", Label::kGqa},
    {"mqa", Label::kMqa},
    {"mla", Label::kMla},
};

// A list that is too long is cut: Step-3.5 lists 48 types for 45 layers, and the rest are MTP layers. A list that is
// too short is an error.
void fit_length(Labels& labels, std::uint64_t num_layers, std::string_view key) {
  if (labels.size() < num_layers)
    fail("\"" + std::string(key) + "\" names " + std::to_string(labels.size()) + " layers of " +
             std::to_string(num_layers),
         "give one entry for each layer");
  labels.resize(num_layers);
}

std::optional<Labels> from_words(const Fields& config, std::string_view key, std::uint64_t num_layers) {
  const auto words = config.strings(key);
  if (!words) return std::nullopt;
  Labels out;
  for (const std::string& word : *words) out.push_back(parse_label(word, key));
  fit_length(out, num_layers, key);
  return out;
}

// Nemotron-H's letters: M mamba, * attention, - MLP, E experts; '|' is only a separator.
std::optional<Labels> from_letters(const Fields& config, std::string_view key, std::uint64_t num_layers) {
  if (!config.is_string(key)) return std::nullopt;
  const std::string letters = *config.find_string(key);
  Labels out;
  for (const char letter : letters) {
    switch (letter) {
      case 'M': out.push_back(Label::kRecurrent); break;
      case '*': out.push_back(Label::kFull); break;
      case '-':
      case 'E': out.push_back(Label::kNone); break;
      case '|': break;
      default:
        fail(Exit::kUnknownArchitecture,
             "\"" + std::string(key) + "\" has the letter '" + one_line(std::string_view(&letter, 1)) + "'",
             "known are M, *, - and E");
    }
  }
  fit_length(out, num_layers, key);
  return out;
}

std::optional<Labels> from_numbers(const Fields& config, std::string_view key, std::uint64_t num_layers, Label zero,
                                   Label one) {
  const auto numbers = config.counts(key);
  if (!numbers) return std::nullopt;
  Labels out;
  for (const std::uint64_t n : *numbers) out.push_back(n == 0 ? zero : one);
  fit_length(out, num_layers, key);
  return out;
}

// Labels from a list of the layers that get the label `inside`.
std::optional<Labels> from_indices(const Fields& config, std::string_view key, std::uint64_t num_layers, Label inside,
                                   Label outside, std::uint64_t first = 0) {
  const auto indices = config.counts(key);
  if (!indices) return std::nullopt;
  Labels out(num_layers, outside);
  for (const std::uint64_t index : *indices)
    if (index >= first && index - first < num_layers) out[index - first] = inside;
  return out;
}

// Griffin gives a short pattern that is repeated.
std::optional<Labels> from_cycle(const Fields& config, std::string_view key, std::uint64_t num_layers) {
  const auto words = config.strings(key);
  if (!words || words->empty()) return std::nullopt;
  Labels out;
  for (std::uint64_t i = 0; i < num_layers; ++i) out.push_back(parse_label((*words)[i % words->size()], key));
  // Its attention layers have a window.
  std::replace(out.begin(), out.end(), Label::kFull, Label::kSliding);
  return out;
}

// GPT-Neo: [[["global", "local"], 12]] means the pair repeated twelve times.
std::optional<Labels> from_repeats(const Fields& config, std::uint64_t num_layers) {
  const auto size = config.list_size("attention_types");
  if (!size) return std::nullopt;
  Labels out;
  for (std::size_t i = 0; i < *size; ++i) {
    const auto entry = config.list_item("attention_types", i);
    const auto inner = entry->list_item("attention_types", 0);
    const auto repeat = entry->list_item("attention_types", 1);
    const auto words = inner ? inner->strings("attention_types") : std::nullopt;
    const auto times =
        repeat && repeat->is_number("attention_types") ? repeat->find_count("attention_types") : std::nullopt;
    if (!words || !times || *times > num_layers)
      fail("\"attention_types\" is not a list of [[words], repeats]", "correct the config");
    for (std::uint64_t n = 0; n < *times; ++n)
      for (const std::string& word : *words) out.push_back(parse_label(word, "attention_types"));
  }
  fit_length(out, num_layers, "attention_types");
  return out;
}

Labels periodic(std::uint64_t num_layers, std::uint64_t period, std::uint64_t offset, Label inside, Label outside) {
  Labels out(num_layers, outside);
  if (period == 0) return out;
  for (std::uint64_t i = 0; i < num_layers; ++i)
    if (i % period == offset) out[i] = inside;
  return out;
}

// EXAONE-4 writes "LLLG", Gemma-3 the number 6.
std::optional<Labels> from_window_pattern(const Fields& config, std::uint64_t num_layers, const PatternRule& rule) {
  for (const std::string_view key : {"sliding_window_pattern", "_sliding_window_pattern"}) {
    if (config.is_string(key)) {
      const std::string letters = *config.find_string(key);
      if (letters.empty()) continue;
      if (letters.find_first_not_of("LG") != std::string::npos)
        fail('"' + std::string(key) + "\" is \"" + one_line(letters, 40) + '"',
             "write a number, or letters such as LLLG: local and global layers");
      Labels out;
      for (std::uint64_t i = 0; i < num_layers; ++i)
        out.push_back(letters[i % letters.size()] == 'G' ? Label::kFull : Label::kSliding);
      return out;
    }
    if (config.is_number(key)) {
      const auto period = config.find_count(key);
      if (period && *period > 0) {
        const bool first = rule.fallback == PatternRule::Default::kFullFirstOf;
        return periodic(num_layers, *period, first ? 0 : *period - 1, Label::kFull, Label::kSliding);
      }
    }
  }
  return std::nullopt;
}

Labels from_rule(const Fields& config, std::uint64_t num_layers, const PatternRule& rule) {
  using Default = PatternRule::Default;
  const std::uint64_t period = rule.period_key.empty() ? rule.period : config.count_or(rule.period_key, rule.period);
  switch (rule.fallback) {
    case Default::kAllFull: break;
    case Default::kWindowEverywhere: return Labels(num_layers, rule.other);
    case Default::kFullEvery:
      return periodic(num_layers, period, period == 0 ? 0 : period - 1, Label::kFull, rule.other);
    case Default::kFullFirstOf: return periodic(num_layers, period, 0, Label::kFull, rule.other);
    case Default::kFullFromLast:
      return periodic(num_layers, period, period == 0 ? 0 : (num_layers + period - 1) % period, Label::kFull,
                      rule.other);
    case Default::kFullEveryAndLast:
    case Default::kFullSecondOf: {
      const bool second = rule.fallback == Default::kFullSecondOf;
      Labels out = periodic(num_layers, period, second ? 1 : period - 1, Label::kFull, rule.other);
      if (second && !out.empty()) out.front() = Label::kFull;
      if (!out.empty()) out.back() = Label::kFull;
      return out;
    }
    case Default::kQwen: {
      Labels out(num_layers, Label::kFull);
      if (!config.flag("use_sliding_window", false)) {
        config.touch("sliding_window");
        config.touch("max_window_layers");
        return out;
      }
      for (std::uint64_t i = config.count_or("max_window_layers", 0); i < num_layers; ++i) out[i] = Label::kSliding;
      return out;
    }
  }
  return Labels(num_layers, Label::kFull);
}

}  // namespace

Label parse_label(std::string_view word, std::string_view key) {
  for (const Row& row : kRows)
    if (has_word(row.words, word)) return row.label;
  fail(Exit::kUnknownArchitecture,
       "\"" + std::string(key) + "\" names a kind of layer that kvplan does not know: \"" + one_line(word, 60) + "\"",
       "see kvplan formulas for the known kinds");
}

std::vector<Label> layer_labels(const Fields& config, std::uint64_t num_layers, const PatternRule& rule) {
  std::optional<Labels> labels;
  if (!labels) labels = from_words(config, "layer_types", num_layers);
  if (!labels) labels = from_letters(config, "hybrid_override_pattern", num_layers);
  for (const std::string_view key : {"hybrid_layer_pattern", "sliding_window_layout"})
    if (!labels) labels = from_numbers(config, key, num_layers, Label::kFull, Label::kSliding);
  if (!labels) labels = from_numbers(config, "attn_type_list", num_layers, Label::kRecurrent, Label::kFull);
  if (!labels) labels = from_cycle(config, "block_types", num_layers);
  if (!labels) labels = from_repeats(config, num_layers);
  if (!labels) labels = from_words(config, "attention_layers", num_layers);
  if (!labels) labels = from_indices(config, "full_attn_idxs", num_layers, Label::kFull, Label::kRecurrent);
  if (!labels) labels = from_indices(config, "attn_layer_indices", num_layers, Label::kFull, Label::kRecurrent);
  if (!labels) {
    if (const auto linear = config.child("linear_attn_config")) {
      linear->counts("full_attn_layers");  // only marked as read; the other list decides. Both count from 1.
      labels = from_indices(*linear, "kda_layers", num_layers, Label::kRecurrent, Label::kFull, 1);
    }
  }
  if (!labels)
    if (const auto interval = config.find_count("full_attention_interval"); interval && *interval > 0)
      labels = periodic(num_layers, *interval, *interval - 1, Label::kFull, Label::kRecurrent);
  if (!labels)
    if (const auto period = config.find_count("attn_layer_period"); period && *period > 0) {
      const std::uint64_t offset = config.count_or("attn_layer_offset", 0);
      if (offset >= *period)
        fail("\"attn_layer_offset\" is " + std::to_string(offset) + " of a period of " + std::to_string(*period),
             "correct the config: no layer would attend");
      labels = periodic(num_layers, *period, offset, Label::kFull, Label::kRecurrent);
    }
  if (!labels) labels = from_window_pattern(config, num_layers, rule);
  if (!labels)
    if (const auto size = config.find_count("layer_group_size"); size && *size > 0) {
      // Bailing (Ring, Ling): the last layer of each group, and the layers after the last whole group, have full
      // attention.
      labels = periodic(num_layers, *size, *size - 1, Label::kFull, Label::kRecurrent);
      for (std::uint64_t i = num_layers / *size * *size; i < num_layers; ++i) (*labels)[i] = Label::kFull;
    }
  if (!labels) labels = from_rule(config, num_layers, rule);
  if (rule.last_full && !labels->empty() && labels->back() == rule.other) labels->back() = Label::kFull;
  return *labels;
}

}  // namespace kvplan
