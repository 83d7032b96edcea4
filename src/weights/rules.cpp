#include "weights/rules.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "kvplan/error.h"
#include "kvplan/strings.h"

namespace kvplan {

// Limits for one config. Checkpoints have tens of expressions and globs, or hundreds if each layer has its own. Whole
// names and prefixes are looked up, so there can be tens of thousands: one for each matrix of each expert.
constexpr std::size_t kMaxRules = 200'000;     // some 700 bytes each in a model's copies: 140 MB
constexpr std::size_t kMaxExpressions = 5000;  // at most 6 KiB each: 30 MiB
constexpr std::size_t kMaxGlobs = 50'000;      // some 100 bytes each: 5 MB
// For all matching together: a third of a second. 378 expressions on 126 layers of 7 modules take half of it.
constexpr std::uint64_t kMaxSteps = 100'000'000;
// For finding rules that match no module, for a note: 50 ms, and a quarter of a second for names.
constexpr std::uint64_t kMaxStepsOfNotes = 15'000'000;
constexpr std::size_t kMaxRulesOfNotes = 100'000;

// Refuses a list, by its config key.
[[noreturn]] static void refuse_list(const SchemeRule& rule, const std::string& what) {
  const std::string list =
      rule.list.empty() ? "the quantization config" : '"' + std::string(rule.list) + "\" of the quantization config";
  throw TooManyRules(list + " names modules by " + what,
                     "name the modules, join expressions by \"|\", or say the type with --weights");
}

[[noreturn]] static void refuse_more(const SchemeRule& rule, std::size_t bound, std::string_view kind) {
  refuse_list(rule, "more than " + std::to_string(bound) + " " + std::string(kind) + " (\"" +
                        one_line(rule.pattern, 40) + "\" is one too many)");
}

static bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// Whether an expression may match some layers and not others: it has a digit, or something that matches a digit. The
// layer's number is a separate word between dots.
static bool tells_layers_apart(std::string_view expression) {
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
    // ".*" matches any number. Right after a letter there is no number.
    if (c == '.' && at(i + 1) != '*' && (i == 0 || !is_letter(expression[i - 1]))) return true;
  }
  return false;
}

// Matches * and ? as a shell does.
static bool glob_matches(std::string_view pattern, std::string_view text, std::uint64_t& steps) {
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

// The module's name in a layer: the first "*" is the layer's number, further ones are `expert`.
std::string with_layer(std::string_view module, std::uint64_t layer, std::string_view expert = "0") {
  std::string out;
  out.reserve(module.size() + 8);
  bool is_first = true;
  for (const char c : module) {
    if (c != '*')
      out += c;
    else
      out += std::exchange(is_first, false) ? std::to_string(layer) : std::string(expert);
  }
  return out;
}

// Every run of whole words in a name.
template <class Take>
void each_run(std::string_view name, const Take& take) {
  for (std::size_t begin = 0;; begin = name.find('.', begin) + 1) {
    for (std::size_t end = begin; end <= name.size(); ++end) {
      end = std::min(name.find('.', end), name.size());
      take(name.substr(begin, end - begin));
    }
    if (name.find('.', begin) == std::string_view::npos) return;
  }
}

enum class PatternForm { kExpression, kGlob, kPrefix, kName };

// The kind of a pattern, and its text without "re:", wrappers, dots at its ends, and a prefix's star.
std::pair<PatternForm, std::string_view> parsed(std::string_view pattern) {
  if (pattern.starts_with("re:")) return {PatternForm::kExpression, pattern.substr(3)};
  // "model.layers.0." means everything in that block, and ".gate." a module of that name.
  while (pattern.size() > 1 && pattern.back() == '.') pattern.remove_suffix(1);
  while (pattern.size() > 1 && pattern.front() == '.') pattern.remove_prefix(1);
  const std::string_view text = bare_module(pattern);
  const std::size_t star = text.find_first_of("*?");
  if (star == std::string_view::npos) return {PatternForm::kName, text};
  if (star > 0 && star + 1 == text.size() && text.back() == '*') return {PatternForm::kPrefix, text.substr(0, star)};
  return {PatternForm::kGlob, text};
}

}  // namespace

