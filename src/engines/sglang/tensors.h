// A model's tensors as SGLang's classes make them.
#ifndef KVPLAN_ENGINES_SGLANG_TENSORS_H_
#define KVPLAN_ENGINES_SGLANG_TENSORS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "engines/engine.h"

namespace kvplan {

void sglang_tensors(EngineTensors& model);
// What they depend on in a request: the release, the card's kernels, the ranks.
std::string sglang_makes_by(const Request& request);

// What depends on the release in these, for `kvplan engines sglang --rules`.
std::vector<RuleRow> sglang_tensor_rule_rows();

// The multiples that an MXFP4 expert's inner and outer width are padded to.
Mxfp4Layout sglang_mxfp4_layout(const Request& request);
Bytes sglang_rotary_table(const RotaryTable& table, const SideTensorsInput& input, std::uint64_t element);
// Whether vocabulary rows are padded to 64 on a single rank too (VocabParallelEmbedding).
bool sglang_pads_vocab(const Request& request);

}  // namespace kvplan

#endif  // KVPLAN_ENGINES_SGLANG_TENSORS_H_
