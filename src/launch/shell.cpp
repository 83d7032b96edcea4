#include "launch/shell.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "kvplan/error.h"
#include "kvplan/strings.h"

namespace kvplan {

namespace {

using std::string_view;

constexpr std::size_t kMostWords = 10000;
constexpr std::size_t kMostExpanded = std::size_t{1} << 20;  // B=$A$A doubles
constexpr std::size_t kLongestReference = 4096;              // of ${...} and <...>
constexpr std::uint64_t kMostNumber = std::uint64_t{1} << 60;
constexpr string_view kBlank = " \t\r";

bool is_name(char c) {
  return is_letter_or_digit(c) || c == '_';
}

// The part of `text` that names a variable: "HF_TOKEN".
string_view variable_name(string_view text) {
  std::size_t size = 0;
  while (size < text.size() && is_name(text[size])) ++size;
  return size > 0 && text[0] >= '0' && text[0] <= '9' ? text.substr(0, 1) : text.substr(0, size);
}

std::string unquoted(string_view text) {
  if (text.size() >= 2 && (text[0] == '"' || text[0] == '\'') && text.back() == text[0])
    text = text.substr(1, text.size() - 2);
  return std::string(text);
}

using Words = std::vector<ShellWord>;

class ShellReader {
 public:
  explicit ShellReader(string_view text) : text_(text) {}

  ShellText read() {
    while (at_ < text_.size()) step();
    end_command();
    return std::move(out_);
  }

 private:
  char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  string_view rest() const { return text_.substr(std::min(at_, text_.size())); }
  string_view line() const { return rest().substr(0, rest().find('\n')); }

  void step() {
    const char c = peek();
    if (kBlank.find(c) != string_view::npos) {
      end_word();
      ++at_;
    } else if (is_continuation(c)) {
      end_word();
      at_ += line().size() + 1;
    } else if (c == '\n') {
      end_word();
      ++at_;
      if (!goes_on()) {
        end_command();
        in_condition_ = false;
      }
    } else if (c == '#' && !in_word_) {
      at_ += line().size();
    } else if (c == '\'' || c == '"') {
      quoted(c);
    } else if (c == '@' && !in_word_ && splat()) {
    } else if (c == '$') {
      variable(false);
    } else if (c == '%' && windows_variable()) {
    } else if (c == '`') {
      substitution("`", "`");
    } else if (c == '\\') {
      ++at_;
      if (is_letter_or_digit(peek()) || peek() == '\\') add('\\');
      if (at_ < text_.size()) add(peek());
      ++at_;
    } else if (c == ';' || c == '|' || (c == '&' && peek(1) != '>') || c == ')' || (c == '(' && !is_array())) {
      end_word();
      end_command();
      // After "[ ... ] &&" the command may not run.
      in_condition_ = c == '&' && peek(1) == '&' && ended_test_;
      at_ += in_condition_ ? 2 : 1;
    } else if (c == '(') {
      array();
    } else if (c == '<' || c == '>' || c == '&') {
      redirection();
    } else {
      add(c);
      ++at_;
    }
  }

  // A backslash, a backtick (PowerShell) or a caret (Windows) at the end of a line.
  bool is_continuation(char c) const {
    if (c != '\\' && c != '`' && c != '^') return false;
    const auto next = rest().find_first_not_of(kBlank, 1);
    return (next == string_view::npos || rest()[next] == '\n') && (c == '\\' || !in_word_);
  }

  // The next line begins with an option, so the backslash before it was lost.
  bool goes_on() const {
    const auto first = rest().find_first_not_of(kBlank);
    if (command_.words.empty() || first == string_view::npos || rest()[first] != '-') return false;
    const char next = first + 1 < rest().size() ? rest()[first + 1] : ' ';
    return next == '-' || is_letter_or_digit(next);
  }

  void quoted(char quote) {
    in_word_ = is_quoted_ = true;
    ++at_;
    while (at_ < text_.size() && peek() != quote) {
      if (quote == '"' && peek() == '$') {
        variable(true);
        continue;
      }
      if (quote == '"' && peek() == '%' && windows_variable()) continue;
      const bool escapes = quote == '"' && peek() == '\\' && string_view("\"\\$`").find(peek(1)) != string_view::npos;
      if (escapes) ++at_;
      if (quote == '"' && peek() == '\\' && peek(1) == '\n')
        ++at_;
      else
        word_.text += peek();
      ++at_;
    }
    ++at_;
  }