RuleBook::RuleBook(const std::vector<SchemeRule>& rules)
    : lists_(std::make_shared<const Lists>(lists_of(rules))), rules_(&rules) {}

RuleBook::Lists RuleBook::lists_of(const std::vector<SchemeRule>& rules) {
  Lists out;
  std::size_t expressions = 0, globs = 0;
  for (Order order = 0; order < rules.size(); ++order) {
    const SchemeRule& rule = rules[order];
    if (order == kMaxRules) refuse_more(rule, kMaxRules, "names");
    const auto [form, text] = parsed(rule.pattern);
    // "?" may distinguish numbers of one digit from those of two.
    const bool is_apart = form == PatternForm::kExpression
                              ? tells_layers_apart(text)
                              : text.find_first_of("0123456789?") != std::string_view::npos;
    Patterns& patterns = is_apart ? out.apart : out.alike;
    switch (form) {
      case PatternForm::kExpression:
        if (++expressions > kMaxExpressions) refuse_more(rule, kMaxExpressions, "expressions");
        if (auto read = Expression::read(text))
          patterns.expressions.emplace_back(*std::move(read), order);
        else
          ++out.unread;
        break;
      case PatternForm::kGlob:
        if (++globs > kMaxGlobs) refuse_more(rule, kMaxGlobs, "globs");
        patterns.globs.emplace_back(std::string(text) + ".*", order);
        break;
      case PatternForm::kPrefix: patterns.prefixes.emplace(text, order); break;
      case PatternForm::kName: patterns.names.emplace(text, order); break;
    }
  }
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

RuleBook::Order RuleBook::match(const Patterns& patterns, std::string_view name, Order best) const {
  const Called module(name);
  // A name matches the module itself, a block of modules, or the end of a name.
  const auto look_up = [&](const NameList& list, std::string_view word) {
    if (const auto found = list.find(word); found != list.end()) best = std::min(best, found->second);
  };
  if (!patterns.names.empty()) each_run(module.bare, [&](std::string_view run) { look_up(patterns.names, run); });
  for (std::size_t length = 1; length <= module.bare.size() && !patterns.prefixes.empty(); ++length)
    look_up(patterns.prefixes, module.bare.substr(0, length));
  const auto check = [&](Order order) {
    if (steps_ > kMaxSteps)
      refuse_list((*rules_)[order],
                  std::to_string(lists_->alike.expressions.size() + lists_->apart.expressions.size() +
                                 lists_->alike.globs.size() + lists_->apart.globs.size()) +
                      " expressions and globs, which take too long to match against every module of every layer");
  };
  for (const auto& [below, order] : patterns.globs) {
    if (order >= best) break;  // later in the list
    if (glob_names(below, module)) best = order;
    check(order);
  }
  for (const auto& [expression, order] : patterns.expressions) {
    if (order >= best) break;
    if (expression_names(expression, module)) best = order;
    check(order);
  }
  return best;
}

RuleBook::Named RuleBook::named(std::vector<std::string> names) const {
  Named out;
  out.book_ = this;
  for (const std::string& name : names) out.every_ = match(lists_->alike, with_layer(name, 0), out.every_);
  out.names_ = std::move(names);
  return out;
}

const SchemeRule* RuleBook::Named::find(std::uint64_t layer) const {
  Order best = every_;
  const Patterns& apart = book_->lists_->apart;
  for (std::size_t i = 0; i < names_.size() && !apart.empty(); ++i)
    best = book_->match(apart, with_layer(names_[i], layer), best);
  return best == kNone ? nullptr : &(*book_->rules_)[best];
}

// Marks the rules that match one of the modules passed to it.
class RuleBook::Marker {
 public:
  explicit Marker(const RuleBook& book) : book_(book), is_used_(book.rules_->size(), false) {
    for (const SchemeRule& rule : *book.rules_) {
      const auto [form, text] = parsed(rule.pattern);
      if (form != PatternForm::kName && form != PatternForm::kPrefix) continue;
      seen_.emplace(text, Seen());
      each_expert(
          text, [&](const std::string& name, std::uint64_t) { seen_.emplace(*experts_.emplace(name).first, Seen()); });
    }
  }

  void show(const Module& module) {
    for (const std::string& name : module.names) {
      if (module.layers.empty()) show_name(name, module.copies);
      each_layer(module, [&](std::uint64_t layer) { show_name(with_layer(name, layer, "*"), module.copies); });
    }
    for (const bool by_layer : {false, true}) {
      const Patterns& patterns = by_layer ? book_.lists_->apart : book_.lists_->alike;
      for (const auto& [below, order] : patterns.globs)
        look(module, by_layer, order, [&, &glob = below](const Called& name) { return book_.glob_names(glob, name); });
      for (const auto& [expression, order] : patterns.expressions)
        look(module, by_layer, order,
             [&, &rule = expression](const Called& name) { return book_.expression_names(rule, name); });
    }
  }

  bool takes_too_long() const { return book_.steps_ > kMaxSteps; }
  std::vector<const SchemeRule*> unmatched() const {
    std::vector<const SchemeRule*> out;
    for (std::size_t i = 0; i < is_used_.size(); ++i)
      if (!is_used_[i] && !is_shown((*book_.rules_)[i])) out.push_back(&(*book_.rules_)[i]);
    return out;
  }

 private:
  // In how many copies of a module a name, or the start of one, was found; 0: none.
  struct Seen {
    std::uint64_t whole = 0, begins = 0;
  };

  template <class Visit>
  static void each_layer(const Module& module, const Visit& visit) {
    for (const LayerRun& run : module.layers)
      for (std::uint64_t i = 0; i < run.count; ++i) visit(run.first + i * run.step);
  }

  // Visits a rule's name with each of its numbers taken as the expert's: "layers.3.experts.*", 17.
  template <class Visit>
  static void each_expert(std::string_view name, const Visit& visit) {
    for (std::size_t begin = 0; begin < name.size();) {
      const std::size_t end = std::min(name.find('.', begin), name.size());
      const std::string_view word = name.substr(begin, end - begin);
      if (const auto number = whole_number(word); number && std::to_string(*number) == word)
        visit(std::string(name.substr(0, begin)) + '*' + std::string(name.substr(end)), *number);
      begin = end + 1;
    }
  }

  void show_name(std::string_view name, std::uint64_t copies) {
    const std::string_view bare = bare_module(name);
    const auto show_as = [&](std::string_view word, std::uint64_t Seen::*figure) {
      if (const auto found = seen_.find(word); found != seen_.end())
        found->second.*figure = std::max(found->second.*figure, copies);
    };
    each_run(bare, [&](std::string_view run) { show_as(run, &Seen::whole); });
    for (std::size_t length = 1; length <= bare.size(); ++length) show_as(bare.substr(0, length), &Seen::begins);
  }

  // Whether a module has a rule's name, or begins with it.
  bool is_shown(const SchemeRule& rule) const {
    const auto [form, text] = parsed(rule.pattern);
    const auto figure = form == PatternForm::kName     ? &Seen::whole
                        : form == PatternForm::kPrefix ? &Seen::begins
                                                       : nullptr;
    if (figure == nullptr) return false;
    bool out = seen_.at(text).*figure > 0;
    each_expert(text,
                [&](const std::string& name, std::uint64_t number) { out = out || seen_.at(name).*figure > number; });
    return out;
  }

  // Tries a glob or expression until it matches: in every layer if it distinguishes layers, otherwise in one.
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
  std::vector<bool> is_used_;      // of globs and expressions
  std::set<std::string> experts_;  // names with a "*" for an expert's number
  std::unordered_map<std::string_view, Seen> seen_;
};

std::vector<const SchemeRule*> RuleBook::unmatched(const std::vector<Module>& modules) const {
  if (rules_->size() > kMaxRulesOfNotes) return {};
  // This has its own limit, and does not count towards the other one.
  const std::uint64_t before = std::exchange(steps_, kMaxSteps - kMaxStepsOfNotes);
  Marker marker(*this);
  for (const Module& module : modules) marker.show(module);
  const bool takes_too_long = marker.takes_too_long();
  steps_ = before;
  return takes_too_long ? std::vector<const SchemeRule*>() : marker.unmatched();
}

namespace {

// Whether a rule is about tensors that are never packed. Lists repeat a checkpoint's whole index, including norms,
// biases, tables, convolutions and towers, and kvplan knows fewer of those names.
bool names_unpacked(std::string_view pattern) {
  for (const std::string_view word : {"norm", "bias", "embed", "conv", "rotary", "visual", "vision", "audio", "image",
                                      "projector", "merge", "aligner", "mtp"})
    if (pattern.find(word) != std::string_view::npos) return true;
  return false;
}

// Whether it names a layer: "model.layers.61*" in a model of 61 layers is the MTP layer.
bool names_layer(std::string_view pattern, std::uint64_t layer) {
  const std::string word = "layers." + std::to_string(layer);
  const std::size_t at = pattern.find(word);
  return at != std::string_view::npos &&
         (at + word.size() == pattern.size() || pattern.find_first_of(".*", at + word.size()) == at + word.size());
}

std::vector<RuleBook::Module> modules_of(const WeightModel& model) {
  std::vector<RuleBook::Module> out;
  for (const TensorGroup& group : model.tensors) {
    out.push_back(
        {names_of(group), group.place == Place::kLayers ? group.layers : std::vector<LayerRun>(), group.copies});
  }
  return out;
}

// One list: the number of its rules, and of those that match nothing.
struct List {
  std::string_view key;
  std::size_t rules = 0, unmatched = 0;
  std::string_view first = {};  // the first that matches nothing
};

List& list_of(std::vector<List>& lists, std::string_view key) {
  const auto found = std::find_if(lists.begin(), lists.end(), [&](const List& list) { return list.key == key; });
  if (found != lists.end()) return *found;
  lists.push_back({key});
  return lists.back();
}

}  // namespace

std::vector<std::string> names_of(const TensorGroup& group) {
  return group.names.empty() ? std::vector<std::string>{group.module} : group.names;
}

std::vector<Note> notes_of_unmatched(const WeightModel& model, const RuleBook& book) {
  std::vector<List> lists;
  for (const SchemeRule& rule : model.quantization.rules) ++list_of(lists, rule.list).rules;
  for (const SchemeRule* rule : book.unmatched(modules_of(model))) {
    if (names_unpacked(rule->pattern) || names_layer(rule->pattern, model.num_layers)) continue;
    List& list = list_of(lists, rule->list);
    if (list.unmatched++ == 0) list.first = rule->pattern;
  }
  std::vector<Note> out;
  for (const List& list : lists) {
    if (list.unmatched == 0) continue;
    const NoteLevel level = 2 * list.unmatched > list.rules ? NoteLevel::kWarning : NoteLevel::kInfo;
    out.push_back(
        {level,
         "unmatched_modules",
         {"{unmatched} of {names} names in \"{key}\" of the quantization config match no module of this model "
          "(first: \"{first}\"): they are not applied",
          {{"unmatched", list.unmatched},
           {"names", list.rules},
           {"key", list.key},
           {"first", one_line(list.first, 60)}}}});
  }
  return out;
}

}  // namespace kvplan
