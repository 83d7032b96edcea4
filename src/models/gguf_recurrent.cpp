// Rules of GGUF architectures with recurrent layers.
// Source: llama.cpp v0.5.0, n_embd_r and n_embd_s in src/llama-hparams.cpp, load_arch_hparams of src/models/*.cpp.
#include <algorithm>

#include "kvplan/error.h"
#include "models/gguf_archs.h"

namespace kvplan {

namespace {

// A quotient that has to be whole.
std::uint64_t whole(const GgufReader& reader, std::string_view total_key, std::uint64_t total,
                    std::string_view parts_key, std::uint64_t parts) {
  if (parts == 0 || total % parts != 0)
    fail("\"" + reader.full(total_key) + "\" is " + std::to_string(total) + ", no multiple of \"" +
             reader.full(parts_key) + "\", " + std::to_string(parts),
         "correct the metadata, or download the file again");
  return total / parts;
}

Ssm mamba1(const GgufReader& reader) {
  Ssm out;
  out.version = Ssm::Version::kMamba1;
  out.d_inner = reader.positive("ssm.inner_size");
  out.d_state = reader.positive("ssm.state_size");
  out.conv_kernel = reader.positive("ssm.conv_kernel");
  out.dt_rank = reader.value_or("ssm.time_step_rank", 0);
  return out;
}

Ssm mamba2(const GgufReader& reader) {
  Ssm out;
  out.version = Ssm::Version::kMamba2;
  out.d_inner = reader.positive("ssm.inner_size");
  out.d_state = reader.positive("ssm.state_size");
  out.conv_kernel = reader.positive("ssm.conv_kernel");
  out.num_heads = reader.positive("ssm.time_step_rank");
  out.head_dim = whole(reader, "ssm.inner_size", out.d_inner, "ssm.time_step_rank", out.num_heads);
  out.n_groups = reader.required("ssm.group_count");
  out.conv_over_groups = out.n_groups > 0;
  return out;
}

// Layers without KV heads are recurrent, the others attend.
template <class MakeMixer>
void hybrid(GgufReader& reader, MakeMixer recurrent) {
  reader.read_heads();
  for (std::uint64_t i = 0; i < reader.num_layers(); ++i)
    reader.model().layers.push_back({{reader.kv_heads(i) == 0 ? Mixer(recurrent()) : gguf_full(reader, i)}});
}

// The list that newer files have, or every interval-th layer attends.
std::vector<std::uint64_t> recurrent_layers(const GgufReader& reader, std::uint64_t usual_interval) {
  if (const auto listed = reader.per_layer("attention.recurrent_layers")) return *listed;
  std::uint64_t interval = usual_interval;
  if (reader.contains("full_attention_interval"))
    interval = reader.positive("full_attention_interval");
  else
    reader.fallback("full_attention_interval", interval);
  std::vector<std::uint64_t> out(reader.num_layers());
  for (std::uint64_t i = 0; i < out.size(); ++i) out[i] = (i + 1) % interval != 0 ? 1 : 0;
  return out;
}

void rwkv(GgufReader& reader, std::uint64_t version) {
  Rwkv layer;
  layer.version = version;
  layer.hidden_size = reader.positive("embedding_length");
  layer.head_dim = reader.positive("wkv.head_size");
  whole(reader, "embedding_length", layer.hidden_size, "wkv.head_size", layer.head_dim);
  layer.token_shifts = reader.value_or("token_shift_count", 2);
  reader.model().layers.assign(reader.num_layers(), {{layer}});
}

}  // namespace

void gguf_mamba(GgufReader& reader, const GgufArch&) {
  reader.model().layers.assign(reader.num_layers(), {{mamba1(reader)}});
}

void gguf_mamba2(GgufReader& reader, const GgufArch&) {
  reader.model().layers.assign(reader.num_layers(), {{mamba2(reader)}});
}

void gguf_jamba(GgufReader& reader, const GgufArch&) {
  hybrid(reader, [&] { return mamba1(reader); });
}

void gguf_mamba2_hybrid(GgufReader& reader, const GgufArch&) {
  hybrid(reader, [&] { return mamba2(reader); });
}

// A layer with a feed-forward part has nothing else.
void gguf_nemotron_h(GgufReader& reader, const GgufArch&) {
  reader.read_heads();
  const auto widths = reader.per_layer("feed_forward_length");
  for (std::uint64_t i = 0; i < reader.num_layers(); ++i) {
    Mixer mixer = None{};
    const bool feeds = widths && (*widths)[i] > 0;
    if (!feeds) mixer = reader.kv_heads(i) == 0 ? Mixer(mamba2(reader)) : gguf_full(reader, i);
    reader.model().layers.push_back({{mixer}});
  }
}

void gguf_falcon_h1(GgufReader& reader, const GgufArch&) {
  reader.read_heads();
  const Ssm ssm = mamba2(reader);
  for (std::uint64_t i = 0; i < reader.num_layers(); ++i)
    reader.model().layers.push_back({{gguf_full(reader, i), ssm}});
}

// Qwen3-Next and Qwen3.5: the ssm keys describe the delta net, its key heads as groups and its value heads as the
// rank of the time step.
void gguf_delta_net(GgufReader& reader, const GgufArch&) {
  reader.read_heads();
  Linear linear;
  linear.rule = Linear::Rule::kGatedDeltaNet;
  linear.num_key_heads = reader.positive("ssm.group_count");
  linear.key_head_dim = reader.positive("ssm.state_size");
  linear.num_value_heads = reader.positive("ssm.time_step_rank");
  linear.value_head_dim =
      whole(reader, "ssm.inner_size", reader.positive("ssm.inner_size"), "ssm.time_step_rank", linear.num_value_heads);
  linear.conv_kernel = reader.positive("ssm.conv_kernel");
  const std::vector<std::uint64_t> recurrent = recurrent_layers(reader, 4);
  const std::uint64_t index_dim = reader.value_or("attention.indexer.key_length", 0);
  const std::uint64_t index_heads = reader.value_or("attention.indexer.head_count", 0);
  std::vector<Layer>& layers = reader.model().layers;
  for (std::uint64_t i = 0; i < reader.num_layers(); ++i) {
    if (recurrent[i] != 0)
      layers.push_back({{linear}});
    else if (index_dim > 0 && reader.kv_heads(i) > 0)
      layers.push_back({{SparseGqa{reader.heads(i), index_dim, index_heads}}});
    else
      layers.push_back({{gguf_full(reader, i)}});
  }
  // Some layers mix in embeddings of the last n tokens through a convolution that skips n at a time.
  const auto mixed = reader.array("ple.layers");
  if (!mixed || mixed->empty()) return;
  constexpr std::string_view kWhat = "the channels of the n-gram convolution";
  ShortConv ngrams;
  ngrams.channels =
      checked_mul(checked_mul(reader.positive("ple.ngram_size"), reader.positive("embedding_length"), kWhat),
                  reader.value_or("hyper_connection.count", 1), kWhat);
  ngrams.conv_kernel = reader.positive("ple.conv_kernel");
  for (const std::uint64_t i : *mixed)
    if (i < layers.size()) layers[i].mixers.push_back(ngrams);
}

// Kimi Linear and kin: layers without KV heads are KDA, the others latent attention.
void gguf_kda(GgufReader& reader, const GgufArch&) {
  reader.read_heads();
  Linear linear;
  linear.rule = Linear::Rule::kKda;
  linear.num_key_heads = linear.num_value_heads = reader.num_heads();
  linear.key_head_dim = linear.value_head_dim = reader.positive("kda.head_dim");
  linear.conv_kernel = reader.positive("ssm.conv_kernel");
  const bool latent = gguf_has_latent(reader);
  for (std::uint64_t i = 0; i < reader.num_layers(); ++i) {
    if (reader.kv_heads(i) == 0)
      reader.model().layers.push_back({{linear}});
    else
      reader.model().layers.push_back({{latent ? Mixer(Mla{gguf_latent_of(reader, i)}) : gguf_full(reader, i)}});
  }
}

void gguf_lightning(GgufReader& reader, const GgufArch&) {
  reader.read_heads();
  const std::vector<std::uint64_t> recurrent = recurrent_layers(reader, 8);
  Linear linear;
  linear.rule = Linear::Rule::kLightning;
  linear.num_key_heads = linear.num_value_heads = reader.num_heads();
  linear.key_head_dim = linear.value_head_dim = reader.heads(0).head_dim;
  for (std::uint64_t i = 0; i < reader.num_layers(); ++i)
    reader.model().layers.push_back({{recurrent[i] != 0 ? Mixer(linear) : gguf_full(reader, i)}});
}

void gguf_lfm2(GgufReader& reader, const GgufArch&) {
  reader.read_heads();
  const ShortConv conv{reader.positive("embedding_length"), reader.positive("shortconv.l_cache")};
  const std::uint64_t window = reader.value_or("attention.sliding_window", 0);
  for (std::uint64_t i = 0; i < reader.num_layers(); ++i) {
    Mixer mixer = conv;
    if (reader.kv_heads(i) > 0)
      mixer = window > 0 ? gguf_window(reader, reader.heads(i, true), window) : gguf_full(reader, i);
    reader.model().layers.push_back({{mixer}});
  }
}

void gguf_rwkv6(GgufReader& reader, const GgufArch&) {
  rwkv(reader, 6);
}

void gguf_rwkv7(GgufReader& reader, const GgufArch&) {
  rwkv(reader, 7);
}

}  // namespace kvplan
