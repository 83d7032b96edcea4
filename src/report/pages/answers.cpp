// The pages of compare and fit: answers side by side.
#include <fmt/format.h>

#include <algorithm>

#include "kvplan/strings.h"
#include "report/pages/pages.h"

namespace kvplan {

static void add_sentences(const Answers& answers, Page& page) {
  if (answers.sentences.empty()) return;
  Sentences stated;
  for (const Template& sentence : answers.sentences) stated.push_back(in_words(sentence));
  page.add("", Detail::kComment, std::move(stated));
}

static std::string left_text(const VerdictReport& verdict) {
  return verdict.headroom ? fmt::format("{:.2f}", static_cast<double>(*verdict.headroom) / kGiB) : "-";
}

// The title of a row of fit.
static std::string title_of(const Answer& answer) {
  constexpr std::pair<std::string_view, std::string_view> kTitles[] = {{"context_by_sequences", "max context, N seqs"},
                                                                       {"change", "with one change"},
                                                                       {"card", "GPU"},
                                                                       {"users", "all users at once"},
                                                                       {"smallest_share", "least GPU memory"},
                                                                       {"longest_context", "max context"},
                                                                       {"longest_on_cpu", "more on the CPU"},
                                                                       {"most_sequences", "max seqs"}};
  for (const auto& [name, title] : kTitles)
    if (answer.name == name) return std::string(title);
  std::string out = answer.name;
  std::replace(out.begin(), out.end(), '_', ' ');
  return out;
}

// Bytes on the fullest GPU, for the stated lengths.
static std::string total_of(const Plan& plan) {
  return gib_number(plan.fullest().total);
}

static std::string cache_of(const Plan& plan) {
  return gib_number(plan.kv_cache.reserved);
}

static const Answer* find_answer(const Answers& answers, std::string_view name) {
  for (const Answer& answer : answers.rows)
    if (answer.name == name) return &answer;
  return nullptr;
}

static Page compare_page(const Answers& answers) {
  Page page = page_about(answers.asked);
  const auto differs = [&](auto&& of) {
    return std::any_of(answers.rows.begin(), answers.rows.end(),
                       [&](const Answer& answer) { return of(answer.plan) != of(answers.asked); });
  };
  const auto engine_of_plan = [](const Plan& plan) { return plan.engine + " " + plan.engine_version; };
  const auto card_of_plan = [](const Plan& plan) { return plan.request.card.name_or("-"); };
  const bool rooms = answers.asked.capacity.has_value();
  const bool engines = differs(engine_of_plan);
  const bool cards = differs(card_of_plan);
  const bool others = std::any_of(answers.rows.begin(), answers.rows.end(),
                                  [](const Answer& answer) { return answer.other_checkpoint; });
  const bool has_loss = std::any_of(answers.rows.begin(), answers.rows.end(), [](const Answer& answer) {
    return !answer.plan.weights_loss.empty() && answer.plan.weights_loss != "none";
  });
  Rows rows;
  std::vector<Tone> tones;
  Bars bars;
  set_limits(answers.asked, bars);
  for (const Answer& answer : answers.rows) {
    const Plan& plan = answer.plan;
    const GpuMemory& gpu = plan.fullest();
    const bool own = plan.weights_dtype == answers.asked.weights_dtype && plan.types.key == answers.asked.types.key;
    const std::string word(verdict_word(plan.verdict));
    const auto room = [&](std::uint64_t Capacity::*figure) {
      return !rooms ? "" : plan.capacity ? count_text(*plan.capacity.*figure) : "-";
    };
    rows.push_back({engines ? engine_of_plan(plan) : "", cards ? card_of_plan(plan) : "",
                    plan.weights_dtype + (own                       ? " *"
                                          : answer.other_checkpoint ? " +"
                                                                    : ""),
                    cache_types_name(plan.types), part_text(gpu.weights), cache_of(plan), total_of(plan),
                    !rooms           ? ""
                    : word == "fits" ? "yes"
                                     : word,
                    room(&Capacity::max_model_len), room(&Capacity::max_num_seqs),
                    has_loss ? std::string(plan.weights_loss) : ""});
    tones.push_back(rooms && plan.verdict.status == Verdict::kFits ? Tone::kGood : Tone::kPlain);
    bars.rows.push_back(stacked(fmt::format("{} x {}", plan.weights_dtype, cache_types_name(plan.types)), gpu));
  }
  const PageTable table = titled_table({"engine", "GPU", "weights", "KV", "weights GiB", "KV GiB", "total GiB", "fits",
                                        "max context", "max seqs", "typical loss"},
                                       0b01101110000, rows, {4, 5}, tones);
  Block& block = page.add("", Detail::kComment, without_columns_of("", table), {"* the checkpoint's own types"});
  if (others)
    block.remarks.push_back("+ needs another checkpoint: the engine cannot convert to this type while loading");
  if (has_loss)
    block.remarks.push_back(
        "Typical loss in benchmark scores, as published for the weight type. The KV type is not included.");
  std::vector<std::string> named;
  for (const Answer& answer : answers.rows)
    for (const std::string& stored : answer.stored)
      if (std::find(named.begin(), named.end(), stored) == named.end()) {
        named.push_back(stored);
        block.remarks.push_back(answer.plan.weights_dtype + " lies here as " + one_line(stored, 100));
      }
  add_sentences(answers, page);
  page.add("Memory of the fullest GPU", Detail::kDocument, std::move(bars));
  page.notes = notes_of(answers.asked.notes);
  return page;
}

// "3 copies of TP 4", "1 GPU".
static std::string layout_of(const Plan& plan, std::uint64_t copies) {
  const std::string layout = layout_name(plan.request.parallel);
  return copies > 1 ? fmt::format("{} copies of {}", copies, layout) : layout;
}

// "8k", "1,000": of one user.
static std::string length_of_users(const Plan& plan) {
  return tokens_text(plan.tokens_of_sequence().count());
}

constexpr const char* kUsersFigures =
    "GiB: per GPU. tokens/s: total of all users at this length, an upper bound from memory bandwidth.";

// Free memory of the fullest GPU; "-" if not all users fit.
static std::string free_of(const Plan& plan) {
  return plan.verdict.fails() ? "-" : left_text(plan.verdict);
}

static std::string rate_of(const Plan& plan, std::uint64_t copies) {
  if (!plan.roofline || plan.verdict.fails()) return "-";
  return grouped(static_cast<std::uint64_t>(plan.roofline->tokens_per_s_batch * static_cast<double>(copies)));
}

// The page of --users, for all users and not only those of one copy.
static Page page_of_users(const Answers& answers) {
  Plan all = answers.asked;
  if (answers.users) all.request.num_seqs = answers.users->users;
  all.request.parallel = {};
  all.memory.resize(1);
  return page_about(all);
}

// "16 x h100-80gb (2 nodes): TP 4, DP 4, EP  serves 300 users of 8k, 9.64 GiB free".
static void add_headline_of_users(const Answers& answers, Page& page) {
  const Plan& plan = answers.asked;
  const UsersAnswer& users = *answers.users;
  if (plan.verdict.status == Verdict::kUnknown || plan.verdict.refusal) return;
  std::string gpus = fmt::format("{} x {}", users.gpus, plan.request.card.name_or("GPU"));
  if (users.gpus > 1) gpus += fmt::format(" ({}): {}", plural(users.nodes, "node"), layout_of(plan, users.copies));
  const std::string wanted = fmt::format("{} of {}", plural(users.users, "user"), length_of_users(plan));
  Headline& first = page.headlines.front();
  const bool serves = !plan.verdict.fails();
  if (plan.is_logical && serves) {
    first = {Tone::kPlain, "at least " + gpus, "for " + wanted};
    page.headlines.push_back(
        {Tone::kPlain, "", "No engine was given, and every engine needs more: add --engine vllm or sglang."});
    return;
  }
  if (serves) {
    const Bytes left = without_sign(plan.verdict.headroom.value_or(0));
    first = {plan.verdict.close ? Tone::kCareful : Tone::kGood, gpus,
             fmt::format("serves {}, {} free", wanted, human_bytes(left))};
    if (!plan.verdict.close) return;
    page.headlines.back().word = "TOO CLOSE TO CALL";
    std::rotate(page.headlines.begin(), page.headlines.end() - 1, page.headlines.end());
    return;
  }
  const std::uint64_t served = std::min(users.most, users.users - 1);
  first = {Tone::kBad, "NOT ALL AT ONCE", fmt::format("{} serves {} of {}", gpus, grouped(served), wanted)};
}

// The command of each node.
static void add_start(const Plan& plan, std::uint64_t copies, Page& page) {
  if (!plan.launch) return;
  Sentences lines;
  const std::string commands = launch_args(plan);
  for (const std::string_view command : split(commands, '\n'))
    for (const Text& line : command_lines(command)) lines.push_back(line);
  page.add(copies > 1 ? fmt::format("Start each of the {} copies with", copies) : "Start with", Detail::kComment,
           std::move(lines));
}

static Page users_page(const Answers& answers) {
  Page page = page_of_users(answers);
  add_headline_of_users(answers, page);
  if (answers.rows.front().plan.memory.size() > 1)
    page.headlines.push_back({Tone::kPlain, "", "Why this layout: " + in_words(answers.rows.front().note) + "."});
  add_sentences(answers, page);
  add_start(answers.rows.front().plan, answers.users->copies, page);
  Rows rows;
  for (const Answer& answer : answers.rows) {
    const Plan& plan = answer.plan;
    rows.push_back({layout_of(plan, *answer.copies), count_text(*answer.most_seqs), total_of(plan), free_of(plan),
                    rate_of(plan, *answer.copies), in_words(answer.note)});
  }
  page.add("Layouts of " + plural(answers.users->gpus, "GPU") + ", best first", Detail::kComment,
           without_columns_of("-", titled_table({"layout", "users of " + length_of_users(answers.asked), "total GiB",
                                                 "free GiB", "tokens/s up to", "why"},
                                                0b011110, rows, {5, 2})),
           {kUsersFigures});
  page.notes = notes_of(answers.asked.notes);
  return page;
}

// --users with several engines or GPUs: the row of one of them.
static std::vector<Text> users_row(const Plan& asked, const Answer* answer, std::optional<double> price) {
  const std::string engine = asked.engine + " " + asked.engine_version;
  if (answer == nullptr) return {engine, asked.request.card.name_or("-"), "no", "-", "none", "-", "-", "-"};
  const Plan& plan = answer->plan;
  return {engine,
          plan.request.card.name_or("-"),
          std::to_string(*answer->copies * plan.request.parallel.gpus()),
          layout_of(plan, *answer->copies),
          plan.verdict.fails() ? grouped(*answer->most_seqs) : "all",
          free_of(plan),
          rate_of(plan, *answer->copies),
          price ? fmt::format("{:.2f}", *price) : "-"};
}

static PageTable users_table(const Rows& rows) {
  return without_columns_of("-", without_columns_of("all", titled_table({"engine", "GPU", "GPUs", "layout", "users",
                                                                         "free GiB", "tokens/s up to", "an hour"},
                                                                        0b11110100U, rows)));
}

static Page fit_page(const Answers& answers) {
  if (answers.users) return users_page(answers);
  Page page = page_about(answers.asked);
  if (answers.asked.verdict.has_sought) add_remedies(answers.asked, page);
  add_sentences(answers, page);
  Rows rows;
  Rows layouts;
  Rows cards;
  for (const Answer& answer : answers.rows) {
    const GpuMemory& gpu = answer.plan.fullest();
    if (answer.copies) {
      cards.push_back(users_row(answers.asked, &answer, std::nullopt));
      continue;
    }
    if (answer.name == "layout") {
      layouts.push_back({layout_name(answer.plan.request.parallel), std::to_string(answer.plan.memory.size()),
                         answer.longest ? count_text(*answer.longest) : "-",
                         answer.most_seqs ? count_text(*answer.most_seqs) : "-", total_of(answer.plan),
                         left_text(answer.plan.verdict), in_words(answer.note)});
      continue;
    }
    rows.push_back({title_of(answer), options_text(answer.changes, answer.plan.verdict.spelling),
                    part_text(gpu.weights), cache_of(answer.plan), total_of(answer.plan),
                    left_text(answer.plan.verdict)});
  }
  if (!rows.empty())
    page.add(
        "", Detail::kComment,
        titled_table({"answer", "options", "weights GiB", "KV GiB", "total GiB", "free GiB"}, 0b111100, rows, {2, 3}));
  if (!cards.empty()) page.add("", Detail::kComment, users_table(cards), {kUsersFigures});
  if (!layouts.empty())
    page.add("Valid layouts, best first", Detail::kComment,
             without_columns_of(
                 "-", titled_table({"layout", "GPUs", "max context", "max seqs", "total GiB", "free GiB", "why"},
                                   0b0111110, layouts, {4, 3, 6})));
  add_contexts_by_sequences(answers.contexts_by_sequences, page);
  page.notes = notes_of(answers.asked.notes);
  return page;
}

static std::string figure_of(const Answer* answer, std::uint64_t Capacity::*figure) {
  if (answer == nullptr) return "0";
  const std::uint64_t found = answer->plan.capacity ? *answer->plan.capacity.*figure : 0;
  return count_text(found);
}

static std::string smallest_cards(const Answers& answers) {
  std::string out;
  for (const Answer& answer : answers.rows)
    if (answer.name == "card" && std::count(out.begin(), out.end(), ',') < 2)
      out += (out.empty() ? answer.changes[1].second + " x " : ", ") + answer.changes[0].second;
  return out.empty() ? "none" : out;
}

static std::vector<Text> fits_row(const Answers& answers, bool has_cards) {
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
          or_dash(in_words(answers.buys_most))};
}

