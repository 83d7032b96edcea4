// The pages of compare and fit: answers side by side.
#include <fmt/format.h>

#include <algorithm>

#include "report/pages/pages.h"
#include "report/text.h"
#include "report/words.h"

namespace kvplan {

namespace {

using Rows = std::vector<std::vector<std::string>>;

Page begin(const Answers& answers) {
  const Plan& asked = answers.asked;
  Page page;
  page.title = title_of(*asked.model);
  page.facts = facts_of_plan(asked);
  page.file = asked.model->source;
  page.about.push_back(request_text(asked));
  if (const std::string card = card_text(asked); !card.empty()) page.about.push_back(card);
  page.headlines = headlines_of(asked.verdict, asked);
  return page;
}

void add_sentences(const Answers& answers, Page& page) {
  if (answers.sentences.empty()) return;
  Sentences stated;
  for (const Template& sentence : answers.sentences) stated.push_back(in_words(sentence));
  page.blocks.push_back({"", Detail::kComment, std::move(stated), {}});
}

std::string left_text(const VerdictReport& verdict) {
  return verdict.headroom ? fmt::format("{:.2f}", static_cast<double>(*verdict.headroom) / kGiB) : "-";
}

// The title of a row of fit.
std::string title_of(const Answer& answer) {
  constexpr std::pair<std::string_view, std::string_view> kTitles[] = {{"context_by_sequences", "sequences vs context"},
                                                                       {"change", "one change"},
                                                                       {"card", "GPU"},
                                                                       {"users", "all users at once"},
                                                                       {"longest_context", "max context"},
                                                                       {"most_sequences", "max seqs"}};
  for (const auto& [name, title] : kTitles)
    if (answer.name == name) return std::string(title);
  std::string out = answer.name;
  std::replace(out.begin(), out.end(), '_', ' ');
  return out;
}

// Bytes on the fullest GPU, for the stated lengths.
Bytes total_of(const Plan& plan) {
  return plan.fullest().total;
}

std::string cache_of(const Plan& plan) {
  return gib_number(plan.kv_cache.reserved);
}

const Answer* find_answer(const Answers& answers, std::string_view name) {
  for (const Answer& answer : answers.rows)
    if (answer.name == name) return &answer;
  return nullptr;
}

}  // namespace

Page compare_page(const Answers& answers) {
  Page page = begin(answers);
  const bool rooms = answers.asked.capacity.has_value();
  const bool has_loss = std::any_of(answers.rows.begin(), answers.rows.end(), [](const Answer& answer) {
    return !answer.plan.weights_loss.empty() && answer.plan.weights_loss != "none";
  });
  std::vector<std::string> titles{"weights", "KV", "weights GiB", "KV GiB", "total GiB"};
  const auto differs = [&](auto&& of) {
    return std::any_of(answers.rows.begin(), answers.rows.end(),
                       [&](const Answer& answer) { return of(answer.plan) != of(answers.asked); });
  };
  const auto engine_of_plan = [](const Plan& plan) { return plan.engine + " " + plan.engine_version; };
  const auto card_of_plan = [](const Plan& plan) { return plan.request.card.name_or("-"); };
  const bool engines = differs(engine_of_plan);
  const bool cards = differs(card_of_plan);
  const bool others = std::any_of(answers.rows.begin(), answers.rows.end(),
                                  [](const Answer& answer) { return answer.other_checkpoint; });
  if (rooms) titles.insert(titles.end(), {"fits", "max context", "max seqs"});
  if (has_loss) titles.emplace_back("typical loss");
  Rows rows;
  Bars bars;
  set_limits(answers.asked, bars);
  for (const Answer& answer : answers.rows) {
    const Plan& plan = answer.plan;
    const GpuMemory& gpu = plan.fullest();
    std::vector<std::string>& row = rows.emplace_back();
    const bool own = plan.weights_dtype == answers.asked.weights_dtype && plan.types.key == answers.asked.types.key;
    row = {plan.weights_dtype + (own                       ? " *"
                                 : answer.other_checkpoint ? " +"
                                                           : ""),
           cache_types_name(plan.types), part_text(gpu.weights), cache_of(plan), gib_number(total_of(plan))};
    if (rooms) {
      row.emplace_back(verdict_word(plan.verdict) == "fits" ? "yes" : verdict_word(plan.verdict));
      row.push_back(plan.capacity ? count_text(plan.capacity->max_model_len) : "-");
      row.push_back(plan.capacity ? count_text(plan.capacity->max_num_seqs) : "-");
    }
    if (has_loss) row.emplace_back(plan.weights_loss);
    if (cards) row.insert(row.begin(), card_of_plan(plan));
    if (engines) row.insert(row.begin(), engine_of_plan(plan));
    bars.rows.push_back(stacked(fmt::format("{} x {}", plan.weights_dtype, cache_types_name(plan.types)), gpu));
  }
  std::vector<std::size_t> goes;
  if (rooms) goes = {2, 3};
  const std::size_t shift = (cards ? 1U : 0U) + (engines ? 1U : 0U);
  if (cards) titles.insert(titles.begin(), "GPU");
  if (engines) titles.insert(titles.begin(), "engine");
  for (std::size_t& column : goes) column += shift;
  PageTable table = titled_table(titles, (rooms ? 0b11011100U : 0b00011100U) << shift, rows, goes);
  for (std::size_t i = 0; rooms && i < table.rows.size(); ++i)
    if (answers.rows[i].plan.verdict.status == Verdict::kFits) table.rows[i].tone = Tone::kGood;
  Block block{"", Detail::kComment, std::move(table), {"* the checkpoint's own types"}};
  if (others)
    block.remarks.push_back("+ needs another checkpoint: the engine does not make such weights while it loads");
  if (has_loss)
    block.remarks.push_back(
        "typical loss: of benchmark scores, by the weight type alone, as its makers publish it; what the KV type costs "
        "is not in it");
  std::vector<std::string> named;
  for (const Answer& answer : answers.rows)
    for (const std::string& stored : answer.stored)
      if (std::find(named.begin(), named.end(), stored) == named.end()) {
        named.push_back(stored);
        block.remarks.push_back(answer.plan.weights_dtype + " lies here as " + one_line(stored, 100));
      }
  page.blocks.push_back(std::move(block));
  add_sentences(answers, page);
  page.blocks.push_back({"Memory of the fullest GPU", Detail::kDocument, std::move(bars), {}});
  page.notes = notes_of(answers.asked.notes);
  return page;
}

Page fit_page(const Answers& answers) {
  Page page = begin(answers);
  add_sentences(answers, page);
  Rows rows;
  Rows layouts;
  for (const Answer& answer : answers.rows) {
    const GpuMemory& gpu = answer.plan.fullest();
    if (answer.name == "layout") {
      layouts.push_back({layout_name(answer.plan.request.parallel), std::to_string(answer.plan.memory.size()),
                         answer.longest ? count_text(*answer.longest) : "-",
                         answer.most_seqs ? count_text(*answer.most_seqs) : "-", gib_number(total_of(answer.plan)),
                         left_text(answer.plan.verdict), in_words(answer.note)});
      continue;
    }
    rows.push_back({title_of(answer), options_of(answer.changes), part_text(gpu.weights), cache_of(answer.plan),
                    gib_number(total_of(answer.plan)), left_text(answer.plan.verdict)});
  }
  if (!rows.empty())
    page.blocks.push_back(
        {"",
         Detail::kComment,
         titled_table({"answer", "options", "weights GiB", "KV GiB", "total GiB", "free GiB"}, 0b111100, rows, {2, 3}),
         {}});
  if (!layouts.empty())
    page.blocks.push_back({"Layouts that hold the request, the first choice first",
                           Detail::kComment,
                           titled_table({"layout", "GPUs", "max context", "max seqs", "total GiB", "free GiB", "why"},
                                        0b0111110, layouts, {4, 3, 6}),
                           {}});
  add_contexts_by_sequences(answers.contexts_by_sequences, page);
  page.notes = notes_of(answers.asked.notes);
  return page;
}

namespace {

std::string figure_of(const Answer* answer, std::uint64_t Capacity::*figure) {
  if (answer == nullptr) return "0";
  const std::uint64_t found = answer->plan.capacity ? *answer->plan.capacity.*figure : 0;
  return count_text(found);
}

std::string smallest_cards(const Answers& answers) {
  std::string out;
  for (const Answer& answer : answers.rows)
    if (answer.name == "card" && std::count(out.begin(), out.end(), ',') < 2)
      out += (out.empty() ? answer.changes[1].second + " x " : ", ") + answer.changes[0].second;
  return out.empty() ? "none" : out;
}

std::vector<std::string> fits_row(const Answers& answers, bool has_cards) {
  const Plan& asked = answers.asked;
  const std::string engine = asked.engine + " " + asked.engine_version;
  if (!has_cards)
    return {engine, cache_types_name(asked.types), gib_number(asked.kv_cache.reserved),
            gib_number(asked.fullest().total), smallest_cards(answers)};
  std::size_t fewest = 0;
  for (const Answer& answer : answers.rows)
    if (answer.name == "layout" && (fewest == 0 || answer.plan.memory.size() < fewest))
      fewest = answer.plan.memory.size();
  std::string card = asked.request.card.name_or("-");
  if (asked.request.parallel.gpus() > 1) card += " " + layout_name(asked.request.parallel);
  return {engine,
          card,
          cache_types_name(asked.types),
          std::string(verdict_word(asked.verdict) == "fits" ? "yes" : verdict_word(asked.verdict)),
          figure_of(find_answer(answers, "longest_context"), &Capacity::max_model_len),
          figure_of(find_answer(answers, "most_sequences"), &Capacity::max_num_seqs),
          fewest > 0 ? std::to_string(fewest) : "-",
          answers.buys_most.empty() ? "-" : in_words(answers.buys_most)};
}

}  // namespace

Page fits_page(const std::vector<FitEntry>& entries) {
  Page page;
  bool has_cards = false;
  for (const FitEntry& entry : entries) has_cards = has_cards || (entry.answers && entry.answers->asked.capacity);
  Rows rows;
  for (const FitEntry& entry : entries) {
    if (!entry.answers) {
      page.notes.push_back(not_planned(entry.error, entry.source));
      continue;
    }
    const Plan& asked = entry.answers->asked;
    if (rows.empty()) {
      page.title = title_of(*asked.model);
      page.facts = fmt::format("{} x {}", plural(asked.load.max_model_len.count(), "token"),
                               plural(asked.request.num_seqs, "sequence"));
      page.file = asked.model->source;
    }
    rows.push_back(fits_row(*entry.answers, has_cards));
  }
  if (rows.empty()) return page;
  Block block{"", Detail::kComment, PageTable{}, {}};
  if (has_cards) {
    block.body = titled_table({"engine", "GPU", "KV type", "fits", "max context", "max seqs", "GPUs", "biggest gain"},
                              0b01110000U, rows, {3, 7});
    block.remarks.push_back(
        "max context: tokens at the requested sequences; max seqs: sequences at the requested context; GPUs: the "
        "fewest that hold the request");
  } else {
    block.body = titled_table({"engine", "KV type", "KV GiB", "total GiB", "smallest GPUs that hold it"}, 0b01100U,
                              rows, {3, 2});
  }
  page.blocks.push_back(std::move(block));
  return page;
}

}  // namespace kvplan
