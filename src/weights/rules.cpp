#include "weights/rules.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <utility>

#include "kvplan/error.h"

namespace kvplan {

namespace {

// Limits for one config. Checkpoints have tens of expressions and globs, or hundreds if each layer has its own. Whole
// names and prefixes are looked up: with one for each matrix of each expert they are tens of thousands.
constexpr std::size_t kMaxRules = 200'000;     // some 700 bytes each in a model's copies: 140 MB
constexpr std::size_t kMaxExpressions = 5000;  // at most 6 KiB each: 30 MiB
constexpr std::size_t kMaxGlobs = 50'000;      // some 100 bytes each: 5 MB
// For all matching together, a third of a second. 378 expressions on 126 layers of 7 modules take half of it.
constexpr std::uint64_t kMaxSteps = 100'000'000;
// For finding rules that match no module, for a note: 50 ms.
constexpr std::uint64_t kMaxStepsOfNotes = 15'000'000;

// Refuses a list, by its config key.
[[noreturn]] void refuse_list(const SchemeRule& rule, const std::string& what) {
  const std::string list =
      rule.list.empty() ? "the quantization config" : '"' + std::string(rule.list) + "\" of the quantization config";
  throw TooManyRules(list + " names modules by " + what,
                     "name the modules, join expressions by \"|\", or say the type with --weights");
}

[[noreturn]] void refuse_more(const SchemeRule& rule, std::size_t bound, std::string_view kind) {
  refuse_list(rule, "more than " + std::to_string(bound) + " " + std::string(kind) + " (\"" +
                        one_line(rule.pattern, 40) + "\" is one too many)");
}

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// Whether an expression may match some layers and not others: it has a digit, or something that stands for one. The
// layer's number is a word of its own between dots.
bool tells_layers_apart(std::string_view expression) {
  const auto at = [&](std::size_t i) { return i < expression.size() ? expression[i] : '\0'; };
  for (std::size_t i = 0; i < expression.size(); ++i) {
    const char c = expression[i];
    if (c >= '0' && c <= '9') return true;
    if (c == '\\' && is_letter(at(++i))) return true;  // \d is layers 0 to 9
    if (c == '[') {
      // "[qkv]" and "[a-z_]" have no digit; "--" begins a range from a character below the digits.
      const std::size_t end = std::min(expression.find(']', i + 1), expression.size());
      const std::string_view set = expression.substr(i + 1, end - i - 1);
      const bool is_plain =
          std::all_of(set.begin(), set.end(), [](char m) { return is_letter(m) || m == '_' || m == '-'; });
      if (set.empty() || !is_plain || set.find("--") != std::string_view::npos) return true;
    }
    // ".*" matches any number; right after a letter there is no number.
    if (c == '.' && at(i + 1) != '*' && (i == 0 || !is_letter(expression[i - 1]))) return true;
  }
  return false;
}

// Matches * and ? as a shell does.
bool glob_matches(std::string_view pattern, std::string_view text, std::uint64_t& steps) {
  std::size_t p = 0, t = 0, star = std::string_view::npos, mark = 0;
  steps += 4;  // the cost of a call that ends at once
  for (; t < text.size(); ++steps) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      mark = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++mark;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace

std::string_view bare_module(std::string_view module) {
  for (bool again = true; again;) {
    again = false;
    for (const std::string_view wrapper : {"model.", "language_model.", "text_model.", "backbone.", "transformer.",
                                           "decoder.", "gpt_neox.", "thinker.", "llm."}) {
      if (!module.starts_with(wrapper)) continue;
      module.remove_prefix(wrapper.size());
      again = true;
    }
  }
  return module;
}

namespace {

// "0", "17"; but not "007", which is no layer's number.
std::optional<std::uint32_t> number_in(std::string_view word) {
  if (word.empty() || word.size() > 9 || (word.size() > 1 && word[0] == '0')) return std::nullopt;
  std::uint32_t out = 0;
  for (const char c : word) {
    if (c < '0' || c > '9') return std::nullopt;
    out = out * 10 + static_cast<std::uint32_t>(c - '0');
  }
  return out;
}

std::string with_layer(std::string_view module, std::uint64_t layer) {
  std::string out;
  out.reserve(module.size() + 8);
  bool first = true;
  for (const char c : module) {
    if (c != '*') {
      out += c;
    } else {
      out += std::exchange(first, false) ? std::to_string(layer) : "0";
    }
  }
  return out;
}

}  // namespace

RuleBook::RuleBook(const std::vector<SchemeRule>& rules)
    : lists_(std::make_shared<const Lists>(lists_of(rules))), rules_(&rules) {}

RuleBook::Lists RuleBook::lists_of(const std::vector<SchemeRule>& rules) {
  Lists out;
  std::string key;
  std::size_t expressions = 0, globs = 0;
  for (Order order = 0; order < rules.size(); ++order) {
    const SchemeRule& rule = rules[order];
    if (order == kMaxRules) refuse_more(rule, kMaxRules, "names");
    Numbered entry;
    entry.order = order;
    std::string_view pattern = rule.pattern;
    if (pattern.starts_with("re:")) {
      pattern.remove_prefix(3);
      if (++expressions > kMaxExpressions) refuse_more(rule, kMaxExpressions, "expressions");
      if (auto read = Expression::read(pattern))
        out.expressions[tells_layers_apart(pattern) ? 1 : 0].emplace_back(*std::move(read), entry.order);
      else
        ++out.unread;
      continue;
    }
    // "model.layers.0." means everything in that block, ".gate." a module of that name.
    while (pattern.size() > 1 && pattern.back() == '.') pattern.remove_suffix(1);
    while (pattern.size() > 1 && pattern.front() == '.') pattern.remove_prefix(1);
    std::string_view text = bare_module(pattern);
    const std::size_t star = text.find_first_of("*?");
    const bool is_prefix = star != std::string_view::npos && star > 0 && star + 1 == text.size() && text.back() == '*';
    if (star != std::string_view::npos && !is_prefix) {
      if (++globs > kMaxGlobs) refuse_more(rule, kMaxGlobs, "globs");
      // "?" distinguishes numbers of one digit from those of two.
      out.globs[text.find_first_of("0123456789?") != std::string_view::npos ? 1 : 0].emplace_back(
          std::string(text) + ".*", entry.order);
      continue;
    }
    if (is_prefix) text.remove_suffix(1);
    key.clear();
    for (std::size_t begin = 0, count = 0;;) {
      const std::size_t dot = text.find('.', begin);
      const std::string_view word = text.substr(begin, dot == std::string_view::npos ? dot : dot - begin);
      const bool is_cut = is_prefix && dot == std::string_view::npos;
      const auto number = count < kNumbers ? number_in(word) : std::nullopt;
      if (number && is_cut) {
        entry.open = word;
      } else if (number) {
        entry.numbers[count++] = *number;
        key += '*';
      } else {
        key += word;
      }
      if (dot == std::string_view::npos) break;
      key += '.';
      begin = dot + 1;
    }
    Names& names = is_prefix ? out.prefixes : out.exact;
    auto found = names.find(std::string_view(key));
    if (found == names.end()) {
      found = names.emplace(key, std::vector<Numbered>()).first;
      if (is_prefix) out.prefix_lengths.push_back(key.size());
    }
    found->second.push_back(entry);
  }
  std::sort(out.prefix_lengths.begin(), out.prefix_lengths.end());
  out.prefix_lengths.erase(std::unique(out.prefix_lengths.begin(), out.prefix_lengths.end()), out.prefix_lengths.end());
  return out;
}

RuleBook::Called::Called(std::string_view name) : whole(name), bare(bare_module(name)) {}

bool RuleBook::glob_names(const std::string& below, const Called& module) const {
  const std::string_view glob = std::string_view(below).substr(0, below.size() - 2);
  return glob_matches(glob, module.bare, steps_) || glob_matches(below, module.bare, steps_) ||
         (module.bare.size() != module.whole.size() && glob_matches(glob, module.whole, steps_));
}

bool RuleBook::expression_names(const Expression& expression, const Called& module) const {
  return expression.matches_start(module.whole, steps_) ||
         (module.bare.size() != module.whole.size() && expression.matches_start(module.bare, steps_));
}

RuleBook::Order RuleBook::match(bool by_layer, std::string_view name, Order best) const {
  const std::size_t which = by_layer ? 1 : 0;
  const Called module(name);
  const auto check = [&](Order order) {
    if (steps_ > kMaxSteps)
      refuse_list((*rules_)[order],
                  std::to_string(lists_->expressions[0].size() + lists_->expressions[1].size() +
                                 lists_->globs[0].size() + lists_->globs[1].size()) +
                      " expressions and globs, which take too long to hold against every module of every layer");
  };
  for (const auto& [below, order] : lists_->globs[which]) {
    if (order >= best) break;  // later in the list
    if (glob_names(below, module)) best = order;
    check(order);
  }
  for (const auto& [expression, order] : lists_->expressions[which]) {
    if (order >= best) break;
    if (expression_names(expression, module)) best = order;
    check(order);
  }
  return best;
}

// Offers the entries for one name to a module that has it.
void RuleBook::offer(const Found& found, Named& out) {
  for (const Numbered& entry : found.entries) {
    std::optional<std::uint64_t> layer;
    bool fits = true;
    for (std::size_t i = 0; i < found.numbers.size() && fits; ++i) {
      if (found.numbers[i] == kLayer)
        layer = entry.numbers[i];
      else
        fits = (found.numbers[i] == kExpert ? 0 : found.numbers[i]) == entry.numbers[i];
    }
    if (!fits) continue;
    if (entry.open.empty()) {
      if (layer)
        out.layers_.emplace_back(*layer, entry.order);
      else
        out.every_ = std::min(out.every_, entry.order);
    } else if (found.next == kLayer) {
      out.open_.emplace_back(entry.open, entry.order);
    } else if (found.next && std::to_string(found.next == kExpert ? 0 : *found.next).starts_with(entry.open)) {
      out.every_ = std::min(out.every_, entry.order);
    }
  }
}

// A name matches the module itself, a block of modules, or the end of a name: any run of whole words.
template <class Take>
void RuleBook::each_found(std::string_view module, Take take) const {
  struct Word {
    std::string_view text;
    std::optional<std::uint32_t> number;
  };
  std::vector<Word> words;
  const std::string_view bare = bare_module(module);
  bool has_layer = false;
  for (std::size_t begin = 0; begin <= bare.size();) {
    const std::size_t end = std::min(bare.find('.', begin), bare.size());
    Word word{bare.substr(begin, end - begin), {}};
    word.number = word.text != "*" ? number_in(word.text) : std::exchange(has_layer, true) ? kExpert : kLayer;
    words.push_back(word);
    begin = end + 1;
  }
  std::string key;
  std::vector<std::uint32_t> numbers;
  const auto append = [&](const Word& word, bool is_first) {
    if (!is_first) key += '.';
    if (word.number && numbers.size() < kNumbers) {
      numbers.push_back(*word.number);
      key += '*';
    } else {
      key += word.text;
    }
  };
  for (std::size_t begin = 0; begin < words.size() && !lists_->exact.empty(); ++begin) {
    key.clear();
    numbers.clear();
    for (std::size_t end = begin; end < words.size(); ++end) {
      append(words[end], end == begin);
      if (const auto found = lists_->exact.find(std::string_view(key)); found != lists_->exact.end())
        take(Found{found->second, numbers, {}});
    }
  }
  if (lists_->prefixes.empty()) return;
  key.clear();
  numbers.clear();
  for (const Word& word : words) append(word, key.empty());
  for (const std::size_t length : lists_->prefix_lengths) {
    if (length > key.size()) break;
    const std::string_view start = std::string_view(key).substr(0, length);
    const auto found = lists_->prefixes.find(start);
    if (found == lists_->prefixes.end()) continue;
    const auto whole = static_cast<std::size_t>(std::count(start.begin(), start.end(), '.'));
    std::size_t count = 0;
    for (std::size_t i = 0; i < whole && count < kNumbers; ++i)
      if (words[i].number) ++count;
    take(Found{found->second, std::span<const std::uint32_t>(numbers).first(count), words[whole].number});
  }
}

RuleBook::Named RuleBook::named(std::vector<std::string> names) const {
  Named out;
  out.book_ = this;
  for (const std::string& name : names) each_found(name, [&](const Found& found) { offer(found, out); });
  std::sort(out.layers_.begin(), out.layers_.end());
  std::sort(out.open_.begin(), out.open_.end());
  for (const std::string& name : names) out.every_ = match(false, with_layer(name, 0), out.every_);
  out.names_ = std::move(names);
  return out;
}

const SchemeRule* RuleBook::Named::find(std::uint64_t layer) const {
  Order best = every_;
  const auto first = std::lower_bound(layers_.begin(), layers_.end(), std::pair(layer, Order{0}));
  if (first != layers_.end() && first->first == layer) best = std::min(best, first->second);
  if (!open_.empty()) {
    const std::string number = std::to_string(layer);
    for (std::size_t length = 1; length <= number.size(); ++length) {
      const std::string_view begin = std::string_view(number).substr(0, length);
      const auto open = std::lower_bound(open_.begin(), open_.end(), std::pair(begin, Order{0}));
      if (open != open_.end() && open->first == begin) best = std::min(best, open->second);
    }
  }
  if (!book_->lists_->globs[1].empty() || !book_->lists_->expressions[1].empty())
    for (const std::string& name : names_) best = book_->match(true, with_layer(name, layer), best);
  return best == kNone ? nullptr : &(*book_->rules_)[best];
}

// Marks the rules that match one of the modules passed to it.
class RuleBook::Marker {
 public:
  explicit Marker(const RuleBook& book) : book_(book), is_used_(book.rules_->size(), false) {}

  void show(const Module& module) {
    std::vector<bool> layers;
    std::set<std::string, std::less<>> beginnings;  // of layer numbers
    each_layer(module, [&](std::uint64_t layer) {
      if (layer >= layers.size()) layers.resize(layer + 1, false);
      layers[layer] = true;
      if (book_.lists_->prefixes.empty()) return;
      const std::string number = std::to_string(layer);
      for (std::size_t i = 1; i <= number.size(); ++i) beginnings.insert(number.substr(0, i));
    });
    const auto is_one = [&](std::uint32_t of_module, std::uint32_t of_rule) {
      if (of_module == kLayer) return of_rule < layers.size() && layers[of_rule];
      return of_module == kExpert ? of_rule < module.copies : of_rule == of_module;
    };
    for (const std::string& name : module.names)
      book_.each_found(name, [&](const Found& found) {
        for (const Numbered& entry : found.entries) {
          bool fits = !is_used_[entry.order];
          for (std::size_t i = 0; i < found.numbers.size() && fits; ++i)
            fits = is_one(found.numbers[i], entry.numbers[i]);
          if (fits && !entry.open.empty()) fits = found.next && begins(*found.next, entry.open, beginnings);
          if (fits) is_used_[entry.order] = true;
        }
      });
    for (const bool by_layer : {false, true}) {
      const std::size_t which = by_layer ? 1 : 0;
      for (const auto& [below, order] : book_.lists_->globs[which])
        look(module, by_layer, order, [&, &glob = below](const Called& name) { return book_.glob_names(glob, name); });
      for (const auto& [expression, order] : book_.lists_->expressions[which])
        look(module, by_layer, order,
             [&, &rule = expression](const Called& name) { return book_.expression_names(rule, name); });
    }
  }

  bool takes_too_long() const { return book_.steps_ > kMaxSteps; }
  std::vector<const SchemeRule*> unmatched() const {
    std::vector<const SchemeRule*> out;
    for (std::size_t i = 0; i < is_used_.size(); ++i)
      if (!is_used_[i]) out.push_back(&(*book_.rules_)[i]);
    return out;
  }

 private:
  template <class Visit>
  static void each_layer(const Module& module, Visit visit) {
    for (const LayerRun& run : module.layers)
      for (std::uint64_t i = 0; i < run.count; ++i) visit(run.first + i * run.step);
  }

  static bool begins(std::uint32_t next, std::string_view open, const std::set<std::string, std::less<>>& beginnings) {
    if (next == kLayer) return beginnings.find(open) != beginnings.end();
    return next == kExpert || std::to_string(next).starts_with(open);
  }

  // Tries a glob or expression in every layer, if it distinguishes them, until it matches one.
  template <class Names>
  void look(const Module& module, bool by_layer, Order order, Names names) {
    constexpr std::uint64_t kStepsOfName = 16;  // the cost of composing a name
    const auto names_one = [&](const std::string& pattern, std::uint64_t layer) {
      const std::string name = with_layer(pattern, layer);
      book_.steps_ += kStepsOfName;
      return names(Called(name));
    };
    for (const std::string& name : module.names) {
      if (is_used_[order] || takes_too_long()) return;
      if (!by_layer || module.layers.empty()) {
        is_used_[order] = names_one(name, 0);
        continue;
      }
      each_layer(module, [&](std::uint64_t layer) {
        if (!is_used_[order] && !takes_too_long()) is_used_[order] = names_one(name, layer);
      });
    }
  }

  const RuleBook& book_;
  std::vector<bool> is_used_;
};

std::vector<const SchemeRule*> RuleBook::unmatched(const std::vector<Module>& modules) const {
  // Has its own limit, and does not count towards the other one.
  const std::uint64_t before = std::exchange(steps_, kMaxSteps - kMaxStepsOfNotes);
  Marker marker(*this);
  for (const Module& module : modules) marker.show(module);
  const bool takes_too_long = marker.takes_too_long();
  steps_ = before;
  return takes_too_long ? std::vector<const SchemeRule*>() : marker.unmatched();
}

}  // namespace kvplan
