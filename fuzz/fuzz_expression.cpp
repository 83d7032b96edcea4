// Compares expressions of skip lists with RE2. Any bytes, and any expression of the grammar, are read by both or only
// by RE2, and both give the same result for every text.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/random_expression.h"

namespace {

using namespace kvplan;
using namespace kvplan::fuzz;

// Without escapes, sets, counts and extensions both have the same grammar, so they must accept or refuse the same.
bool is_plain(std::string_view expression) {
  // Module names are ASCII: the reader refuses anything else.
  for (const char c : expression)
    if (static_cast<unsigned char>(c) > 0x7f) return false;
  return expression.find_first_of("\\[{") == std::string_view::npos && expression.find("(?") == std::string_view::npos;
}

void check(const std::string& expression, const std::vector<std::string>& texts, bool must_read) {
  const std::string found = difference(expression, texts, must_read);
  if (found.empty()) return;
  std::fprintf(stderr, "%s\n", found.c_str());
  std::abort();
}

}  // namespace

// The first byte decides whether an expression and texts are built from the rest, or are its lines.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  Source source(data + 1, size - 1);
  if (data[0] % 2 == 0) {
    const std::string expression = make_expression(source);
    std::vector<std::string> texts{""};
    for (int i = 0; i < 8; ++i) texts.push_back(make_text(source));
    check(expression, texts, expression.size() <= 100);
    return 0;
  }
  const std::string all(reinterpret_cast<const char*>(data) + 1, size - 1);
  std::vector<std::string> lines{""};
  for (const char c : all) {
    if (c == '\n')
      lines.emplace_back();
    else
      lines.back() += c;
  }
  const std::string expression = lines.front();
  if (expression.size() > Expression::kMaxLength) return 0;
  lines.push_back(all);
  lines.emplace_back("model.layers.12.mlp.q_proj");
  check(expression, lines, is_plain(expression) && expression.size() <= 50);
  return 0;
}
