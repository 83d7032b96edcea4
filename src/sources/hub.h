// A model that is named as the Hub names it: from the HF tools' cache, else from kvplan's own, else fetched: its
// config.json, then what says how large its weights are, which is two requests, or three.
#ifndef KVPLAN_SOURCES_HUB_H_
#define KVPLAN_SOURCES_HUB_H_

#include <string>

#include "formulas/model.h"
#include "sources/load.h"

namespace kvplan {

// `argument` is org/name[@revision] or the address of a model's page. Throws Error: kBadInput for what is no such
// name, kHub for what could not be had.
ModelSpec load_from_hub(const std::string& argument, const SourceOptions& options);

}  // namespace kvplan

#endif  // KVPLAN_SOURCES_HUB_H_
