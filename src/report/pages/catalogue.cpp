// The pages of the catalogue of models, and of the models that run on a GPU.
#include <fmt/format.h>

#include <algorithm>

#include "kvplan/strings.h"
#include "report/pages/pages.h"

namespace kvplan {

// "8.19B", "0.60B", "22.7M".
static std::string size_text(std::uint64_t parameters) {
  const double n = static_cast<double>(parameters);
  if (parameters == 0) return "-";
  if (n < 1e8) return fmt::format("{:.1f}M", n / 1e6);
  return n < 1e11 ? fmt::format("{:.2f}B", n / 1e9) : fmt::format("{:.0f}B", n / 1e9);
}

static Page models_page(const ModelList& list) {
  Page page;
  page.title = "Models that kvplan knows by name";
  Rows rows;
  for (const PublishedModel& model : list.models)
    rows.push_back({model.id, size_text(model.parameters), or_dash(model.date), or_dash(model.license), model.tasks,
                    or_dash(model.ollama)});
  page.add("", Detail::kComment,
           titled_table({"model", "parameters", "published", "license", "for", "in ollama"}, 0b10, rows, {3, 2, 4}),
           {"Use an id, its last part or an ollama tag as MODEL. Catalogue of " + std::string(list.date) + "."});
  return page;
}

static std::string rate_text(const std::optional<double>& rate) {
  if (!rate) return "-";
  return *rate < 10 ? fmt::format("{:.1f}", *rate) : grouped(static_cast<std::uint64_t>(*rate));
}

static Page pick_page(const Pick& pick) {
  Page page;
  page.title = "Models that run on " + pick.card;
  page.facts = gib(pick.memory) + (pick.card.find('+') == std::string::npos ? " each" : " on the smallest") +
               (pick.host_memory ? ", " + gib(*pick.host_memory) + " of main memory" : "") + "; " + pick.engine + " " +
               pick.engine_version + ", " + grouped(pick.max_model_len) + " tokens" +
               (pick.users > 1 ? " x " + plural(pick.users, "user") : "") + ", for " + pick.task;
  if (pick.models.empty())
    page.headlines.push_back(
        {Tone::kBad, "NONE FITS",
         pick.left_out > 0 ? "" : "try a smaller --max-model-len, or --host-memory for a part in main memory"});
  const bool has_host =
      std::any_of(pick.models.begin(), pick.models.end(), [](const PickedModel& row) { return row.host > Bytes(0); });
  constexpr auto kNumber = Column::Kind::kNumber;
  PageTable table{{{"model"}, {"type"}, {"context", kNumber}, {"GPU GiB", kNumber}}, {}};
  if (has_host) table.columns.push_back({"CPU GiB", kNumber});
  table.columns.push_back({"tokens/s", kNumber});
  table.columns.push_back({"start with", Column::Kind::kBelow});
  for (const PickedModel& row : pick.models) {
    std::vector<Text>& cells = table.rows.emplace_back().cells;
    cells = {row.model.model, row.type, count_text(row.longest), gib_number(row.gpu)};
    if (has_host) cells.emplace_back(row.host > Bytes(0) ? gib_number(row.host) : "-");
    cells.emplace_back(rate_text(row.tokens_per_s));
    cells.emplace_back(join(row.command, " ", shell_word));
  }
  Sentences remarks{
      "Order: the newest generation first, then size. Each family's newest generation that fits the GPU, and newer "
      "ones that also need main memory.",
      std::string("Type: the least lossy that fits. Context: the longest that fits. ") +
          (has_host ? "CPU GiB: in main memory. " : "") + "tokens/s: upper bound, from memory bandwidth."};
  if (!pick.server.empty()) remarks.push_back("Start the server with " + pick.server);
  if (pick.left_out > 0)
    remarks.push_back(grouped(pick.left_out) + " more models are older or have the same size: add --all");
  remarks.push_back("Catalogue of " + std::string(pick.date) +
                    ". Other tasks: --task code, vision, embedding, reranking");
  if (!pick.models.empty()) page.add("", Detail::kComment, std::move(table), std::move(remarks));
  return page;
}

Reply reply_of(const ModelList& list) {
  return reply_with(models_page, list);
}

Reply reply_of(const Pick& pick) {
  return reply_with(pick_page, pick);
}

}  // namespace kvplan
