#include "sources/load.h"

#include <algorithm>
#include <filesystem>

#include "formats/file.h"
#include "kvplan/error.h"
#include "kvplan/strings.h"
#include "sources/catalogue.h"
#include "sources/hub_http.h"
#include "sources/hub_settings.h"
#include "sources/local_stores.h"

namespace kvplan {

namespace {

namespace fs = std::filesystem;

// Refuses a token that was given as a model, without showing it.
void refuse_token(std::string_view argument) {
  const bool is_token =
      argument.size() > 20 && argument.starts_with("hf_") &&
      std::all_of(argument.begin(), argument.end(), [](char c) { return is_letter_or_digit(c) || c == '_'; });
  if (!is_token || exists(std::string(argument))) return;
  with_source("MODEL", [] { fail("this is a Hub token, not a model", "give it as HF_TOKEN or --token, and a MODEL"); });
}

std::string read_quant_config(const std::string& directory) {
  const std::string path = directory + "/hf_quant_config.json";
  if (!exists(path)) return {};
  if (!is_file(path)) fail("hf_quant_config.json is not a file", "restore the file, or remove it");
  std::string out = read_file(path);
  if (out.empty()) fail("hf_quant_config.json is empty", "restore the file, or remove it");
  return out;
}

// Hugging Face's config, or Mistral's; "" if there is neither.
std::string config_in(const std::string& directory) {
  for (const char* name : {"/config.json", "/params.json"})
    if (exists(directory + name)) return directory + name;
  return "";
}

// A path to a config.json means the whole checkpoint, as it does for the engines.
bool is_config_of_checkpoint(const std::string& path) {
  const std::string name = fs::path(path).filename().string();
  return name == "config.json" || name == "params.json";
}

std::string directory_of(const std::string& path) {
  const std::string out = fs::path(path).parent_path().generic_string();
  return out.empty() ? "." : out;
}

// The checkpoint to which a config belongs: the files next to it are read too.
ModelSpec load_checkpoint(const std::string& config, const std::string& directory, const std::string& source,
                          const SourceOptions& options) {
  ModelSpec model = read_config(read_file(config), read_quant_config(directory), source, options.read);
  read_stored(directory, model);
  return model;
}

ModelSpec load_directory(const std::string& directory, const SourceOptions& options) {
  if (const std::string config = config_in(directory); !config.empty())
    return load_checkpoint(config, directory, directory, options);
  refuse_layout(directory);
  const std::vector<std::string> ggufs = entries_of(directory, ".gguf");
  if (ggufs.empty()) fail("the directory has no config.json and no *.gguf", "give a model's directory");
  // A single file, or a folder of only projectors and drafts, is left to the reader, which reports what it is.
  const std::string chosen = choose_gguf(ggufs, "");
  return load_gguf(chosen.empty() ? ggufs.front() : chosen, options.read);
}

// A model in another tool's store: its folder, or a GGUF with any name.
ModelSpec load_stored(const std::string& argument, const SourceOptions& options) {
  const CatalogueName known = find_published(argument);
  if (known.is_tag && !is_in_ollama(argument))
    return load_published(*known.model, argument.substr(argument.find(':') + 1), options.read,
                          "ollama's store does not have the model's file");
  const std::string sizes = argument.starts_with("ollama:") ? nearest_published(argument) : "";
  if (!sizes.empty() && !is_in_ollama(argument)) fail("ollama's store has no model of that name", sizes);
  const std::string path = find_in_store(argument);
  ModelSpec model = is_directory(path) ? load_directory(path, options) : load_gguf(path, options.read);
  model.source = argument;
  return model;
}

// A GGUF, or the model in the catalogue that a file's name tells.
ModelSpec load_file(const std::string& path, const SourceOptions& options) {
  const CatalogueName known = exists(path) ? CatalogueName() : find_published(path);
  if (known.model == nullptr) return load_gguf(path, options.read);
  return load_published(*known.model, std::string(known.model->id) + "-GGUF:" + known.type, options.read,
                        "the file is not here");
}

// A model of the Hub. If neither a cache nor the Hub has it, the catalogue may.
ModelSpec load_published_or_fetch(const std::string& argument, const SourceOptions& options) {
  const bool is_url = is_hub_url(argument);
  const HubId page = is_url ? parse_hub_id(argument, read_hub_settings(options.hub).endpoint) : HubId();
  const CatalogueName known = find_published(is_url ? page.repo : argument);
  if (known.is_tag) return load_stored("ollama:" + argument, options);
  const std::string id =
      known.model != nullptr && argument.find('/') == std::string::npos ? std::string(known.model->id) : argument;
  try {
    return load_from_hub(id, options);
  } catch (const Error& error) {
    const std::string_view what = error.what();
    const bool is_main = options.hub.revision.empty() && (page.revision.empty() || page.revision == "main");
    if (known.model != nullptr && error.code() == Exit::kHub && is_main)
      return load_published(
          *known.model, id, options.read,
          read_hub_settings(options.hub).offline ? "" : one_line(what.substr(0, what.find("; ")), 160));
    const std::string near = is_url || known.model != nullptr ? "" : nearest_published(argument);
    if (argument.find('/') == std::string::npos)
      fail("no such file, and no model of that name",
           near.empty() ? "for a model of the Hub write org/name; kvplan models lists other names" : near);
    if (near.empty()) throw;
    fail(error.code(), what.substr(0, what.find("; ")), near);
  }
}

}  // namespace

ModelSpec load_gguf(const std::string& path, const ReadOptions& options) {
  return read_gguf(Gguf::open(path), path, options);
}

ModelSpec load_snapshot(const std::string& directory, const std::string& source, const SourceOptions& options) {
  if (!exists(directory + "/config.json")) {
    ModelSpec model = load_directory(directory, options);
    model.source = source;
    return model;
  }
  ModelSpec model =
      read_config(read_file(directory + "/config.json"), read_quant_config(directory), source, options.read);
  const std::size_t notes = model.notes.size();
  try {
    read_stored(directory, model);
  } catch (const Error& error) {
    model.notes.resize(notes);
    model.stored.clear();
    inform(model.notes, "incomplete_copy",
           {"the cached copy is incomplete ({error}): the weights come from its index or config",
            {{"error", one_line(error.what(), 160)}}});
    read_stored_index(directory, model);
  }
  return model;
}

ModelSpec load_model(const std::string& name, const SourceOptions& options) {
  refuse_token(name);
  const std::string argument = exists(name) ? name : usual_name(name);
  return with_source(argument.empty()  ? "MODEL"
                     : argument == "-" ? "standard input"
                                       : argument,
                     [&] {
                       if (argument == "-") return read_config(read_stdin(), "", "-", options.read);
                       if (is_in_store(argument) && !exists(argument)) return load_stored(argument, options);
                       if (is_hub_url(argument) || !is_local_path(argument))
                         return load_published_or_fetch(argument, options);
                       if (is_directory(argument)) return load_directory(argument, options);
                       if (argument.ends_with(".gguf")) return load_file(argument, options);
                       if (argument.ends_with(".txt"))
                         fail("not a model's config", "for a list of models write @" + one_line(argument, 200));
                       if (argument.ends_with(".safetensors"))
                         fail("tensors do not name an architecture",
                              "give their directory, with the config.json in it");
                       if (is_config_of_checkpoint(argument))
                         return load_checkpoint(argument, directory_of(argument), argument, options);
                       return read_config(read_file(argument), "", argument, options.read);
                     });
}

std::vector<std::string> expand_models(const std::vector<std::string>& arguments, bool& is_fleet) {
  std::vector<std::string> out;
  is_fleet = arguments.size() > 1;
  const auto add = [&out](const std::vector<std::string>& models) {
    out.insert(out.end(), models.begin(), models.end());
    if (out.size() > kMostModels)
      with_source(models.back(),
                  [] { fail("with it there are more than " + std::to_string(kMostModels) + " models", "split them"); });
  };
  for (const std::string& argument : arguments) {
    refuse_token(argument);
    if (is_model_list(argument)) {
      is_fleet = true;
      bool ignored = false;
      const std::vector<std::string> named = expand_models(read_model_list(argument), ignored);
      add(named);
      continue;
    }
    if (!is_directory(argument) || !config_in(argument).empty() || is_other_layout(argument) ||
        !entries_of(argument, ".gguf").empty()) {
      add({argument});
      continue;
    }
    // A directory of configs, or of directories that each have one.
    std::vector<std::string> found = entries_of(argument, ".json");
    for (const std::string& entry : entries_of(argument))
      if (is_directory(entry) && !config_in(entry).empty()) found.push_back(entry);
    std::sort(found.begin(), found.end());
    if (found.empty()) {
      with_source(argument, [] {
        fail("the directory has no config.json, no *.gguf and no *.json", "give a model's directory");
      });
    }
    is_fleet = true;
    add(found);
  }
  return out;
}

}  // namespace kvplan
