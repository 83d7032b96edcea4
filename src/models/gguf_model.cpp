// From a GGUF to a ModelSpec: its keys become those of a config, and the family of its architecture reads them.
#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <tuple>

#include "formats/gguf.h"
#include "formats/gguf_keys.h"
#include "formulas/model.h"
#include "kvplan/error.h"
#include "kvplan/ggml_types.h"
#include "kvplan/strings.h"
#include "models/blocks/inventory.h"
#include "models/family.h"
#include "models/gguf_archs.h"
#include "models/read.h"

namespace kvplan {

namespace {

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// A name "blk.N.rest", split into the layer N and the name with "*" instead of N.
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

// The heads of a layer that has its own key projection.
const Heads* key_heads(const Layer& layer) {
  for (const Mixer& mixer : layer.mixers)
    if (const Heads* heads = heads_of(mixer)) return heads;
  return nullptr;
}

// Refuses metadata that contradicts the file's tensors. Engines refuse such a file, or load a model that differs from
// the plan.
void check_metadata(const Gguf& file, std::uint64_t num_layers, ModelSpec& model) {
  const auto warn = [&](const std::string& message) {
    kvplan::warn(model.notes, "metadata_differs", Template::quoted(message));
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

// Fills model.tensors and model.stored_weights. Does nothing if the file lists no tensors (only a header).
// `num_layers` is the metadata's, without MTP layers.
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
    // A tensor that is applied to the embedding before the first layer is on that layer's device. LFM2's last norm has
    // such a name too.
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
  // At most 16 bits per element, as for every quantized tensor.
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
  // The mixture, named by its number, or else the type with the most bytes.
  if (const auto id = file.count("general.file_type"))
    for (const FileType& row : kFileTypes)
      if (row.id == *id) model.stored_weights = row.name;
  if (model.stored_weights.empty() && !by_type.empty())
    model.stored_weights = std::max_element(by_type.begin(), by_type.end(), [](const auto& a, const auto& b) {
                             return a.second < b.second;
                           })->first;
}

// Keys about the cache. An unknown architecture that has one is refused, because kvplan would have to guess.
bool is_cache_key(std::string_view key) {
  static constexpr std::array<std::string_view, 5> kStarts{"ssm.", "kda.", "wkv.", "shortconv.", "compress"};
  static constexpr std::array<std::string_view, 6> kParts{"window",     "state",    "indexer.",
                                                          "_lora_rank", "compress", "recurrent"};
  return std::any_of(kStarts.begin(), kStarts.end(), [&](std::string_view start) { return key.starts_with(start); }) ||
         std::any_of(kParts.begin(), kParts.end(),
                     [&](std::string_view part) { return key.find(part) != std::string_view::npos; });
}

// Keys of latents count in any architecture.
std::vector<std::string> cache_keys_of_unknown(const GgufKeys& keys) {
  const bool latent = keys.number("attention.key_length_mla") > 0 && keys.number("attention.value_length_mla") > 0;
  std::vector<std::string> out;
  for (const std::string& key : keys.all())
    if (is_cache_key(key) && !(latent && key.ends_with("_lora_rank"))) out.push_back(keys.full(key));
  return out;
}

// MTP layers follow the model's own and are included in block_count.
void read_layer_count(GgufKeys& keys, std::string_view architecture) {
  const std::uint64_t blocks = keys.positive("block_count");
  if (blocks > kMaxLayers)
    fail("\"" + one_line(keys.full("block_count"), 80) + "\" is " + std::to_string(blocks),
         "a model has at most " + std::to_string(kMaxLayers) + " layers");
  std::uint64_t nextn = keys.number("nextn_predict_layers");
  if (nextn > blocks)
    fail("\"" + one_line(keys.full("nextn_predict_layers"), 80) + "\" is " + std::to_string(nextn) + " of " +
             std::to_string(blocks) + " layers",
         "correct the metadata");
  // Some conversions of DeepSeek-V4 leave out the MTP layers. Then block_count is the model's own.
  if (architecture == "deepseek4" && nextn > 0 &&
      !keys.file().has_tensor("blk." + std::to_string(blocks - nextn) + ".nextn.eh_proj.weight"))
    nextn = 0;
  if (nextn == blocks) nextn = 0;  // a file with only MTP layers is a separate model
  keys.set_layers(blocks, nextn);
}

void read_sizes(const Fields& text, ModelSpec& model) {
  text.count("num_hidden_layers");
  model.num_nextn_layers = text.count_or("num_nextn_predict_layers", 0);
  model.max_model_len = Tokens(text.count_or("max_position_embeddings", 0));
  model.hidden_size = text.count("hidden_size");
  model.intermediate_size = text.count_or("intermediate_size", 0);
  model.experts = read_experts(text, model.intermediate_size);
  model.vocab_size = text.count_or("vocab_size", 0);
}

std::string_view family_name(const GgufArch& arch, std::string_view type) {
  const Family* family = find_family(type);
  if (arch.read == read_no_cache) return "encoder";
  if (arch.read == nullptr || (family != nullptr && family->layers == arch.read)) return rule_of(*family);
  if (const Family* alike = find_family(arch.read)) return rule_of(*alike);
  if (family != nullptr) return rule_of(*family);
  return arch.read == read_router_layer ? "plain" : "mla";
}

// Reports show facts about Hugging Face's keys under the file's own keys.
void read_fields(const GgufArch& arch, Reader& reader) {
  const Fields& text = reader.text;
  try {
    read_sizes(text, reader.model);
    (arch.read == nullptr ? find_family(text.class_name())->layers : arch.read)(reader);
  } catch (const Error& error) {
    const std::string words = text.in_own_words(error.what());
    const std::size_t end = words.rfind("; ");
    const std::string remedy = words.substr(end + 2);
    const bool of_config = remedy == "correct the config" || remedy == "a config must name it";
    fail(error.code(), words.substr(0, end),
         of_config ? "correct the metadata, or download the file again" : std::string_view(remedy));
  }
  for (Note& note : reader.model.notes) note.message = Template::quoted(text.in_own_words(in_words(note.message)));
}

}  // namespace

ModelSpec read_gguf(const Gguf& file, std::string_view source, const ReadOptions& options) {
  ModelSpec model;
  model.source = source;
  model.is_gguf = true;
  // By default llama.cpp computes and caches in these types. Its recurrent states are always float32.
  model.dtype = Dtype::kFloat16;
  model.declared_state_dtype = Dtype::kFloat32;

  if (const auto type = file.text("general.type"); type && (*type == "adapter" || *type == "imatrix"))
    fail("the file is an " + std::string(*type) + ", no model",
         *type == "adapter" ? "give the base model's *.gguf file, and this one with --lora"
                            : "give the model's own *.gguf file");
  const auto named = file.text("general.architecture");
  if (!named || named->empty()) fail("the key \"general.architecture\" is missing", "give a model's *.gguf file");
  model.architecture = model.model_type = one_line(*named, 80);
  if (is_gguf_projector(*named))
    fail("the file is a projector for images or audio (" + one_line(*named, 40) + "), not a language model",
         "give the model's own *.gguf file, and this one with --mmproj");

  GgufKeys keys(file, *named);
  // A draft for DeepSeek-V4 has DeepSeek-V4's attention.
  const bool compressed_draft = *named == "dflash" && keys.number("hyper_connection.count") > 0;
  const std::string_view rules = compressed_draft ? "deepseek4" : *named;
  static constexpr GgufArch kGeneric{"", read_latent_or_plain};
  const GgufArch* arch = find_gguf_arch(rules);
  const bool unknown = arch == nullptr;
  std::vector<std::string> unread;
  if (unknown) {
    arch = &kGeneric;
    unread = cache_keys_of_unknown(keys);
    if (!unread.empty() && !options.assume)
      fail(Exit::kUnknownArchitecture,
           "the architecture " + model.architecture +
               " is not known, and it has cache-related keys that kvplan does not know: " + first_named(unread),
           "--assume plans it from the common fields anyway");
  }
  read_layer_count(keys, rules);
  keys.translate(arch->recurrence);
  complete_gguf_keys(keys, *arch, rules);

  const std::string type = gguf_model_type(*arch, rules, keys.number("attention.sliding_window") > 0);
  const Family* family = find_family(compressed_draft ? *named : type);
  if (family != nullptr) model.known_as = &family->is;
  model.family = unknown ? "generic" : std::string(family_name(*arch, type));
  model.expanded_latents = keys.has("kv_lora_rank") && !keys.contains("attention.key_length_mla");
  const Fields text = keys.fields().with_defaults(type, "");
  Reader reader{text, text, model};
  read_fields(*arch, reader);
  if (keys.contains("rope.freq_base") && !keys.contains("rope.scaling.type") &&
      !keys.contains("rope.dimension_sections"))
    model.plain_rotation = PlainRotation{};
  model.facts = text.facts();
  model.facts.insert(model.facts.begin(), {"general.architecture", '"' + model.architecture + '"', Origin::kFile});
  const bool always = has_word("minicpm3 plm", *named);  // llama.cpp has no latents for these
  if (!always && keys.number("attention.kv_lora_rank") > 0 && keys.number("attention.key_length_mla") == 0)
    inform(model.notes, "expanded_mla",
           "the file lacks the latent's keys (key_length_mla): llama.cpp caches expanded keys and values");
  if (options.draft && named->find("eagle3") != std::string_view::npos) model.draft_head = {DraftMethod::kEagle3};
  read_gguf_tensors(file, keys.num_layers(), model);
  read_graph_facts(keys, *named, model);
  if (unknown) {
    std::string message = "the architecture " + model.architecture +
                          " is not known: planned from its common fields as " + model_attention(model);
    if (!unread.empty()) message += "; not understood: " + first_named(unread);
    warn(model.notes, "assumed_architecture", Template::quoted(message));
  }
  return model;
}

ProjectorFile read_gguf_projector(const Gguf& file) {
  const std::string architecture(file.text("general.architecture").value_or(""));
  if (!is_gguf_projector(architecture))
    fail("--mmproj: the file is a \"" + one_line(architecture, 40) + "\", not a projector for images or audio",
         "give the model's mmproj-*.gguf");
  ProjectorFile out;
  for (const GgufTensor& tensor : file.tensors()) {
    const auto type = find_ggml_type(tensor.type);
    if (!type) fail("a tensor has the unknown type " + std::to_string(tensor.type), "convert the projector again");
    ++out.tensors;
    out.bytes += tensor_bytes(*type, tensor.shape());
  }
  out.projector =
      one_line(file.text("clip.projector_type").value_or(file.text("clip.vision.projector_type").value_or("")), 40);
  out.merge = file.count("clip.vision.spatial_merge_size").value_or(0);
  out.width = file.count("clip.vision.embedding_length").value_or(0);
  out.intermediate = file.count("clip.vision.feed_forward_length").value_or(0);
  out.heads = file.count("clip.vision.attention.head_count").value_or(0);
  out.image_size = file.count("clip.vision.image_size").value_or(0);
  out.patch_size = file.count("clip.vision.patch_size").value_or(0);
  return out;
}

}  // namespace kvplan
