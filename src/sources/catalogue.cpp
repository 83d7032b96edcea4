#include "sources/catalogue.h"

#include <algorithm>

#include "formats/own_files.h"
#include "kvplan/strings.h"
#include "sources/hub_settings.h"

namespace kvplan {

std::span<const std::string_view> catalogue_lines();  // catalogue.txt

constexpr std::string_view kUsualFiles = "=";  // the usual repository of GGUF files
constexpr std::string_view kOllamaPrefix = "ollama:";

static std::string_view last_part(std::string_view id) {
  return id.substr(id.rfind('/') + 1);
}

// Takes the next column from a line of the table.
static std::string_view take_column(std::string_view& line) {
  const auto bar = line.find('|');
  const std::string_view out = line.substr(0, bar);
  line = bar == std::string_view::npos ? std::string_view() : line.substr(bar + 1);
  return out;
}

static std::vector<PublishedModel> read_catalogue() {
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
      model.gguf =
          "unsloth/" + std::string(last_part(model.id)) + "-GGUF";  // the table leaves out the usual repository
    model.tags = take_column(line);
    model.ollama = model.tags.substr(0, model.tags.find(' '));
    const std::string_view like = take_column(line);
    if (const auto entry = whole_number(like); entry && *entry < out.size()) model.like = out[*entry].id;
    model.difference = line;
    out.push_back(model);
  }
  return out;
}

static const PublishedModel* with_id(std::string_view id) {
  for (const PublishedModel& model : catalogue())
    if (model.id == id) return &model;
  return nullptr;
}

static std::string without_ending(std::string text, std::initializer_list<std::string_view> endings) {
  for (const std::string_view ending : endings)
    if (text.ends_with(ending)) text.resize(text.size() - ending.size());
  return text;
}

// A short name as people type it: "llama3.1 8b" and "Llama-3.1-8B" are the same.
static std::string typed_name(std::string_view name) {
  std::string out = lower(name);
  if (out.starts_with("meta-")) out.erase(0, 5);
  std::erase_if(out, [](char c) { return c == '-' || c == '_' || c == ' '; });
  return out;
}

// The model with this name except for "-Instruct" or blanks, if there is only one.
static const PublishedModel* with_typed_name(std::string_view name) {
  const std::string text = typed_name(name);
  const PublishedModel* out = nullptr;
  for (const bool whole : {true, false}) {
    for (const PublishedModel& model : catalogue()) {
      const std::string known = lower(last_part(model.id));
      if (typed_name(whole ? known : without_ending(known, {"-instruct", "-it", "-hf", "-chat"})) != text) continue;
      if (out != nullptr) return nullptr;
      out = &model;
    }
    if (out != nullptr) return out;
  }
  return out;
}

// "unsloth/Qwen3-8B-GGUF:Q8_0": the files that the catalogue names, or another publisher's files of that name.
static CatalogueName find_files(std::string_view name) {
  const std::string_view repository = name.substr(0, name.find(':'));
  const std::string type(name.substr(std::min(name.size(), repository.size() + 1)));
  for (const bool is_named : {true, false})
    for (const PublishedModel& model : catalogue())
      if (is_named ? lower(model.gguf) == repository : last_part(repository) == lower(last_part(model.id)) + "-gguf")
        return {&model, false, true, type};
  return {};
}

// "Qwen3-8B-Q8_0.gguf": a file of the repository "Qwen3-8B-GGUF".
static CatalogueName find_file(std::string name) {
  name = without_ending(std::string(last_part(name)), {".gguf"});
  name.resize(std::min(name.size(), name.find("-00001-of-")));
  const auto end = name.find_last_of("-.");
  if (end == std::string::npos || end == 0) return {};
  const auto start = name.substr(0, end).ends_with("-ud") ? end - 3 : end;
  return find_files("/" + name.substr(0, start) + "-gguf:" + name.substr(start + 1));
}

static CatalogueName find_tag(const std::string& text) {
  const std::string name = without_ending(text, {":latest"});
  for (const PublishedModel& model : catalogue()) {
    if (has_word(model.tags, name)) return {&model, true, false, ""};
    // "qwen3:30b" means the model whose whole tag is "qwen3:30b-a3b".
    if (name.find(':') != std::string::npos && model.ollama.starts_with(name + "-")) return {&model, true, false, ""};
  }
  for (const PublishedModel& model : catalogue())
    if (model.ollama.find(':') != std::string_view::npos && name.starts_with(std::string(model.ollama) + "-"))
      return {&model, true, false, name.ends_with("-qat") ? "q4_0" : name.substr(name.rfind('-') + 1)};
  return {};
}

