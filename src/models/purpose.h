// Whether a model is for embeddings or scores rather than for generating.
#ifndef KVPLAN_MODELS_PURPOSE_H_
#define KVPLAN_MODELS_PURPOSE_H_

#include "models/reader.h"

namespace kvplan {

void read_purpose(Reader& reader);

}  // namespace kvplan

#endif  // KVPLAN_MODELS_PURPOSE_H_
