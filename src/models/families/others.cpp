// Architectures of laboratories that have one here. Source: transformers' modelling files of the types named, or the
// checkpoints' own.
#include <algorithm>

#include "models/blocks/inventory.h"
#include "models/blocks/layers.h"
#include "models/family.h"

namespace kvplan {

namespace {

void write_beam(Inventory& inventory) {
  const std::uint64_t heads = inventory.text.count_or("num_attention_heads", 0);
  inventory.out.in_layers(all_layers(inventory));
  inventory.out.plain(Component::kAttention, "self_attn.gate_bias", heads, Split::kRows, heads);
}

void write_jetmoe(Inventory& inventory) {
  inventory.out.in_layers(all_layers(inventory));
  inventory.out.plain(Component::kOther, "expert_biases", times(2, inventory.hidden));
}

void write_modernbert_decoder(Inventory& inventory) {
  inventory.out.outside(Place::kLast);
  inventory.out.linear(Component::kLmHead, "lm_head.dense", inventory.hidden, inventory.hidden);
  inventory.out.norms("lm_head.norm", inventory.hidden);
}

// clang-format off
constexpr Family kRows[] = {
    {.is = {"aquila xverse skywork", "plain", Arch::kOther, "executed class"}, .layers = read_plain},
    {.is = {"idefics", "plain"}, .layers = read_plain, .tensors = {.may_have_more = true}},
    {.is = {"klear", "plain"}, .layers = read_plain, .tensors = {.qk_norm = QkNorm::kHead, .has_router_bias = true}},
    {.is = {"jetmoe", "plain", Arch::kOther, "executed class"}, .layers = read_plain,
     .tensors = {.ties_by_default = true}, .extras = write_jetmoe},
    {.is = {"mellum", "windowed", Arch::kMellum, "executed class"}, .layers = read_windowed,
     .tensors = {.qk_norm = QkNorm::kHead}, .pattern = PatternRule{PatternRule::Default::kAllFull}},
    {.is = {"modernbert-decoder", "windowed", Arch::kOther, "executed class"}, .layers = read_windowed,
     .tensors = {.head_bias = "decoder_bias", .ties_by_default = true},
     .pattern = PatternRule{PatternRule::Default::kFullFirstOf, 3, false, Label::kSliding,
     "global_attn_every_n_layers"}, .extras = write_modernbert_decoder},
    {.is = {"smallthinker", "windowed", Arch::kSmallthinker, "executed class"}, .layers = read_windowed,
     .pattern = PatternRule{PatternRule::Default::kAllFull}},
    {.is = {"spark2_5", "windowed", Arch::kSpark2p5}, .layers = read_windowed, .tensors = {.gate = Gate::kHead,
     .gate_key = "headwise_attn_output_gate"}, .pattern = PatternRule{PatternRule::Default::kAllFull}},
    {.is = {"beam", "windowed", Arch::kOther, "executed class"}, .layers = read_windowed,
     .tensors = {.qk_norm = QkNorm::kHead, .gate = Gate::kWide, .norms = 4, .dense_first = 3,
     .has_router_bias = true}, .pattern = PatternRule{PatternRule::Default::kFullEveryAndLast, 6},
     .extras = write_beam},
    {.is = {"flint", "windowed", Arch::kOther, "executed class"}, .layers = read_windowed,
     .tensors = {.qk_norm = QkNorm::kHead, .has_sinks = true, .dense_first = 2},
     .pattern = PatternRule{PatternRule::Default::kFullSecondOf, 4}},
    {.is = {"kolibri1", "windowed", Arch::kOther, "executed class"}, .layers = read_windowed,
     .tensors = {.qk_norm = QkNorm::kHead, .norms = 4, .has_router_bias = true},
     .pattern = PatternRule{PatternRule::Default::kFullEvery, 5}},
    // As llama.cpp calls them: a decoder and a draft with windows, and latent attention kept expanded.
    {.is = {"maple", "windowed", Arch::kMaple, "executed class"}, .layers = read_windowed},
    {.is = {"dflash", "windowed", Arch::kDflash, "executed class"}, .layers = read_windowed},
    {.is = {"plm", "mla", Arch::kPlm, "executed class"}, .layers = read_mla},
};
// clang-format on

}  // namespace

std::span<const Family> others_family() {
  return kRows;
}

}  // namespace kvplan
