// Mistral, Mixtral, Ministral, Voxtral. Source: transformers modeling_mistral*.py, modeling_mixtral.py,
// modeling_ministral*.py.
#include "models/blocks/blocks.h"

namespace kvplan {

// Mistral Large 4: layers without rotary embedding have no rotary part, but keys of the same width. A layer may read
// the cache of another (kv_source_layers). Source: transformers modeling_mistral_large4.py.
static void read_mistral_large4(Reader& reader) {
  const std::uint64_t layers = reader.num_layers();
  const Fields& text = reader.text;
  const SparseMla sparse = std::get<SparseMla>(sparse_latent_mixer(text));
  SparseMla unrotated = sparse;
  unrotated.latent.qk_nope_head_dim =
      checked_add(sparse.latent.qk_nope_head_dim, sparse.latent.qk_rope_head_dim, "a key's width");
  unrotated.latent.qk_rope_head_dim = 0;
  const auto rope = text.counts("no_rope_layers");
  const std::vector<bool> own = own_indexers(text, layers);
  for (std::uint64_t i = 0; i < layers; ++i) {
    SparseMla layer = rope && i < rope->size() && (*rope)[i] == 0 ? unrotated : sparse;
    if (!own[i]) layer.index_head_dim = 0;
    reader.add({{layer}});
  }
  if (const auto sources = text.counts("kv_source_layers"))
    for (std::uint64_t i = 0; i < layers && i < sources->size(); ++i)
      if ((*sources)[i] != i)
        return reader.warn("shared_latents", "kv_source_layers: a latent that layers share is counted in each of them");
}

static void write_mistral_large4(Inventory& out) {
  const Fields& text = out.text;
  out.in_layers(all_layers(out));
  out.plain(Component::kAttention, "self_attn.softmax_scaling", times(2, text.count_or("num_attention_heads", 0)));
  out.plain(Component::kAttention, "self_attn.indexer.softmax_scaling", times(2, text.count_or("index_n_heads", 32)));
  out.norms("self_attn.indexer.q_input_norm", out.hidden, 1, true);
}

// The transcript's delay modulates a norm through a projection of rank 32.
static void write_voxtral_realtime(Inventory& out) {
  out.in_layers(all_layers(out));
  out.linear(Component::kOther, "ada_rms_norm.linear1", 32, out.hidden);
  out.linear(Component::kOther, "ada_rms_norm.linear2", out.hidden, 32);
}

// clang-format off
std::span<const Family> mistral_family() {
  static constexpr Family kRows[] = {
    {.is = {"ministral3", kExecutedClass, Arch::kMinistral}},
    {.is = {"mistral", kExecutedClass, Arch::kMistral}, .layers = read_windowed},
    {.is = {"mistral3_text", kExecutedClass, Arch::kMistral3}, .layers = read_windowed},
    {.is = {"ministral", kExecutedClass, Arch::kMinistral}, .layers = read_windowed},
    {.is = {"mixtral", kExecutedClass, Arch::kMixtral}, .layers = read_windowed, .tensors = {.moe = "block_sparse_moe"},
     .modules = kMixtralModules},
    {.is = {"voxtral_realtime_text", kExecutedClass}, .layers = read_windowed, .extras = write_voxtral_realtime},
    {.is = {"mistral4", kExecutedClass, Arch::kMistral4}, .layers = read_mla},
    {.is = {"mistral_large4_text", kExecutedClass, Arch::kMistralLarge4}, .layers = read_mistral_large4,
     .rule = "mistral_large4", .extras = write_mistral_large4},
  };
  return kRows;
}
// clang-format on

}  // namespace kvplan