  // %NAME% of a Windows script that assigns it.
  bool windows_variable() {
    const string_view name = variable_name(rest().substr(1));
    const auto known = variables_.find(name);
    if (name.empty() || peek(name.size() + 1) != '%' || known == variables_.end()) return false;
    at_ += name.size() + 2;
    for (const ShellWord& word : known->second) insert(word.text, true);
    return true;
  }

  // $NAME, ${NAME}, ${NAME:-default}, $env:NAME, $(...)
  void variable(bool in_quotes) {
    const std::size_t from = at_++;
    if (rest().starts_with("((") && arithmetic()) return;
    if (peek() == '(') return substitution("$(", ")", from);
    const bool braces = peek() == '{';
    if (braces) ++at_;
    if (lower(rest().substr(0, 4)) == "env:") at_ += 4;
    const std::string name(variable_name(rest()));
    at_ += name.size();
    string_view tail;
    if (braces) {
      tail = rest().substr(0, closing_brace());
      at_ += std::min(tail.size() + 1, rest().size());
    }
    if (name.empty() && !braces && (peek() == '@' || peek() == '*')) {  // the script's own arguments
      ++at_;
      in_word_ = true;
      word_.text += "$@";
      word_.unset.emplace_back("@");
      return;
    }
    if (!braces && powershell_assignment(name, in_quotes)) return;
    const string_view whole = text_.substr(from, at_ - from);
    if (name.empty() || (peek() == '=' && !in_word_ && !in_quotes)) {  // "$ ", "$@", or PowerShell's assignment
      for (const char c : whole) add(c);
      return;
    }
    const bool has_default = tail.starts_with(":-") || tail.starts_with("-") || tail.starts_with(":=");
    const bool is_plain = tail.empty() || has_default || tail == "[@]" || tail == "[*]";
    const auto known = variables_.find(name);
    if (!is_plain || (known == variables_.end() && !has_default)) {
      in_word_ = true;
      word_.text += whole;
      word_.unset.push_back(name);
      return;
    }
    const Words values = known != variables_.end() ? known->second : default_of(tail.substr(tail[0] == '-' ? 1 : 2));
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (i > 0) end_word();
      insert(values[i].text, in_quotes);
      word_.unset.insert(word_.unset.end(), values[i].unset.begin(), values[i].unset.end());
    }
  }

  // The default in ${NAME:-default}, which may be another variable.
  Words default_of(string_view text) const {
    const std::string plain = unquoted(text);
    if (!plain.starts_with('$')) return {{plain, {}}};
    const std::string name(variable_name(string_view(plain).substr(plain.starts_with("${") ? 2 : 1)));
    const auto known = variables_.find(name);
    return known != variables_.end() ? known->second : Words{{plain, {name.empty() ? plain : name}}};
  }

  // PowerShell: & program @arguments
  bool splat() {
    const string_view name = variable_name(rest().substr(1));
    const auto known = variables_.find(name);
    if (name.empty() || known == variables_.end()) return false;
    at_ += name.size() + 1;
    for (const ShellWord& word : known->second) {
      insert(word.text, true);
      end_word();
    }
    return true;
  }

  // PowerShell: $name = "value", $name = @("a", "b"). The name and "=" become the beginning of a word.
  bool powershell_assignment(const std::string& name, bool in_quotes) {
    if (in_quotes || in_word_ || !command_.words.empty() || name.empty()) return false;
    const auto equals = rest().find_first_not_of(kBlank);
    if (equals == string_view::npos || rest()[equals] != '=' || rest().substr(equals).starts_with("==")) return false;
    const auto value = rest().find_first_not_of(kBlank, equals + 1);
    if (value == string_view::npos || rest()[value] == '\n') return false;
    at_ += value;
    if (rest().starts_with("@(")) ++at_;
    for (const char c : name + "=") add(c);
    return true;
  }

