// Whether a model is for embeddings or scores rather than for generating.
#pragma once

#include "models/reader.h"

namespace kvplan {

void read_purpose(Reader& reader);

}  // namespace kvplan
