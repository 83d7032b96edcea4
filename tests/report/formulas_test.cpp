// A line's formula gives its bytes: every formula that ends in bytes is computed from its text.
#include <doctest/doctest.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engines/engine.h"
#include "kvplan/error.h"
#include "plan/plan.h"
#include "report/words.h"
#include "sources/load.h"

namespace kvplan {
namespace {

struct Value {
  double number = 0;
  bool has_unit = false;
};

// Sums of products: "(576 x 2 B + 64 x 4 B) x 8 blocks of 16 tokens". A factor is its first number, or the one that has
// a unit ("512 tokens' pool of 262144 KiB"); words in it are for people.
class Formula {
 public:
  explicit Formula(std::string_view text) : text_(text) {}

  // Bytes; nothing if a factor has no number, or no factor has a unit.
  std::optional<double> bytes() {
    const std::optional<Value> out = sum();
    return out && out->has_unit && text_.empty() ? std::optional(out->number) : std::nullopt;
  }

 private:
  bool take(std::string_view word) {
    if (!text_.starts_with(word)) return false;
    text_.remove_prefix(word.size());
    return true;
  }

  std::optional<Value> sum() {
    std::optional<Value> out = product();
    while (out && take(" + ")) {
      const std::optional<Value> next = product();
      if (!next || next->has_unit != out->has_unit) return std::nullopt;
      out->number += next->number;
    }
    return out;
  }

  std::optional<Value> product() {
    std::optional<Value> out = factor();
    while (out) {
      const bool divides = take(" / ");
      if (!divides && !take(" * ") && !take(" x ")) break;
      const std::optional<Value> next = factor();
      if (!next) return std::nullopt;
      out->number = divides ? out->number / next->number : out->number * next->number;
      out->has_unit = out->has_unit || next->has_unit;
    }
    return out;
  }

  std::optional<Value> factor() {
    if (take("(")) {
      const std::optional<Value> out = sum();
      return out && take(")") ? out : std::nullopt;
    }
    std::optional<Value> out;
    while (!text_.empty() && !text_.starts_with(" + ") && !text_.starts_with(" * ") && !text_.starts_with(" x ") &&
           !text_.starts_with(" / ") && !text_.starts_with(")")) {
      if (text_.starts_with("(") || text_.starts_with(",")) return std::nullopt;
      if (text_.starts_with(' ')) text_.remove_prefix(1);
      Value here;
      const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), here.number);
      if (error != std::errc()) {
        const std::size_t blank = text_.find_first_of(" ),");
        text_.remove_prefix(std::min(blank, text_.size()));
        continue;
      }
      text_.remove_prefix(static_cast<std::size_t>(end - text_.data()));
      here.has_unit = unit(here.number);
      if (!out || here.has_unit) out = here;
    }
    return out;
  }

  bool unit(double& number) {
    constexpr std::pair<std::string_view, double> kUnits[] = {
        {" KiB", kKiB}, {" MiB", kMiB}, {" GiB", kGiB}, {" bits", 0.125}, {" B", 1}};
    for (const auto& [word, bytes] : kUnits) {
      if (!text_.starts_with(word) ||
          (text_.size() > word.size() && std::isalpha(static_cast<unsigned char>(text_[word.size()])) != 0))
        continue;
      text_.remove_prefix(word.size());
      number *= bytes;
      return true;
    }
    return false;
  }

  std::string_view text_;
};

TEST_CASE("formulas: the printed formula gives the bytes of its line") {
  CHECK(Formula("(576 x 2 B + 64 x 4 B) x 8 blocks of 16 tokens").bytes() == (576 * 2 + 64 * 4) * 8);
  CHECK(Formula("512 tokens' pool of 256 KiB + 2 graphs * 3 KiB").bytes() == 262 * 1024);
  CHECK_FALSE(Formula("2 streams x 8192 cells").bytes());
  CHECK_FALSE(Formula("1 rows * vocab_size * 4 B").bytes());
  std::vector<std::string> releases{"vllm@0.11", "vllm@0.17", "vllm@0.28", "sglang@0.5.8", "transformers@5.16"};
  for (const Engine& engine : engines()) releases.emplace_back(engine.name);
  int computed = 0;
  int lines = 0;
  for (const auto& entry : std::filesystem::directory_iterator(KVPLAN_SOURCE_DIR "/testdata/configs")) {
    if (entry.path().extension() != ".json") continue;
    const ModelSpec model = load_model(entry.path().string(), {});
    for (const std::string& release : releases) {
      for (const std::uint64_t ranks : {1U, 2U}) {
        Request request;
        find_engine(release, request);
        request.card.count = request.parallel.tensor = ranks;
        request.parallel.given = true;
        request.card.gpu = &parse_gpu("h200-141gb");
        request.max_model_len = Tokens(8192);
        request.num_seqs = 3;
        CAPTURE(entry.path().filename().string());
        CAPTURE(release);
        std::optional<Plan> plan;
        try {
          plan = make_plan(model, request);
        } catch (const Error&) {
          continue;  // the engine does not run it
        }
        for (const LedgerLine& line : plan->fullest().lines) {
          ++lines;
          // A cache may have no tokens. Every other line has bytes.
          if (line.part != Section::kKvCache && plan->verdict.status == Verdict::kFits) CHECK(line.high > Bytes(0));
          const std::string text = in_words(line.formula);
          const std::optional<double> said = Formula(text).bytes();
          if (!said) continue;
          ++computed;
          CAPTURE(in_words(line.what));
          CAPTURE(text);
          // Bits per element are printed with three decimals.
          CHECK(std::abs(*said - static_cast<double>(line.bytes.count())) <=
                1 + 1e-3 * static_cast<double>(line.bytes.count()));
        }
      }
    }
  }
  CHECK(4 * computed > 3 * lines);
}

}  // namespace
}  // namespace kvplan
