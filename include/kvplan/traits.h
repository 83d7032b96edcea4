// What engines and weights need to know about an architecture besides its layers and tensors. A family's file sets
// these in its rows: {.is = {"glm4", kExecutedClass, Arch::kGlm4, {.overflows_float16 = true}}, ...}.
#pragma once

namespace kvplan {

struct ModelTraits {
  bool overflows_float16 = false;  // sums of its layers leave float16's range: engines load float32 files as bfloat16
  bool head_before_table = false;  // llama.cpp creates the head before the embedding table: both are on the host
  bool is_first_falcon = false;    // a GGUF's mixture of types treats Falcon 7B and 40B specially
};

}  // namespace kvplan
