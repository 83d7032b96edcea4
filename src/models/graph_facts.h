// Fills ModelSpec::graph.
#pragma once

#include "formats/fields.h"
#include "formats/gguf_keys.h"
#include "formulas/model.h"

namespace kvplan {

void read_graph_facts(const GgufKeys& keys, std::string_view architecture, ModelSpec& model);
void read_graph_facts(const Fields& text, ModelSpec& model);

}  // namespace kvplan