  // $((2 * N)), if the numbers are known.
  bool arithmetic() {
    const auto end = rest().substr(0, kLongestReference).find("))");
    if (end == string_view::npos) return false;
    string_view text = rest().substr(2, end - 2);
    const auto value = sum(text);
    if (!value || !trimmed(text).empty()) return false;
    at_ += end + 2;
    in_word_ = true;
    word_.text += std::to_string(*value);
    return true;
  }
  std::optional<std::uint64_t> sum(string_view& text) const {
    auto out = product(text);
    while (out && (text.starts_with('+') || text.starts_with('-'))) {
      const bool adds = text[0] == '+';
      text.remove_prefix(1);
      const auto next = product(text);
      if (!next || *next > (adds ? kMostNumber - *out : *out)) return std::nullopt;
      out = adds ? *out + *next : *out - *next;
    }
    return out;
  }
  std::optional<std::uint64_t> product(string_view& text) const {
    auto out = factor(text);
    while (out && (text.starts_with('*') || text.starts_with('/'))) {
      const bool multiplies = text[0] == '*';
      text.remove_prefix(1);
      const auto next = factor(text);
      if (!next || (!multiplies && *next == 0) || (multiplies && *next > 0 && *out > kMostNumber / *next))
        return std::nullopt;
      out = multiplies ? *out * *next : *out / *next;
    }
    return out;
  }
  std::optional<std::uint64_t> factor(string_view& text) const {
    text = trimmed(text);
    if (text.starts_with('$')) text.remove_prefix(1);
    std::size_t size = 0;
    while (size < text.size() && is_name(text[size])) ++size;
    const string_view word = text.substr(0, size);
    text = trimmed(text.substr(size));
    const auto known = variables_.find(word);
    const string_view digits =
        known != variables_.end() && known->second.size() == 1 ? string_view(known->second.front().text) : word;
    const auto out = whole_number(digits);
    return out && *out <= kMostNumber ? out : std::nullopt;
  }

  std::size_t closing_brace() const {
    const string_view inside = rest().substr(0, kLongestReference);
    std::size_t depth = 1, size = 0;
    for (; size < inside.size(); ++size) {
      if (inside[size] == '{') ++depth;
      if (inside[size] == '}' && --depth == 0) break;
    }
    return size;
  }

  // A value without quotes is split into words.
  void insert(string_view value, bool in_quotes) {
    expanded_ += value.size();
    if (expanded_ > kMostExpanded) fail("the values of its variables are longer than 1 MiB", "give only the command");
    for (const char c : value) {
      if (!in_quotes && (c == '\n' || kBlank.find(c) != string_view::npos))
        end_word();
      else
        add(c);
    }
  }

  void substitution(string_view opening, string_view closing, std::optional<std::size_t> from = {}) {
    const std::size_t start = from.value_or(at_);
    std::size_t end = start + opening.size();
    int depth = 1;
    for (; end < text_.size() && depth > 0; ++end) {
      if (opening != closing && text_[end] == '(') ++depth;
      if (text_[end] == closing[0]) --depth;
    }
    in_word_ = true;
    word_.text += text_.substr(start, end - start);
    const std::string inside(text_.substr(start + opening.size(), end - start - opening.size()).substr(0, 40));
    word_.unset.push_back(std::string(opening) + inside);
    at_ = end;
  }

  // Arrays do not nest.
  bool is_array() const { return word_.text.ends_with('=') && !is_quoted_ && !in_array_; }
  void array() {
    in_array_ = true;
    std::string name = word_.text.substr(0, word_.text.size() - 1);
    const bool adds = name.ends_with('+');
    if (adds) name.pop_back();
    const bool counts = !in_condition_;
    word_ = {};
    in_word_ = false;
    const ShellCommand outside = std::move(command_);
    command_ = {};
    for (++at_; at_ < text_.size() && peek() != ')';) {
      if (peek() == '\n') {
        end_word();
        ++at_;
      } else {
        step();
      }
    }
    ++at_;
    end_word();
    if (counts && !adds) variables_[name].clear();
    for (ShellWord& word : command_.words) {
      if (word.text.size() > 1 && word.text.ends_with(',')) word.text.pop_back();  // PowerShell's
      if (counts) variables_[name].push_back(std::move(word));
    }
    command_ = outside;
    in_array_ = false;
  }

  // "> file", "2>&1"; "<key>" is a placeholder that people leave in. The text after "<<EOF" may be the script that they
  // run, so it is read like the rest.
  void redirection() {
    const string_view near = rest().substr(0, kLongestReference);
    const auto end = near.find_first_of("> \t\n", 1);
    if (near[0] == '<' && end != string_view::npos && near[end] == '>' && is_letter_or_digit(near[1])) {
      for (const char c : near.substr(0, end + 1)) add(c);
      at_ += end + 1;
      return;
    }
    if (word_.text.find_first_not_of("0123456789") == string_view::npos) word_ = {}, in_word_ = false;
    end_word();
    at_ += std::min(rest().find_first_not_of("<>&|-"), rest().size());
    skips_next_ = true;
  }

  void add(char c) {
    in_word_ = true;
    word_.text += c;
  }

