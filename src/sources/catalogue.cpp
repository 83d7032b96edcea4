#include "sources/catalogue.h"

#include <algorithm>

#include "formats/published.h"
#include "kvplan/did_you_mean.h"
#include "kvplan/numbers.h"
#include "kvplan/strings.h"

namespace kvplan {

std::span<const std::string_view> catalogue_lines();  // catalogue.txt

namespace {

constexpr std::string_view kUsualFiles = "=";  // in the column of GGUF files
constexpr std::string_view kOllamaPrefix = "ollama:";

std::string_view last_part(std::string_view id) {
  return id.substr(id.rfind('/') + 1);
}

// The next part of a line of the table.
std::string_view take_column(std::string_view& line) {
  const auto bar = line.find('|');
  const std::string_view out = line.substr(0, bar);
  line = bar == std::string_view::npos ? std::string_view() : line.substr(bar + 1);
  return out;
}

std::vector<PublishedModel> read_catalogue() {
  std::vector<PublishedModel> out;
  for (std::string_view line : catalogue_lines().subspan(2)) {
    PublishedModel model;
    for (std::string_view* column :
         {&model.id, &model.model, &model.family, &model.generation, &model.tasks, &model.license, &model.date})
      *column = take_column(line);
    if (model.model.empty()) model.model = last_part(model.id);
    model.parameters = whole_number(take_column(line)).value_or(0);
    model.gguf = take_column(line);
    if (model.gguf == kUsualFiles)
      model.gguf = "unsloth/" + std::string(last_part(model.id)) + "-GGUF";  // the usual place is not written out
    model.ollama = take_column(line);
    const std::string_view like = take_column(line);
    if (const auto entry = whole_number(like); entry && *entry < out.size()) model.like = out[*entry].id;
    model.difference = line;
    out.push_back(model);
  }
  return out;
}

const PublishedModel* with_id(std::string_view id) {
  for (const PublishedModel& model : catalogue())
    if (model.id == id) return &model;
  return nullptr;
}

CatalogueName find_tag(std::string_view name) {
  for (const PublishedModel& model : catalogue()) {
    if (model.ollama.empty()) continue;
    // "qwen3:30b" is the model whose whole tag is "qwen3:30b-a3b".
    if (name == model.ollama || (model.ollama.starts_with(name) && model.ollama[name.size()] == '-'))
      return {&model, true, ""};
  }
  for (const PublishedModel& model : catalogue())
    if (!model.ollama.empty() && name.starts_with(std::string(model.ollama) + "-"))
      return {&model, true, std::string(name.substr(name.rfind('-') + 1))};
  return {};
}

}  // namespace

std::span<const PublishedModel> catalogue() {
  static const std::vector<PublishedModel> kModels = read_catalogue();
  return kModels;
}

std::string_view catalogue_date() {
  std::string_view head = catalogue_lines().front();
  return take_column(head);
}

CatalogueName find_published(std::string_view name) {
  if (name.size() > 128) return {};
  std::string text = lower(name);
  if (text.starts_with(kOllamaPrefix)) text.erase(0, kOllamaPrefix.size());
  if (text.find(':') != std::string::npos) return find_tag(text);
  if (name.size() != text.size()) return {};  // "ollama:qwen3" names no size
  const bool has_organisation = text.find('/') != std::string::npos;
  for (const bool whatever_its_types : {false, true})
    for (const PublishedModel& model : catalogue()) {
      std::string known(has_organisation ? model.id : last_part(model.id));
      if (whatever_its_types)
        known = (has_organisation ? known.substr(0, known.find('/') + 1) : "") + std::string(model.model);
      if (lower(known) == text) return {&model, false, ""};
    }
  return {};
}

std::string nearest_published(std::string_view name) {
  if (name.starts_with(kOllamaPrefix)) name.remove_prefix(kOllamaPrefix.size());
  const bool is_tag = name.find(':') != std::string_view::npos;
  const bool has_organisation = name.find('/') != std::string_view::npos;
  std::vector<Candidate> known;
  for (const PublishedModel& model : catalogue()) {
    const std::string_view spelling = is_tag ? model.ollama : has_organisation ? model.id : last_part(model.id);
    if (!spelling.empty()) known.push_back({spelling, spelling});
  }
  std::vector<std::string_view> near;
  const std::string text = folded(name);
  for (const std::string_view each : nearest_names(name, known))
    if ((text.size() > 1 && folded(each).starts_with(text)) || edit_distance(each, name) <= text.size() / 5)
      near.push_back(each);
  return near.empty() ? "" : "did you mean " + join(near, " or ") + "?";
}

ModelSpec load_published(const PublishedModel& model, const std::string& source, const ReadOptions& options,
                         std::string_view why) {
  std::vector<std::string_view> differences;
  for (const PublishedModel* each = &model; each != nullptr; each = with_id(each->like))
    differences.insert(differences.begin(), each->difference);
  const PublishedFiles files = merged_files(differences, split(catalogue_lines()[1]));
  ModelSpec out = read_config(files.config, files.hf_quant_config, source, options);
  inform(out.notes, "catalogue",
         {"planned from the config of {id} in kvplan's catalogue of {date}{why}",
          {{"id", std::string(model.id)},
           {"date", std::string(catalogue_date())},
           {"why", why.empty() ? std::string() : ": " + std::string(why)}}});
  return out;
}

std::string usual_name(std::string name) {
  std::string_view rest = name;
  for (const std::string_view scheme : {"https://", "http://"})
    if (rest.starts_with(scheme)) rest.remove_prefix(scheme.size());
  for (const std::string_view site : {"ollama.com/library/", "www.ollama.com/library/", "registry.ollama.ai/library/"})
    if (rest.starts_with(site)) return std::string(kOllamaPrefix) + std::string(rest.substr(site.size()));
  for (const std::string_view prefix : {"hf.co/", "huggingface.co/", "hf:"})
    if (name.starts_with(prefix)) return name.substr(prefix.size());
  return name;
}

}  // namespace kvplan
