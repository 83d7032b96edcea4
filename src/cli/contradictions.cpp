#include "cli/contradictions.h"

#include <algorithm>
#include <string>

#include "engines/engine.h"
#include "kvplan/error.h"
#include "kvplan/format_bytes.h"
#include "kvplan/gpus.h"

namespace kvplan {

namespace {

// Lists yield tables, which only these commands print.
void check_lists(const Invocation& call) {
  const bool plans = call.command == "plan";
  const bool compares = call.command == "compare";
  if (!call.gpus.empty() && !plans && !compares && call.command != "fit")
    fail(call.command + " takes one --gpu", "name one GPU");
  if (!call.weights.empty() && !plans && !compares)
    fail(call.command + " takes one --weights", "name one type, or see kvplan compare");
  if (!call.kv_types.empty() && !compares)
    fail("--kv-cache-dtype: " + call.command + " takes one type", "name one, or list them for kvplan compare");
  if (!call.request.card.mixed.empty() && call.engine_given && !engine_of(call.request).loading.embedding_on_host)
    fail("--gpu names different GPUs, and " + std::string(engine_of(call.request).name) + " splits evenly",
         "name the smallest, with --gpu-count " + std::to_string(call.request.card.mixed.size()) +
             ", or plan --engine llama.cpp");
  const auto is_gpu = [](const auto& each) { return each.first == "--gpu"; };
  if (std::count_if(call.typed.begin(), call.typed.end(), is_gpu) > 1)
    fail("--gpu is given twice", "name all GPUs in one list: --gpu rtx-4090,l40s");
  if (!call.gpus.empty() && call.request.card.memory)
    fail("--gpu names several GPUs and --gpu-memory gives one size", "leave one of them out");
}

// Standard input can be read only once.
void check_inputs(const Invocation& call) {
  if (std::count(call.models.begin(), call.models.end(), "-") > 1)
    fail("standard input (-) is given twice", "give it once");
}

void check_load(const Invocation& call, const std::function<bool(std::string_view)>& given) {
  const Request& request = call.request;
  if (request.limits.min_seqs && request.max_num_seqs && *request.limits.min_seqs > *request.max_num_seqs)
    fail("--min-seqs " + std::to_string(*request.limits.min_seqs) + " is more than the scheduler's --max-num-seqs " +
             std::to_string(*request.max_num_seqs),
         "raise --max-num-seqs, or lower --min-seqs");
  // With a GPU or a budget, the limits are about what would fit; without, only about the request.
  const bool has_room = request.card.gpu || request.card.memory || request.kv_cache_memory_bytes || !call.gpus.empty();
  const auto length = request.max_model_len ? request.max_model_len : request.llama_cpp.ctx_size;
  if (!has_room && request.limits.min_context && length && *request.limits.min_context > *length)
    fail("--min-context " + std::to_string(request.limits.min_context->count()) + " is more than the " +
             std::to_string(length->count()) + " tokens of the request",
         "raise --max-model-len, or give --gpu to see what would fit");
  if (!has_room && request.limits.min_seqs && given("--num-seqs") && *request.limits.min_seqs > request.num_seqs)
    fail("--min-seqs " + std::to_string(*request.limits.min_seqs) + " is more than --num-seqs " +
             std::to_string(request.num_seqs),
         "raise --num-seqs, or give --gpu to see what would fit");
  const bool counts_slots = !call.engines.empty() || engine_of(request).slot_tokens != nullptr;
  if (!counts_slots && request.max_model_len && request.llama_cpp.ctx_size &&
      *request.max_model_len != *request.llama_cpp.ctx_size)
    fail("--max-model-len " + std::to_string(request.max_model_len->count()) + " and --ctx-size " +
             std::to_string(request.llama_cpp.ctx_size->count()) + " are the same option in " +
             std::string(engine_of(request).name),
         "use one of them");
}

void check_drafts(const Invocation& call) {
  const auto& method = call.request.extras.draft_method;
  if (call.request.mtp && method && *method != DraftMethod::kMtp)
    fail("--mtp and the speculative method " + std::string(name(*method)) + " are two drafting methods",
         "leave one of them out");
}

void check_budget(const Invocation& call) {
  const Request& request = call.request;
  if (!request.kv_cache_memory_bytes) return;
  const Bytes budget = *request.kv_cache_memory_bytes;
  if (request.limits.max_vram && budget > *request.limits.max_vram)
    fail("--kv-cache-memory-bytes of " + format_bytes(budget) + " is more than --max-vram of " +
             format_bytes(*request.limits.max_vram),
         "lower the budget, or raise the limit");
  const auto check_card = [&](Bytes card, std::string_view what) {
    if (budget > card)
      fail("--kv-cache-memory-bytes of " + format_bytes(budget) + " is more than the " + format_bytes(card) + " of " +
               std::string(what),
           "lower the budget");
  };
  if (request.card.memory)
    check_card(*request.card.memory, "--gpu-memory");
  else if (request.card.gpu)
    check_card(Bytes(request.card.gpu->memory_mib * kMiB), request.card.gpu->name);
  for (const Gpu* gpu : call.gpus) check_card(Bytes(gpu->memory_mib * kMiB), gpu->name);
}

void check_layout(const Invocation& call, const std::function<bool(std::string_view)>& given) {
  const Request& request = call.request;
  if (!given("--gpu-count")) return;
  const std::uint64_t needed = request.parallel.gpus();
  if (needed > request.card.count)
    fail(
        "the layout needs " + std::to_string(needed) + " GPUs and --gpu-count is " + std::to_string(request.card.count),
        "raise --gpu-count, or lower -tp, -pp or -dp");
}

}  // namespace

void check_contradictions(const Invocation& call, const std::function<bool(std::string_view)>& given) {
  check_inputs(call);
  check_lists(call);
  check_load(call, given);
  check_workload(call.workload, call.request);
  check_drafts(call);
  check_budget(call);
  check_layout(call, given);
}

}  // namespace kvplan
