// A model by its name on the Hub: from the Hugging Face tools' cache, else from kvplan's own, else fetched. Fetching
// takes its config.json and then the sizes of its weights, in two or three requests.
#pragma once

#include <string>

#include "formulas/model.h"
#include "sources/load.h"

namespace kvplan {

// `argument` is org/name[@revision] or the address of a model's page. Throws Error: kBadInput for an invalid name, kHub
// where fetching failed.
ModelSpec load_from_hub(const std::string& argument, const SourceOptions& options);

}  // namespace kvplan