  void end_word() {
    if (!in_word_) return;
    in_word_ = is_quoted_ = false;
    ShellWord word = std::exchange(word_, {});
    if (std::exchange(skips_next_, false)) return;
    if (++words_ > kMostWords) fail("the text has more than 10,000 words", "give only the command");
    command_.words.push_back(std::move(word));
  }

  // Assignments before the first word apply to that command. If they have no command, or are exported, they apply to
  // the rest of the text.
  void end_command() {
    end_word();
    skips_next_ = false;
    ShellCommand command = std::exchange(command_, {});
    // Keywords of the shell in front of a command.
    const auto begins = std::find_if(command.words.begin(), command.words.end(), [](const ShellWord& word) {
      return !has_word("{ } then do else ! if elif while until", word.text);
    });
    command.words.erase(command.words.begin(), begins);
    if (command.words.empty()) return;
    const string_view word = command.words.front().text;
    ended_test_ = word == "[" || word == "[[" || word == "test";
    // systemd's and supervisor's files
    for (const string_view key : {"ExecStart=", "command=", "Environment="})
      if (string_view(command.words.front().text).starts_with(key)) command.words.front().text.erase(0, key.size());
    if (command.words.front().text.empty()) command.words.erase(command.words.begin());
    if (command.words.empty()) return;
    Assignments own;
    std::size_t first = 0;
    const string_view verb = command.words.front().text;
    const bool declares = verb == "export" || verb == "set" || verb == "declare" || verb == "setx" || verb == "ENV" ||
                          verb == "local" || verb == "readonly";
    if (declares) ++first;
    if (declares && verb == "declare") ++first;
    for (; first < command.words.size(); ++first) {
      string_view text = command.words[first].text;
      if (lower(text.substr(0, 5)) == "$env:") text.remove_prefix(5);
      const string_view name = variable_name(text);
      const string_view after = text.substr(name.size());
      if (!name.empty() && after.empty() && first + 2 < command.words.size() && command.words[first + 1].text == "=") {
        own.emplace_back(name, command.words[first + 2].text);  // PowerShell: $env:NAME = "value"
        first += 2;
        continue;
      }
      if (name.empty() || !after.starts_with('=')) break;
      own.emplace_back(name, after.substr(1));
    }
    if (first >= command.words.size()) {
      if (in_condition_) return;
      std::vector<std::string> unset;
      for (const ShellWord& each : command.words) unset.insert(unset.end(), each.unset.begin(), each.unset.end());
      for (auto& [name, value] : own) {
        const auto known = variables_.find(name);
        // VALUE=$2 in a loop over a script's arguments: the variable keeps its default.
        if (!unset.empty() && known != variables_.end() && known->second.size() == 1 &&
            known->second.front().unset.empty())
          continue;
        variables_[name] = {{value, unset}};
        out_.environment.emplace_back(name, value);
      }
      return;
    }
    command.words.erase(command.words.begin(), command.words.begin() + static_cast<std::ptrdiff_t>(first));
    command.own = std::move(own);
    command.exported = out_.environment.size();
    out_.commands.push_back(std::move(command));
  }

  string_view text_;
  std::size_t at_ = 0, words_ = 0, expanded_ = 0;
  bool in_word_ = false, is_quoted_ = false, in_array_ = false, skips_next_ = false;
  bool ended_test_ = false, in_condition_ = false;
  ShellWord word_;
  ShellCommand command_;
  std::map<std::string, Words, std::less<>> variables_;
  ShellText out_;
};

}  // namespace

ShellText read_shell(string_view text) {
  // Web pages and word processors change blanks, quotes and dashes.
  static constexpr std::pair<string_view, string_view> kTypography[] = {
      {"\xC2\xA0", " "},     {"\xE2\x80\x9C", "\""},   {"\xE2\x80\x9D", "\""},  {"\xE2\x80\x98", "'"},
      {"\xE2\x80\x99", "'"}, {" \xE2\x80\x93", " --"}, {" \xE2\x80\x94", " --"}};
  std::string plain;
  for (const auto& [printed, typed] : kTypography) {
    if (text.find(printed) == string_view::npos) continue;
    std::string changed;
    for (auto at = text.find(printed); at != string_view::npos; at = text.find(printed)) {
      const std::size_t next = at + printed.size();
      const bool is_dash = typed == " --";
      const bool starts_option = next < text.size() && is_letter_or_digit(text[next]);
      changed.append(text.substr(0, at)).append(is_dash && !starts_option ? printed : typed);
      text.remove_prefix(at + printed.size());
    }
    plain = changed.append(text);
    text = plain;
  }
  return ShellReader(text).read();
}

}  // namespace kvplan
