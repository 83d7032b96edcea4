// Architectures of laboratories that have one here. Source: transformers' modelling files of the types named, or the
// checkpoints' own.
#include "models/blocks/blocks.h"

namespace kvplan {

static void write_beam(Inventory& inventory) {
  const std::uint64_t heads = inventory.text.count_or("num_attention_heads", 0);
  inventory.out.in_layers(all_layers(inventory));
  inventory.out.plain(Component::kAttention, "self_attn.gate_bias", heads, Split::kRows, heads);
}

static void write_jetmoe(Inventory& inventory) {
  inventory.out.in_layers(all_layers(inventory));
  inventory.out.plain(Component::kOther, "expert_biases", times(2, inventory.hidden));
}

static void write_modernbert_decoder(Inventory& inventory) {
  inventory.out.outside(Place::kLast);
  inventory.out.linear(Component::kLmHead, "lm_head.dense", inventory.hidden, inventory.hidden);
  inventory.out.norms("lm_head.norm", inventory.hidden);
}

// Keys and values for all, queries and outputs by experts of a mixture; each token's two experts attend with the same
// keys.
static bool write_mixture_of_attention(Inventory& inventory, const Mixer& mixer) {
  const Heads* heads = heads_of(mixer);
  if (heads == nullptr) return false;
  Builder& out = inventory.out;
  const std::uint64_t experts = inventory.text.count_or("num_experts", 8);
  const std::uint64_t wide = times(heads->num_kv_heads, heads->head_dim);
  out.linear(Component::kAttention, "self_attention.kv_proj", times(2, wide), inventory.hidden, Split::kRows,
             heads->num_kv_heads);
  out.linear(Component::kRouter, "self_attention.experts.router", experts, inventory.hidden);
  for (const bool in : {true, false}) {
    TensorGroup& matrix =
        out.linear(Component::kAttention, in ? "self_attention.experts.input_linear" : "self_attention.experts.output",
                   in ? wide : inventory.hidden, in ? inventory.hidden : wide, in ? Split::kRows : Split::kColumns,
                   heads->num_kv_heads);
    matrix.copies = experts;
    matrix.used = std::min(experts, inventory.text.count_or("num_experts_per_tok", 2));
  }
  return true;
}

// The shared expert is weighed against the routed ones.
static bool write_klear(Inventory& inventory, const Ffn& ffn) {
  if (ffn.shared > 0)
    inventory.out.linear(Component::kSharedExperts, "mlp.coefficient", 2, inventory.hidden, Split::kNone, 0, true);
  return false;
}

static std::uint64_t stablelm_norms(const Inventory& inventory, std::uint64_t usual) {
  return inventory.text.flag("use_parallel_residual", false) ? 1 : usual;
}

// What files and class call the modules.
constexpr std::string_view kJetmoeModules[] = {
    "mlp.gate=mlp.router.layer experts.*.gate_proj=input_linear experts.*.up_proj=input_linear "
    "experts.*.down_proj=output_linear self_attention.experts.router=self_attention.experts.router.layer "
    "self_attention.experts.output=self_attention.experts.output_linear"};

// clang-format off
std::span<const Family> others_family() {
  static constexpr Family kRows[] = {
    {.is = {"aquila xverse skywork", "plain", Arch::kOther, "executed class"}, .layers = read_plain},
    {.is = {"idefics", "plain"}, .layers = read_plain, .tensors = {.may_have_more = true}},
    {.is = {"klear", "plain"}, .layers = read_plain, .tensors = {.qk_norm = QkNorm::kHead, .has_router_bias = true},
     .experts = write_klear},
    {.is = {"jetmoe", "plain", Arch::kOther, "executed class"}, .layers = read_plain,
     .tensors = {.ties_by_default = true}, .extras = write_jetmoe, .mixer = write_mixture_of_attention,
     .modules = kJetmoeModules},
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
     .tensors = {.qk_norm = QkNorm::kHead, .gate = Gate::kWide, .norms = 4, .dense_first = 3, .has_router_bias = true},
     .pattern = PatternRule{PatternRule::Default::kFullEveryAndLast, 6}, .extras = write_beam},
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
    // xAI's Grok. Source: SGLang models/grok.py.
    {.is = {"grok-1 grok", "plain", Arch::kGrok, "published total"}, .layers = read_plain, .tensors = {.norms = 4}},
    // Poolside's Laguna. Source: transformers modeling_laguna.py.
    {.is = {"laguna", "windowed", Arch::kLaguna, "executed class"}, .layers = read_windowed,
     .tensors = {.qk_norm = QkNorm::kHead, .gate = Gate::kHead, .gate_key = "gating", .dense_first = 1,
     .has_router_bias = true}, .pattern = PatternRule{PatternRule::Default::kAllFull}},
    // Sarvam. Source: the checkpoints' modeling_sarvam*.py.
    {.is = {"sarvam_moe", "plain", Arch::kOther, "published total"}, .layers = read_plain,
     .tensors = {.qk_norm = QkNorm::kHead, .qk_norm_key = "use_qk_norm", .dense_first = 1, .has_router_bias = true}},
    {.is = {"sarvam_mla", "mla", Arch::kOther, "executed class"}, .layers = read_mla, .tensors = {.dense_first = 1,
     .has_router_bias = true}},
    // Stability's StableLM. Source: transformers modeling_stablelm.py.
    {.is = {"stablelm stablelm_epoch", "plain", Arch::kOther, "executed class"}, .layers = read_plain,
     .tensors = {.qkv_bias = "use_qkv_bias", .o_bias = "", .qk_norm = QkNorm::kEveryHead, .qk_norm_key = "qk_layernorm",
     .norm_style = NormStyle::kLayerNorm}, .norms = stablelm_norms},
    // China Telecom's TeleChat. Source: the checkpoints' modeling_telechat*.py.
    {.is = {"telechat telechat2", "plain", Arch::kOther, "executed class"}, .layers = read_plain},
    {.is = {"telechat3", "plain"}, .layers = read_plain, .tensors = {.may_have_more = true}},
  };
  return kRows;
}
// clang-format on

}  // namespace kvplan
