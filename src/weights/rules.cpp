#include "weights/rules.h"

#include <regex.h>

#include <algorithm>
#include <optional>

namespace kvplan {

namespace {

// glibc's matcher takes no time beyond the text's length without back references; long or counted expressions are
// not worth their memory.
constexpr std::size_t kMaxExpression = 300;

// Python's classes in POSIX's spelling; nothing where the expression uses more than both know.
std::optional<std::string> posix_of(std::string_view text) {
  std::string out = "^(";
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '{') return std::nullopt;
    if (text[i] == '(' && i + 1 < text.size() && text[i + 1] == '?') {
      if (i + 2 >= text.size() || text[i + 2] != ':') return std::nullopt;
      out += '(';
      i += 2;
      continue;
    }
    if (text[i] != '\\') {
      out += text[i];
      continue;
    }
    if (++i == text.size()) return std::nullopt;
    if (text[i] == 'd')
      out += "[0-9]";
    else if (text[i] == 'w')
      out += "[A-Za-z0-9_]";
    else if (text[i] >= '0' && text[i] <= '9')
      return std::nullopt;
    else
      out += std::string("\\") + text[i];
  }
  return out + ")";
}

}  // namespace

struct RuleBook::Regex {
  regex_t compiled{};
  ~Regex() { regfree(&compiled); }
};

bool glob_matches(std::string_view pattern, std::string_view text) {
  std::size_t p = 0, t = 0, star = std::string_view::npos, mark = 0;
  while (t < text.size()) {
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
    for (const std::string_view wrapper : {"model.", "language_model.", "backbone.", "transformer."}) {
      if (!module.starts_with(wrapper)) continue;
      module.remove_prefix(wrapper.size());
      again = true;
    }
  }
  return module;
}

RuleBook::~RuleBook() = default;

RuleBook::RuleBook(const std::vector<SchemeRule>& rules) : size_(rules.size()) {
  texts_.reserve(rules.size());
  for (const SchemeRule& rule : rules) {
    const Index index{&rule, texts_.size()};
    in_order_.push_back(&rule);
    std::string_view pattern = rule.pattern;
    const bool digits = pattern.find_first_of("0123456789") != std::string_view::npos;
    if (pattern.starts_with("re:")) {
      texts_.emplace_back();
      pattern.remove_prefix(3);
      const auto text = pattern.size() <= kMaxExpression ? posix_of(pattern) : std::nullopt;
      auto regex = std::make_unique<Regex>();
      if (!text || regcomp(&regex->compiled, text->c_str(), REG_EXTENDED | REG_NOSUB) != 0) {
        ++unread_;
        continue;
      }
      expressions_[digits ? 1 : 0].emplace_back(std::move(regex), index);
      continue;
    }
    texts_.emplace_back(bare_module(pattern));
    std::string_view text = texts_.back();
    const std::size_t star = text.find_first_of("*?");
    if (star == std::string_view::npos) {
      exact_.emplace(text, index);
    } else if (star + 1 == text.size() && star > 0 && text.back() == '*') {
      text.remove_suffix(1);
      prefixes_.emplace(text, index);
      prefix_lengths_.push_back(text.size());
    } else {
      globs_[digits ? 1 : 0].emplace_back(text, index);
    }
  }
  std::sort(prefix_lengths_.begin(), prefix_lengths_.end());
  prefix_lengths_.erase(std::unique(prefix_lengths_.begin(), prefix_lengths_.end()), prefix_lengths_.end());
}

std::size_t RuleBook::match(bool digits, std::string_view module, std::size_t best) const {
  const std::size_t which = digits ? 1 : 0;
  const std::string_view bare = bare_module(module);
  for (const auto& [glob, index] : globs_[which]) {
    if (index.order >= best) continue;
    if (glob_matches(glob, bare) || glob_matches(std::string(glob) + ".*", bare) || glob_matches(glob, module))
      best = index.order;
  }
  if (expressions_[which].empty()) return best;
  const std::string full(module), short_name(bare);
  for (const auto& [regex, index] : expressions_[which]) {
    if (index.order >= best) continue;
    if (regexec(&regex->compiled, full.c_str(), 0, nullptr, 0) == 0 ||
        regexec(&regex->compiled, short_name.c_str(), 0, nullptr, 0) == 0)
      best = index.order;
  }
  return best;
}

std::size_t RuleBook::without_layer(std::string_view module) const {
  return match(false, module, kNone);
}

const SchemeRule* RuleBook::find(std::string_view module, std::size_t without_layer) const {
  std::size_t best = without_layer;
  const std::string_view bare = bare_module(module);
  const auto offer = [&](const Index& index) { best = std::min(best, index.order); };
  // A name stands for the module itself, for a block of modules, and for the end of a name: any whole run of words.
  for (std::size_t begin = 0; begin <= bare.size() && !exact_.empty();) {
    for (std::size_t end = bare.size();;) {
      if (const auto found = exact_.find(bare.substr(begin, end - begin)); found != exact_.end()) offer(found->second);
      const std::size_t dot = bare.rfind('.', end == 0 ? 0 : end - 1);
      if (dot == std::string_view::npos || dot <= begin) break;
      end = dot;
    }
    const std::size_t next = bare.find('.', begin);
    if (next == std::string_view::npos) break;
    begin = next + 1;
  }
  for (const std::size_t length : prefix_lengths_) {
    if (length > bare.size()) break;
    if (const auto found = prefixes_.find(bare.substr(0, length)); found != prefixes_.end()) offer(found->second);
  }
  best = match(true, module, best);
  return best == kNone ? nullptr : in_order_[best];
}

}  // namespace kvplan
