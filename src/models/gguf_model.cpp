// From a GGUF to a ModelSpec: its keys become those of a config, and the family of its architecture reads them.
#include <algorithm>
#include <array>

#include "formats/gguf_keys.h"
#include "kvplan/error.h"
#include "kvplan/ggml_types.h"
#include "kvplan/strings.h"
#include "models/gguf_archs.h"
#include "models/gguf_tensors.h"
#include "models/graph_facts.h"
#include "models/read.h"
#include "models/registry.h"

namespace kvplan {

namespace {

// Cache-related keys: an unknown architecture that has one is refused rather than guessed.
bool is_cache_key(std::string_view key) {
  static constexpr std::array<std::string_view, 5> kStarts{"ssm.", "kda.", "wkv.", "shortconv.", "compress"};
  static constexpr std::array<std::string_view, 6> kParts{"window",     "state",    "indexer.",
                                                          "_lora_rank", "compress", "recurrent"};
  return std::any_of(kStarts.begin(), kStarts.end(), [&](std::string_view start) { return key.starts_with(start); }) ||
         std::any_of(kParts.begin(), kParts.end(),
                     [&](std::string_view part) { return key.find(part) != std::string_view::npos; });
}

// Keys of latents are understood in any architecture.
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
  // Some conversions of DeepSeek-V4 leave them out: block_count is then the model's own.
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

// Facts about Hugging Face's keys are reported under the file's own keys.
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
  // The types that llama.cpp computes and caches in by default; recurrent states are always float32 there.
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
    model.notes.push_back(
        {NoteLevel::kInfo, "expanded_mla",
         "the file lacks the latent's keys (key_length_mla): llama.cpp caches expanded keys and values"});
  if (options.draft && named->find("eagle3") != std::string_view::npos) model.draft_head = {DraftMethod::kEagle3};
  read_gguf_tensors(file, keys.num_layers(), model);
  read_graph_facts(keys, *named, model);
  if (unknown) {
    std::string message = "the architecture " + model.architecture +
                          " is not known: planned from its plain fields as " + model_attention(model);
    if (!unread.empty()) message += "; not understood: " + first_named(unread);
    model.notes.push_back({NoteLevel::kWarning, "assumed_architecture", Template::quoted(message)});
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
