// Names are llama.cpp's: "blk.N.attn_q.weight" in a layer, "token_embd.weight" and "output.weight" outside of the
// layers, "_exps" for the experts of a layer in one tensor (dims: inputs, outputs, experts). Source: llama.cpp
// src/llama-arch.cpp (LLM_TENSOR_NAMES), src/llama-model.cpp (what a tied head copies).
#include "models/gguf_tensors.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <tuple>

#include "kvplan/ggml_types.h"
#include "models/blocks/inventory.h"

namespace kvplan {

namespace {

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// A name "blk.N.rest": the layer N, and the name with "*" in its place.
struct Name {
  std::optional<std::uint64_t> layer;
  std::string module;
};

Name parse_name(std::string_view name) {
  for (const std::string_view prefix : {"blk.", "enc.blk.", "dec.blk.", "v.blk.", "a.blk."}) {
    if (!name.starts_with(prefix)) continue;
    std::uint64_t layer = 0;
    const char* const begin = name.data() + prefix.size();
    const auto [after, error] = std::from_chars(begin, name.data() + name.size(), layer);
    if (error != std::errc()) break;
    const std::string_view rest(after, static_cast<std::size_t>(name.data() + name.size() - after));
    return {layer, std::string(prefix) + "*" + std::string(rest)};
  }
  return {std::nullopt, std::string(name)};
}

Component component_of(const Name& name, std::uint64_t num_layers) {
  const std::string& module = name.module;
  if (module.starts_with("v.")) return Component::kVision;
  if (module.starts_with("a.")) return Component::kAudio;
  if (module.starts_with("mm.")) return Component::kProjector;
  if (module.starts_with("enc.")) return Component::kEncoder;
  if (has(module, "nextn.") || (name.layer && *name.layer >= num_layers && module.starts_with("blk.")))
    return Component::kMtp;
  if (module == "output.weight" || module == "output.bias") return Component::kLmHead;
  if (has(module, "token_embd") || has(module, "position_embd") || has(module, "token_types"))
    return has(module, "norm") ? Component::kNorms : Component::kEmbedding;
  if (has(module, "ffn_gate_inp_shexp")) return Component::kSharedExperts;
  if (has(module, "ffn_gate_inp") || has(module, "exp_probs_b")) return Component::kRouter;
  if (has(module, "_shexp")) return Component::kSharedExperts;
  if (has(module, "_exps")) return Component::kExperts;
  if (has(module, "norm")) return Component::kNorms;
  if (has(module, "ssm_") || has(module, "shortconv") || has(module, "time_mix") || has(module, "channel_mix"))
    return Component::kStateMixer;
  if (has(module, "attn") || has(module, "indexer")) return Component::kAttention;
  if (has(module, "ffn")) return Component::kMlp;
  return Component::kOther;
}

// general.file_type, by llama.cpp's numbers of its mixtures.
struct FileType {
  std::uint64_t id;
  std::string_view name;
};
constexpr std::array kFileTypes{
    FileType{0, "f32"},        FileType{1, "f16"},     FileType{2, "q4_0"},    FileType{3, "q4_1"},
    FileType{7, "q8_0"},       FileType{8, "q5_0"},    FileType{9, "q5_1"},    FileType{10, "q2_k"},
    FileType{11, "q3_k_s"},    FileType{12, "q3_k_m"}, FileType{13, "q3_k_l"}, FileType{14, "q4_k_s"},
    FileType{15, "q4_k_m"},    FileType{16, "q5_k_s"}, FileType{17, "q5_k_m"}, FileType{18, "q6_k"},
    FileType{19, "iq2_xxs"},   FileType{20, "iq2_xs"}, FileType{21, "q2_k_s"}, FileType{22, "iq3_xs"},
    FileType{23, "iq3_xxs"},   FileType{24, "iq1_s"},  FileType{25, "iq4_nl"}, FileType{26, "iq3_s"},
    FileType{27, "iq3_m"},     FileType{28, "iq2_s"},  FileType{29, "iq2_m"},  FileType{30, "iq4_xs"},
    FileType{31, "iq1_m"},     FileType{32, "bf16"},   FileType{36, "tq1_0"},  FileType{37, "tq2_0"},
    FileType{38, "mxfp4_moe"},
};

// The heads of a layer that projects its own keys.
const Heads* key_heads(const Layer& layer) {
  for (const Mixer& mixer : layer.mixers)
    if (const Heads* heads = heads_of(mixer)) return heads;
  return nullptr;
}

// Refuses metadata that the file's tensors contradict: engines refuse such a file, or load another model than planned.
void check_metadata(const Gguf& file, std::uint64_t num_layers, ModelSpec& model) {
  const auto warn = [&](const std::string& message) {
    model.notes.push_back({NoteLevel::kWarning, "metadata_differs", Template::quoted(message)});
  };
  const Heads* heads = model.layers.empty() ? nullptr : key_heads(model.layers.front());
  std::uint64_t layers = 0;
  for (const GgufTensor& tensor : file.tensors()) {
    const Name name = parse_name(tensor.name);
    if (name.layer && name.module.starts_with("blk.")) layers = std::max(layers, *name.layer + 1);
    if (tensor.name == "token_embd.weight" && tensor.dims[0] != model.hidden_size)
      warn("embedding_length is " + std::to_string(model.hidden_size) + ", and the embedding is " +
           std::to_string(tensor.dims[0]) + " wide");
    if (tensor.name != "blk.0.attn_k.weight" || tensor.num_dims < 2 || heads == nullptr) continue;
    const std::uint64_t width = checked_mul(heads->num_kv_heads, heads->head_dim, "the width of the keys");
    if (tensor.dims[1] != width)
      warn("the metadata's keys of layer 0 are " + std::to_string(width) + " wide, and its tensor makes " +
           std::to_string(tensor.dims[1]));
  }
  if (layers > 0 && layers < num_layers)
    warn("block_count is " + std::to_string(num_layers) + ", and the file has the tensors of " +
         std::to_string(layers) + " layers");
}

struct Alike {
  TensorGroup group;
  std::vector<std::uint64_t> layers;
  std::uint64_t outside = 0;  // tensors of this shape outside of layers
};

}  // namespace

void read_gguf_tensors(const Gguf& file, std::uint64_t num_layers, ModelSpec& model) {
  const std::span<const GgufTensor> tensors = file.tensors();
  if (tensors.empty()) return;
  const std::uint64_t experts_used = model.experts.used;
  using Key = std::tuple<std::string, std::uint32_t, std::uint64_t, std::uint64_t, std::uint64_t, bool>;
  std::map<Key, Alike> alike;
  std::map<std::string, Bytes> by_type;
  std::map<std::pair<Component, std::uint32_t>, Elements> unknown;
  bool has_head = false;
  const bool has_output_norm = file.has_tensor("output_norm.weight");
  for (const GgufTensor& tensor : tensors) {
    const auto type = find_ggml_type(tensor.type);
    Name name = parse_name(tensor.name);
    const Component component = component_of(name, model.layers.size());
    // Tensors applied to the embedding before the first layer are on that layer's device. LFM2's last norm also has
    // that name.
    for (const std::string_view first : {"token_embd_norm.", "per_layer_model_proj.", "per_layer_proj_norm."})
      if (name.module.starts_with(first) && has_output_norm) name.layer = 0;
    if (!type) {
      std::uint64_t elements = 1;
      for (const std::uint64_t dim : tensor.shape()) elements = checked_mul(elements, dim, "a tensor's elements");
      unknown[{component, tensor.type}] += Elements(elements);
      continue;
    }
    const std::uint64_t copies = tensor.num_dims >= 3 && component == Component::kExperts ? tensor.dims[2] : 1;
    std::uint64_t rows = 1;
    for (std::size_t d = 1; d < tensor.num_dims; ++d) rows = checked_mul(rows, tensor.dims[d], "a tensor's rows");
    if (copies > 0) rows /= copies;
    const Bytes bytes = tensor_bytes(*type, tensor.shape());
    by_type[std::string(type->name)] += bytes;
    has_head = has_head || component == Component::kLmHead;
    Alike& same = alike[{name.module, tensor.type, rows, tensor.dims[0], copies, component == Component::kMtp}];
    TensorGroup& group = same.group;
    group.component = component;
    group.module = name.module;
    group.role = component == Component::kEmbedding ? TensorRole::kEmbedding
                 : component == Component::kLmHead  ? TensorRole::kHead
                 : tensor.num_dims < 2              ? TensorRole::kPlain
                                                    : TensorRole::kLinear;
    group.rows = rows;
    group.columns = tensor.dims[0];
    group.copies = copies;
    group.is_expert = component == Component::kExperts;
    group.used = group.is_expert && experts_used > 0 ? std::min(experts_used, copies) : copies;
    group.stored_type = type->name;
    group.stored_bytes = copies > 0 ? Bytes(bytes.count() / copies) : bytes;
    if (name.layer)
      same.layers.push_back(*name.layer);
    else
      ++same.outside;
  }
  // At most 16 bits each, as for anything quantized.
  for (const auto& [key, elements] : unknown)
    model.unknown_tensors.push_back({key.first, "the size of ggml type " + std::to_string(key.second),
                                     Elements(elements.count() / 16), Elements(elements.count() / 4), elements});
  const TensorGroup* embedding = nullptr;
  for (auto& [key, same] : alike) {
    std::sort(same.layers.begin(), same.layers.end());
    TensorGroup group = std::move(same.group);
    if (same.layers.empty()) {
      const bool first = group.component == Component::kEmbedding || group.component == Component::kEncoder ||
                         group.component == Component::kVision || group.component == Component::kAudio ||
                         group.component == Component::kProjector;
      // Factors of the rotary embedding are used in every layer.
      const bool rotates = group.module.starts_with("rope_freqs.") || group.module.starts_with("rope_factors_");
      group.place = first ? Place::kFirst : rotates ? Place::kEach : Place::kLast;
    } else {
      group.layers = runs_of(same.layers);
    }
    model.tensors.push_back(std::move(group));
  }
  for (const TensorGroup& group : model.tensors)
    if (group.module == "token_embd.weight") embedding = &group;
  if (!has_head && embedding != nullptr) {
    TensorGroup head = *embedding;
    head.component = Component::kLmHead;
    head.role = TensorRole::kHead;
    head.module = "output.weight";
    head.place = Place::kLast;
    head.is_tied = true;
    model.tensors.push_back(std::move(head));
  }
  check_metadata(file, num_layers, model);
  // The mixture by its number, else the type with the most bytes.
  if (const auto id = file.count("general.file_type"))
    for (const FileType& row : kFileTypes)
      if (row.id == *id) model.stored_weights = row.name;
  if (model.stored_weights.empty() && !by_type.empty())
    model.stored_weights = std::max_element(by_type.begin(), by_type.end(), [](const auto& a, const auto& b) {
                             return a.second < b.second;
                           })->first;
}

}  // namespace kvplan
