// Reads the tables of log lines (log_lines.h has their form).
#include "engines/log_lines.h"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <utility>

#include "kvplan/strings.h"

namespace kvplan {

namespace {

[[noreturn]] void fail_at(std::string_view line) {
  throw std::logic_error("a table of log lines has \"" + std::string(line) + "\"");
}

template <class Enumeration>
Enumeration of_word(std::string_view word, std::string_view words) {
  const auto all = split(words);
  const auto found = std::find(all.begin(), all.end(), word);
  if (found == all.end()) fail_at(word);
  return static_cast<Enumeration>(found - all.begin());
}

constexpr std::pair<std::string_view, std::string_view RemedyOptions::*> kOptions[] = {
    {"length", &RemedyOptions::length},
    {"share", &RemedyOptions::share},
    {"cache_type", &RemedyOptions::cache_type},
    {"eight_bit", &RemedyOptions::eight_bit},
    {"ranks", &RemedyOptions::ranks},
    {"stages", &RemedyOptions::stages},
    {"batch", &RemedyOptions::batch},
    {"sequences", &RemedyOptions::sequences},
    {"no_graphs", &RemedyOptions::no_graphs},
    {"cache_size", &RemedyOptions::cache_size},
    {"cpu_cache", &RemedyOptions::cpu_cache},
    {"experts", &RemedyOptions::experts},
    {"images", &RemedyOptions::images},
    {"one_image", &RemedyOptions::one_image},
    {"gpu_layers", &RemedyOptions::gpu_layers},
    {"split", &RemedyOptions::split},
    {"flash_attention", &RemedyOptions::flash_attention},
    {"shared_slots", &RemedyOptions::shared_slots},
};
constexpr std::pair<std::string_view, bool EngineLog::*> kFlags[] = {
    {"is_library", &EngineLog::is_library},           {"by_device", &EngineLog::by_device},
    {"picks_layers", &EngineLog::picks_layers},       {"block_option", &EngineLog::block_option},
    {"profiles_prompt", &EngineLog::profiles_prompt},
};

constexpr std::pair<std::string_view, std::string_view EngineLog::*> kTexts[] = {
    {"old_build", &EngineLog::old_build}, {"patched_release", &EngineLog::patched_release}};

class TableReader {
 public:
  explicit TableReader(const EngineLogSource& source) : out_{source} {}
  void add(const SectionRow& row) {
    section_ = row.section;
    word_ = row.word;
    if (section_ == "options")
      option(row.text.empty() ? word_ : row.text);
    else if (row.belongs && row.text.starts_with("= "))
      rows().back().meaning = row.text.substr(2);
    else if (row.belongs && row.text.starts_with("- "))
      remedy(row.text.substr(2));
    else if (!row.text.empty())
      add_template(row.text);
    else if (section_ == "remedies")
      out_.remedies.push_back({of_word<LogEventId>(word_, kLogEventWords), ""});
  }
  EngineLog take() { return std::move(out_); }

 private:
  std::vector<LogTemplate>& rows() {
    return section_ == "figures"   ? out_.figures
           : section_ == "slots"   ? out_.slots
           : section_ == "metrics" ? out_.metrics
                                   : out_.events;
  }

  void option(std::string_view text) {
    const std::string_view name = text.substr(0, text.find(' '));
    const std::string_view value = trimmed(text.substr(name.size()));
    const auto set = [&](const auto& members, auto& owner, auto to) {
      for (const auto& [word, member] : members)
        if (name == word) return owner.*member = to, true;
      return false;
    };
    if (name == "counts_experts") {
      out_.options.counts_experts = true;
    } else if (!set(kOptions, out_.options, value) && !set(kTexts, out_, value) && !set(kFlags, out_, true)) {
      fail_at(text);
    }
  }

  void remedy(std::string_view text) {
    if (text.front() == '$') text = texts_[text.substr(1)];
    std::string& out = section_ == "texts"      ? texts_[word_]
                       : section_ == "remedies" ? out_.remedies.back().remedies
                       : section_ == "topics"   ? out_.topics.back().remedies
                                                : rows().back().remedies;
    out += out.empty() ? "" : "; ";
    out += text;
  }

  void add_template(std::string_view text) {
    if (section_ == "stages") {
      out_.stages.push_back({text, of_word<StartStage>(word_, kStartStageWords)});
    } else if (section_ == "topics") {
      out_.topics.push_back({text, ""});
    } else if (section_ == "events") {
      out_.events.push_back({.text = text, .event = of_word<LogEventId>(word_, kLogEventWords)});
    } else if (section_ == "metrics") {
      out_.metrics.push_back({.text = text, .meaning = word_});
    } else {
      figure(text);
    }
  }

  void figure(std::string_view text) {
    const std::size_t end = text.rfind(" @ ");
    LogTemplate& row = rows().emplace_back(LogTemplate{.text = text.substr(0, end)});
    if (end == std::string_view::npos) return;
    std::string_view* release = nullptr;
    for (const std::string_view item : split(text.substr(end + 3))) {
      if (release != nullptr)
        *std::exchange(release, nullptr) = item;
      else if (item == "since")
        release = &row.since;
      else if (item == "until")
        release = &row.until;
      else
        row.phase = of_word<StartPhase>(item, kStartPhaseWords);
    }
  }

  EngineLog out_;
  std::map<std::string_view, std::string> texts_;
  std::string_view section_, word_;
};

}  // namespace

EngineLog engine_log(const EngineLogSource& source) {
  TableReader reader(source);
  for (const SectionRow& row : section_rows(source.lines())) reader.add(row);
  return reader.take();
}

}  // namespace kvplan