static PageTable fits_table(const Rows& rows, const Plan& asked, bool has_cards) {
  if (asked.request.users) return users_table(rows);
  if (!has_cards)
    return titled_table({"engine", "KV type", "KV GiB", "total GiB", "smallest GPUs that fit it"}, 0b01100U, rows,
                        {3, 2});
  return titled_table({"engine", "GPU", "KV type", "fits", "max context", "max seqs", "GPUs", "best change"},
                      0b01110000U, rows, {3, 7});
}

static Page fits_page(const std::vector<FitEntry>& entries) {
  Page page;
  bool has_cards = false;
  for (const FitEntry& entry : entries) has_cards = has_cards || (entry.answers && entry.answers->asked.capacity);
  const Answers* first = nullptr;
  Rows rows;
  for (const FitEntry& entry : entries) {
    if (!entry.answers) {
      page.notes.push_back(not_planned(entry.error, entry.source));
      continue;
    }
    if (first == nullptr) first = &*entry.answers;
    if (!first->asked.request.users) {
      rows.push_back(fits_row(*entry.answers, has_cards));
      continue;
    }
    const Answers& answers = *entry.answers;
    rows.push_back(users_row(answers.asked, answers.rows.empty() ? nullptr : &answers.rows.front(),
                             answers.users ? answers.users->price : std::nullopt));
  }
  if (first == nullptr) return page;
  const Plan& asked = first->asked;
  page.title = title_of(*asked.model);
  page.file = asked.model->source;
  if (asked.request.users)
    page.facts = page_of_users(*first).about.front();
  else
    page.facts = fmt::format("{} x {}", plural(asked.load.max_model_len.count(), "token"),
                             plural(asked.request.num_seqs, "sequence"));
  const char* remark = asked.request.users ? kUsersFigures
                       : has_cards
                           ? "max context: tokens at the requested sequences; max seqs: sequences at the requested "
                             "context; GPUs: the fewest that fit the request"
                           : "";
  Block& block = page.add("", Detail::kComment, fits_table(rows, asked, has_cards));
  if (*remark != '\0') block.remarks.push_back(remark);
  return page;
}

Reply compared(const Answers& answers) {
  return reply_with(compare_page, answers);
}

Reply fitted(const Answers& answers) {
  Reply out = reply_with(fit_page, answers);
  if (answers.asked.launch) {
    out.plan = &answers.asked;
    out.warning = launch_warning(answers.asked);
  }
  for (const Answer& answer : answers.rows) {
    if (!answer.plan.launch) continue;
    out.plan = &answer.plan;
    const std::string more = launch_warning(answer.plan);
    if (answer.copies)
      out.warning =
          (*answer.copies > 1 ? fmt::format("start {} copies of it{}", *answer.copies, more.empty() ? "" : "; ") : "") +
          more;
    else
      out.warning = "This command uses a different layout or length than you requested: " +
                    options_text(answer.changes, answer.plan.verdict.spelling) + (more.empty() ? "" : "; " + more);
  }
  return out;
}

Reply reply_of(const std::vector<FitEntry>& entries) {
  return reply_with(fits_page, entries);
}

}  // namespace kvplan
