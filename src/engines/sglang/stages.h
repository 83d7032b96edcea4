// What each pipeline stage stores of a model, computed once.
#ifndef KVPLAN_ENGINES_SGLANG_STAGES_H_
#define KVPLAN_ENGINES_SGLANG_STAGES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engines/engine.h"
#include "engines/sglang/class_table.h"
#include "engines/sglang/pools.h"

namespace kvplan {

class SglangStages : protected SglangPools {
 protected:
  SglangStages(const EngineInput& input, std::vector<Note>& notes);

  // Adds what a rank of the stage stores of a layer.
  void add(SglangStage& stage, const LayerCache& cache) const;

  std::uint64_t ranks_;
  CacheTypes types_;
  SglangClass class_;
  bool two_pools_;
  bool counts_bare_latents_ = false;
  std::optional<Term> all_index_;  // the index keys that every layer has
  Template draft_label_;

 private:
  static SglangRatio window_ratio(const ExtrasRequest& extras, bool compressed);
  std::uint64_t windows_by_request(const EngineInput& input) const;
  void read_pools(const EngineInput& input);
  std::uint64_t ring_of(const Term& term) const;
  bool kept_by_request(const Term& term) const;
  Bytes padded_page(Bytes entry, std::uint64_t stride) const;
  static Bytes spare_pages(Bytes page, std::uint64_t stride);
  double charged(Bytes entry, std::uint64_t stride) const;
  static void fill_shared(SglangStage& stage);
  static void number_encoder(SglangStage& stage, const ModelShape& model);
  void add_draft(const EngineInput& input);
};

}  // namespace kvplan

#endif  // KVPLAN_ENGINES_SGLANG_STAGES_H_
