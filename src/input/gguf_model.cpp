#include "input/gguf_model.h"

#include "kvplan/error.h"

namespace kvplan {

ModelSpec load_gguf(const std::string&, const ReadOptions&) {
  fail("GGUF files are not read yet", "give the model's config.json");
}

}  // namespace kvplan
