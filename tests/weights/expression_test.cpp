#include "weights/expression.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/random_expression.h"

namespace kvplan {
namespace {

constexpr std::string_view kGate = "model.layers.12.mlp.gate_proj";

struct Row {
  std::string_view expression, text;
  bool matches;
};

// What Python 3.11's re.match says about each.
const std::vector<Row> kRows{
    {"lm_head", "lm_head", true},
    {"lm_head", "lm_head.weight", true},
    {"head", "lm_head", false},
    {"", "anything", true},
    {".*self_attn.*", "model.layers.0.self_attn.q_proj", true},
    {".*mlp\\.(gate|up|gate_up|down)_proj.*", kGate, true},
    {".*mlp\\.(gate|up)_proj$", kGate, true},
    {".*mlp\\.(gate|up)_proj$", "model.layers.12.mlp.gate_proj.weight", false},
    {".*mlp\\.(?:up|down)_proj$", kGate, false},
    {"model\\.layers\\.(0|1|12)\\.", kGate, true},
    {"model\\.layers\\.(0|1)\\.", kGate, false},
    {"model.layers.1.", kGate, true},
    {".*layers\\.\\d\\.", kGate, false},
    {".*layers\\.\\d+\\.", kGate, true},
    {".*layers\\.\\d+?\\.", kGate, true},
    {".*layers\\.[0-9]+\\.mlp", kGate, true},
    {".*layers\\.[^0-9]", kGate, false},
    {".*\\.1\\d\\.", kGate, true},
    {".*\\.2\\d\\.", kGate, false},
    {"\\w+\\.\\w+\\.\\d+\\.mlp", kGate, true},
    {"\\w+$", kGate, false},
    {"\\D+12", kGate, true},
    {"\\W", kGate, false},
    {"\\S+$", kGate, true},
    {"\\s", kGate, false},
    {"a|model", kGate, true},
    {"(a|model)$", kGate, false},
    {"a|.*proj$", kGate, true},
    {"^model", kGate, true},
    {"^(^model)", kGate, true},
    {"a^b", "ab", false},
    {"a$b", "ab", false},
    {"model$", kGate, false},
    {"(model|)$", "", true},
    {"$", "", true},
    {"$", "a", false},
    {"(a|)b", "b", true},
    {"(a|)b", "ab", true},
    {"(|a)+b", "aab", true},
    {"()*a", "a", true},
    {"()+", "x", true},
    {"(a*)*b", "aaab", true},
    {"(a*)*b", "aaa", false},
    {"(a*)+$", "aaab", false},
    {"((a?)*)*c", "aac", true},
    {"(^)*a", "a", true},
    {"(a|b|ab)*c", "ababc", true},
    {"a?b", "b", true},
    {"a?b", "aab", false},
    {"a+b", "b", false},
    {"a+?b", "b", false},
    {"a+?b", "aab", true},
    {"a*?b", "aaab", true},
    {"a??b", "ab", true},
    {"(ab)+c", "ababc", true},
    {"(ab)+c", "abac", false},
    {"(ab)?c", "abc", true},
    {"[a-c]x", "bx", true},
    {"[a-c]x", "dx", false},
    {"[^a-c]x", "dx", true},
    {"[^a-c]x", "bx", false},
    {"[]a]+$", "]a]", true},
    {"[^]a]", "]", false},
    {"[a-]+$", "a-a", true},
    {"[-a]+$", "-a", true},
    {"[a\\-z]+$", "-", true},
    {"[a\\-z]", "b", false},
    {"[\\d.]+$", "1.2", true},
    {"[\\w.]+$", kGate, true},
    {"[^\\d]+$", "a1", false},
    {"[\\]]", "]", true},
    {"[.]", "a", false},
    {"[*+?(){}|^$]+$", "*+?(){}|^$", true},
    {"[a^]", "^", true},
    {"[\\\\]", "\\", true},
    {"\\.", ".", true},
    {"\\.", "a", false},
    {"a\\*", "a*", true},
    {"a\\*", "aa", false},
    {"\\{", "{", true},
    {"a}", "a}", true},
    {"\\_a", "_a", true},
    {"\\-", "-", true},
    {"\\<a", "<a", true},
    {"\\<a", "a", false},
    {"\\bmodel\\b", kGate, true},
    {".*\\bgate\\b", kGate, false},
    {".*\\bmlp\\b", kGate, true},
    {"mod\\Bel", kGate, true},
    {"model\\B", kGate, false},
    {".", "\n", false},
    {"[^a]", "\n", true},
    {".*b", "a\nb", false},
};

// Python refuses these, or they contain more than kvplan reads.
const std::vector<std::string_view> kUnread{
    "(",           ")",        "a)",      "(a",    "[a",     "[]",   "[^]",   "[z-a]",    "[a-\\d]",  "[\\w-z]",
    "*a",          "+",        "?a",      "(*a)",  "a|*",    "a**",  "a+*",   "a*??",     "\\",       "[\\",
    "a\\",         "(?P<n>a)", "(?=a)",   "(?i)a", "(a)\\1", "a{2}", "a{2,}", "\\q",      "\\Q",      "[\\q]",
    "[[:alpha:]]", "[[.a.]]",  "[[=a=]]", "\\x41", "\\0",    "a++",  "a*+",   "\\Amodel", "\xc3\xa4",
};

std::string repeated(std::string_view text, std::size_t count) {
  std::string out;
  for (std::size_t i = 0; i < count; ++i) out += text;
  return out;
}

TEST_CASE("an expression gives the same result as Python's") {
  for (const Row& row : kRows) {
    CAPTURE(row.expression);
    CAPTURE(row.text);
    const auto expression = Expression::read(row.expression);
    REQUIRE(expression);
    std::uint64_t steps = 0;
    CHECK(expression->matches_start(row.text, steps) == row.matches);
  }
}

TEST_CASE("expressions outside the grammar are refused") {
  for (const std::string_view text : kUnread) {
    CAPTURE(text);
    CHECK_FALSE(Expression::read(text));
  }
}

TEST_CASE("expressions at every limit, and one beyond it") {
  CHECK(Expression::read(std::string(300, 'a')));
  CHECK_FALSE(Expression::read(std::string(301, 'a')));

  CHECK(Expression::read(repeated("(", 32) + "a" + repeated(")", 32)));
  CHECK_FALSE(Expression::read(repeated("(", 33) + "a" + repeated(")", 33)));
  CHECK_FALSE(Expression::read(repeated("(", 300)));

  // Two states for each "|", and one for the end.
  const auto most = Expression::read(repeated("|", 300));
  REQUIRE(most);
  CHECK(most->states() == 601);
  CHECK_FALSE(Expression::read(repeated("|", 301)));
}

// Expressions that once took gigabytes or minutes. Each of them visits its own states for every character, or is not
// read.
TEST_CASE("expressions that could take long are matched in linear time") {
  std::vector<std::string> hostile;
  for (const std::size_t n : {5U, 10U, 15U, 18U, 20U, 22U, 24U, 30U, 32U}) {
    for (const std::string_view how : {"+", "*", "?"})
      hostile.push_back(repeated("(", n) + "a" + repeated(")" + std::string(how), n));
    hostile.push_back(repeated("(", n) + "a*" + repeated(")*", n) + "b");
  }
  for (const std::size_t n : {15U, 18U, 20U, 22U, 40U, 90U})
    for (const std::string_view part :
         {"()*", "(|)*", "(^)*", "($)*", ".*", "a?", "[^a]+", "\\w+", "\\b*", "(.*|.*)*", "a**"})
      hostile.push_back(repeated(part, n));
  for (const std::size_t n : {15U, 18U, 20U, 22U, 23U, 95U, 290U})
    for (const std::string_view how : {"+", "*", "?", "^", "$", "^$", "|", "("})
      hostile.push_back("a" + repeated(how, n));
  hostile.push_back("(" + repeated("a?|", 89) + "a?)*");
  hostile.push_back(repeated("(m|o|d|e|l|mo|de|el|mod|del|.)*", 9));
  hostile.push_back(repeated("a?", 70) + repeated("a", 70));

  const std::vector<std::string> texts{"", std::string(kGate), repeated("a", 2000), repeated("model", 400) + "!"};
  std::size_t read = 0;
  for (const std::string& text : hostile) {
    CAPTURE(text);
    const auto expression = Expression::read(text);
    if (!expression) continue;
    ++read;
    CHECK(expression->states() <= 2 * text.size() + 1);
    for (const std::string& name : texts) {
      std::uint64_t steps = 0;
      expression->matches_start(name, steps);
      CHECK(steps <= (name.size() + 1) * expression->states() + expression->least_steps());
    }
  }
  CHECK(read > 80);
}

#ifdef KVPLAN_HAS_RE2

TEST_CASE("an expression gives the same result as RE2") {
  for (const Row& row : kRows) {
    CAPTURE(row.expression);
    CHECK(fuzz::difference(std::string(row.expression), {std::string(row.text)}, true).empty());
  }
  std::mt19937 random(20261122);
  std::size_t matching = 0, others = 0;
  for (int i = 0; i < 4000; ++i) {
    std::vector<std::uint8_t> bytes(200);
    for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random());
    fuzz::Source source(bytes.data(), bytes.size());
    const std::string expression = fuzz::make_expression(source, 2);
    std::vector<std::string> texts{"", std::string(kGate)};
    for (int j = 0; j < 6; ++j) texts.push_back(fuzz::make_text(source));
    CHECK(fuzz::difference(expression, texts, expression.size() <= 100) == "");
    const auto read = Expression::read(expression);
    for (const std::string& text : texts) {
      std::uint64_t steps = 0;
      ++(read && read->matches_start(text, steps) ? matching : others);
    }
  }
  // Neither answer is rare.
  CHECK(matching > 4000);
  CHECK(others > 4000);
}

#else

TEST_CASE("an expression gives the same result as RE2") {
  MESSAGE("SKIPPED: built without RE2, which scripts/setup --dev installs");
}

#endif

}  // namespace
}  // namespace kvplan