// "name a size: qwen3:4b, qwen3:8b" for "qwen3" and "qwen3:9b".
static std::string sizes_of_family(std::string_view name) {
  const std::string start = lower(name.substr(0, name.find(':'))) + ":";
  std::vector<const PublishedModel*> family;
  for (const PublishedModel& model : catalogue())
    if (model.ollama.starts_with(start)) family.push_back(&model);
  const auto size = [](const PublishedModel* model) { return model->parameters - 1; };  // unknown ones last
  std::sort(family.begin(), family.end(), [&](const auto* a, const auto* b) { return size(a) < size(b); });
  std::string out;
  for (const PublishedModel* model : family)
    if (out.find(model->ollama) == std::string::npos)
      out += (out.empty() ? "name a size: " : ", ") + std::string(model->ollama);
  return out;
}

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
  if (text.ends_with(".gguf")) return find_file(text);
  const bool has_organisation = text.find('/') != std::string::npos;
  const bool is_in_a_store = name.size() != text.size();
  if (has_organisation && !is_in_a_store)
    if (const CatalogueName files = find_files(text); files.model != nullptr) return files;
  if (is_in_a_store || text.find(':') != std::string::npos) return find_tag(text);
  std::string renamed = text;
  if (const auto meta = renamed.find("/meta-"); meta != std::string::npos) renamed.erase(meta + 1, 5);
  for (const bool whatever_its_types : {false, true})
    for (const PublishedModel& model : catalogue()) {
      std::string known(has_organisation ? model.id : last_part(model.id));
      if (whatever_its_types)
        known = (has_organisation ? known.substr(0, known.find('/') + 1) : "") + std::string(model.model);
      // A repository that was renamed: "meta-llama/Meta-Llama-3.1-8B".
      if (lower(known) == text || (has_organisation && lower(known) == renamed)) return {&model, false, false, ""};
    }
  if (const CatalogueName tag = find_tag(text); tag.model != nullptr) return tag;
  return {has_organisation ? nullptr : with_typed_name(text), false, false, ""};
}

std::string nearest_published(std::string_view name) {
  if (name.starts_with(kOllamaPrefix)) name.remove_prefix(kOllamaPrefix.size());
  if (const std::string sizes = sizes_of_family(name); !sizes.empty()) return sizes;
  const bool is_tag = name.find(':') != std::string_view::npos;
  const bool has_organisation = name.find('/') != std::string_view::npos;
  // The same model by another publisher, in another type, or before its fine-tuning.
  std::string plain = lower(last_part(name));
  if (const auto type = plain.rfind("-q"); type < plain.size() - 2 && plain[type + 2] < 'a') plain.resize(type);
  plain = without_ending(plain,
                         {"-gguf", "-awq", "-gptq", "-fp8", "-nvfp4", "-base", "-instruct", "-it", "-4bit", "-8bit"});
  if (const PublishedModel* same = is_tag ? nullptr : with_typed_name(plain); same != nullptr)
    return "did you mean " + std::string(has_organisation ? same->id : last_part(same->id)) + "?";
  std::vector<const PublishedModel*> newest;
  for (const PublishedModel& model : catalogue()) newest.push_back(&model);
  // Plain checkpoints first: "Qwen3.6-27B" before its NVFP4.
  const auto rank = [](const PublishedModel* model) {
    return std::pair(model->model == last_part(model->id), model->date);
  };
  std::stable_sort(newest.begin(), newest.end(), [&](const auto* a, const auto* b) { return rank(a) > rank(b); });
  const std::string text = folded(name);
  std::vector<Candidate> known;
  std::size_t alike = 0;
  for (const PublishedModel* model : newest) {
    const std::string_view spelling = is_tag ? model->ollama : has_organisation ? model->id : last_part(model->id);
    if (!spelling.empty()) known.push_back({spelling, spelling});
    if (text.size() > 1 && folded(spelling).starts_with(text)) ++alike;
  }
  std::vector<std::string_view> near;
  for (const std::string_view each : nearest_names(name, known))
    if ((text.size() > 1 && folded(each).starts_with(text)) || edit_distance(each, name) <= text.size() / 5)
      near.push_back(each);
  if (near.empty()) return "";
  return "did you mean " + join(near, " or ") + "?" +
         (alike > near.size() ? " kvplan models " + std::string(name) + " lists all" : "");
}

PublishedFiles published_files(const PublishedModel& model) {
  std::vector<std::string_view> differences;
  for (const PublishedModel* each = &model; each != nullptr; each = with_id(each->like))
    differences.insert(differences.begin(), each->difference);
  return merged_files(differences, split(catalogue_lines()[1]));
}

ModelSpec load_published(const PublishedModel& model, const std::string& source, const ReadOptions& options,
                         std::string_view why) {
  const PublishedFiles files = published_files(model);
  ModelSpec out = read_config(files.config, files.hf_quant_config, source, options);
  inform(out.notes, "catalogue",
         {"planned from the config of {id} in kvplan's catalogue of {date}{why}",
          {{"id", std::string(model.id)},
           {"date", std::string(catalogue_date())},
           {"why", why.empty() ? std::string() : ": " + std::string(why)}}});
  return out;
}

std::string usual_name(std::string name) {
  if (is_local_path(name)) return name;
  std::string_view text = trimmed(name);
  if (text.ends_with('/')) text.remove_suffix(1);
  const std::string lowered = lower(text);
  std::string_view rest = lowered;
  for (const std::string_view scheme : {"https://", "http://"})
    if (rest.starts_with(scheme)) rest.remove_prefix(scheme.size());
  const bool is_url = rest.size() < lowered.size();
  const auto after = [&](std::string_view prefix) { return text.substr(text.size() - rest.size() + prefix.size()); };
  for (const std::string_view prefix : {"ollama.com/library/", "www.ollama.com/library/", "registry.ollama.ai/library/",
                                        "library/", "ollama/", "ollama://", "ollama:", "ollama run ", "ollama pull "})
    if (rest.starts_with(prefix)) return std::string(kOllamaPrefix) + std::string(after(prefix));
  for (const std::string_view prefix : {"hf.co/", "huggingface.co/", "www.huggingface.co/", "hf://", "hf:"})
    if (!is_url && rest.starts_with(prefix)) return std::string(after(prefix));
  return std::string(text);
}

}  // namespace kvplan
