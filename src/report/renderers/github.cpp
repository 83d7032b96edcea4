// Workflow annotations: one line for the pull request, and one for each warning.
#include <fmt/format.h>

#include <algorithm>

#include "kvplan/strings.h"
#include "report/renderers/renderers.h"

namespace kvplan {

// Line ends and percent signs must be escaped in a workflow command's data.
static std::string escaped(std::string_view text) {
  return replaced(text, {{'%', "%25"}, {'\r', "%0D"}, {'\n', "%0A"}});
}

static std::string property(std::string_view text) {
  return replaced(escaped(text), {{':', "%3A"}, {',', "%2C"}});
}

static std::string annotation(std::string_view level, const Text& where, std::string_view title,
                              std::string_view message) {
  const std::string file = where.empty() ? "" : "file=" + property(where.str()) + ",";
  return fmt::format("::{} {}title={}::{}\n", level, file, property(title), escaped(message));
}

static void add(std::string& sentence, std::string_view between, std::string_view more) {
  if (more.empty()) return;
  if (!sentence.empty()) sentence += between;
  sentence += more;
}

// The line for a page without a verdict: its model, the request, the totals of its first bars.
static std::string without_headline(const Page& page) {
  std::string out = page.title.str();
  for (const Text& line : page.about) add(out, out == page.title.str() ? ": " : "; ", line.str());
  for (const Block& block : page.blocks) {
    const Bars* bars = std::get_if<Bars>(&block.body);
    if (bars == nullptr) continue;
    for (const BarRow& row : bars->rows)
      if (row.tone == Tone::kStrong)
        add(out, "; ", fmt::format("{} {} {}", row.label.str(), row.value.str(), bars->value_title.str()));
    break;
  }
  return out;
}

std::string github(const Page& page) {
  const auto bad = std::find_if(page.headlines.begin(), page.headlines.end(),
                                [](const Headline& headline) { return headline.tone == Tone::kBad; });
  const bool is_bad = bad != page.headlines.end();
  std::string message;
  for (const Headline& headline : page.headlines) {
    std::string line = headline.word.str();
    add(line, ": ", headline.says.str());
    add(message, "; ", line);
  }
  if (message.empty()) message = without_headline(page);
  for (std::size_t i = 0; i < page.remedies.size(); ++i)
    add(message, i == 0 ? "; to make it fit: " : ", or ", page.remedies[i].str());
  std::string out;
  if (!message.empty())
    out = annotation(is_bad ? "error" : "notice", page.file,
                     is_bad && !bad->word.empty() ? "kvplan: " + lower(bad->word.str()) : "kvplan", message);
  for (const PageNote& note : page.notes) {
    const Text& where = note.file.empty() ? page.file : note.file;
    if (note.tone == Tone::kCareful) out += annotation("warning", where, "kvplan", note.message.str());
    if (note.tone == Tone::kBad) out += annotation("error", where, "kvplan", note.message.str());
  }
  return out;
}

}  // namespace kvplan
