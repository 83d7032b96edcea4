// The built-in catalogue: published models by id, short name or ollama tag. scripts/published.py writes its table.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "formats/own_files.h"
#include "kvplan/published.h"
#include "sources/load.h"

namespace kvplan {

std::span<const PublishedModel> catalogue();
std::string_view catalogue_date();  // "2026-11-27"

// A name that the catalogue knows. `model` is null for every other name.
struct CatalogueName {
  const PublishedModel* model = nullptr;
  bool is_tag = false;    // of ollama's library: "qwen3:8b"
  bool is_gguf = false;   // a repository of GGUF files: "unsloth/Qwen3-8B-GGUF:Q8_0"
  std::string type = {};  // the type at the end of the name: "q8_0"
};
// Finds an id ("Qwen/Qwen3-8B"), its last part, an ollama tag with or without "ollama:", or the model's GGUF files.
// Capitals do not matter. In a short name "-", "_", blanks, "Meta-" and a final "-Instruct" do not matter either, if
// only one model fits.
CatalogueName find_published(std::string_view name);

// "did you mean Qwen3-8B?", or the sizes of a family of tags ("qwen3"). "" if no name is near.
std::string nearest_published(std::string_view name);

// The files of the model's repository.
PublishedFiles published_files(const PublishedModel& model);

// Reads the published config. A note says that the answer comes from the catalogue, and gives `why`.
ModelSpec load_published(const PublishedModel& model, const std::string& source, const ReadOptions& options,
                         std::string_view why = "");

// Turns another spelling into the usual name: "hf.co/org/name" and "hf:org/name" into org/name, the address of a page
// on ollama.com into its tag. Other names stay as they are.
std::string usual_name(std::string name);

}  // namespace kvplan
