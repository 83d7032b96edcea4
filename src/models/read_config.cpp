// From config.json to a ModelSpec: finds the decoder's part, passes it to its family, and records what was read.
#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "formats/fields.h"
#include "formats/quantization.h"
#include "kvplan/error.h"
#include "kvplan/strings.h"
#include "models/blocks/inventory.h"
#include "models/blocks/layers.h"
#include "models/class_defaults.h"
#include "models/family.h"
#include "models/gguf_archs.h"
#include "models/read.h"
#include "models/reader.h"

namespace kvplan {

namespace {

// model_types of transformers whose models read images or sound and write no text.
constexpr std::string_view kWithoutLanguage =
    "align altclip beit bit chinese_clip clap clip clip_vision_model clipseg conditional_detr convnext convnextv2 cvt "
    "d_fine data2vec-vision dac deformable_detr deit depth_anything depth_pro detr dinat dinov2 "
    "dinov2_with_registers dinov3_convnext dinov3_vit dpt efficientnet encodec focalnet glpn grounding-dino groupvit "
    "hiera hubert ijepa levit mask2former maskformer mimi mobilenet_v1 mobilenet_v2 mobilevit mobilevitv2 oneformer "
    "owlv2 owlvit poolformer pvt pvt_v2 regnet resnet rt_detr rt_detr_v2 sam sam2 sam_hq segformer seggpt sew siglip "
    "siglip2 siglip2_vision_model siglip_vision_model superglue superpoint swin swin2sr swinv2 timesformer "
    "timm_backbone timm_wrapper unispeech upernet van videomae vit vit_hybrid vit_mae vit_msn vitdet vitmatte vitpose "
    "vivit vjepa2 wav2vec2 wav2vec2-bert wavlm xclip yolos zoedepth";

// Throws Error(kUnknownArchitecture) for a part of a diffusion model and for a model of images or sound without a
// language model.
void refuse_out_of_scope(const Fields& root) {
  if (root.contains("_diffusers_version"))
    fail(Exit::kUnknownArchitecture,
         one_line(root.find_string("_class_name").value_or("this"), 60) +
             " is a diffusion model or a part of one, and kvplan plans language models",
         "plan the pipeline's text encoder by its own config.json; for the rest see diffusers' guide to memory");
  const std::string type = root.find_string("model_type").value_or("");
  if (has_word(kWithoutLanguage, type))
    fail(Exit::kUnknownArchitecture,
         "\"" + type + "\" is an image or audio model without a language model, and kvplan plans language models",
         "it needs its weights and the activations of one batch: measure it in PyTorch");
}

// The decoder's part of a composite config. It may be empty, if it equals its class's defaults.
std::optional<Fields> nested_text(const Fields& root) {
  const bool flat = root.contains("num_hidden_layers") || root.contains("num_layers") || root.contains("n_layer");
  if (const auto thinker = root.child("thinker_config"))
    if (auto text = thinker->child("text_config")) return text;
  for (const std::string_view key :
       {"text_config", "vlm_config", "llm_config", "language_config", "language_model_config", "language_model",
        "lm_config", "text_model", "text_model_config", "llm", "decoder", "decoder_config", "thinker_config",
        "talker_config", "transformer_layer_config"})
    if (auto text = root.child(key); text && (!text->keys().empty() || !flat)) {
      // Nested twice: InternVL's and Omni's configs wrap their decoder once more.
      for (const std::string_view inner : {"text_config", "llm_config"})
        if (auto deeper = text->child(inner); deeper && !text->contains("num_hidden_layers")) return deeper;
      return text;
    }
  return std::nullopt;
}

struct TowerKey {
  std::string_view key;
  TowerKind what;
};
constexpr std::array kTowers{
    TowerKey{"vision_config", TowerKind::kVision},       TowerKey{"visual", TowerKind::kVision},
    TowerKey{"vision_tower_config", TowerKind::kVision}, TowerKey{"vit_config", TowerKind::kVision},
    TowerKey{"vision_encoder", TowerKind::kVision},      TowerKey{"audio_config", TowerKind::kAudio},
    TowerKey{"audio_encoder_config", TowerKind::kAudio}, TowerKey{"encoder", TowerKind::kEncoder},
    TowerKey{"text_encoder", TowerKind::kTextEncoder},
};

// A number in a tower's config. In a few files it is a list.
std::uint64_t first_number(const Fields& side, std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys)
    if (side.is_number(key)) return side.count_or(key, 0);
  return 0;
}

// What determines the memory for images: the patches of the largest image, and the tokens made from them.
void measure_vision(const Fields& object, const Fields& side, TowerModel& out) {
  const Fields vision = side.quietly();
  out.width = first_number(vision, {"hidden_size", "embed_dim", "width"});
  const std::string type = side.find_string("model_type").value_or(object.find_string("model_type").value_or(""));
  const Fields of_class = with_class(side, has_class(type + "_vision") ? type + "_vision" : type).quietly();
  out.declared_layers = first_number(vision, {"num_hidden_layers", "vt_num_hidden_layers"});
  if (out.declared_layers == 0) out.declared_layers = of_class.count_or("num_hidden_layers", 0);
  out.declared_width = first_number(vision, {"hidden_size", "vt_hidden_size"});
  if (out.declared_width == 0 && !side.is_list("embed_dim")) out.declared_width = of_class.count_or("hidden_size", 0);
  out.intermediate = first_number(vision, {"intermediate_size", "mlp_dim"});
  if (out.intermediate == 0) out.intermediate = out.width * 4;
  const std::uint64_t merge =
      std::clamp<std::uint64_t>(std::max(first_number(vision, {"spatial_merge_size", "merge_size"}),
                                         first_number(object.quietly(), {"spatial_merge_size"})),
                                1, 64);
  out.patches = merge * merge;
  if (const auto deep = vision.list_size("deepstack_visual_indexes")) out.copies = 1 + std::min<std::size_t>(*deep, 64);
  const Fields outer = object.quietly();
  const std::uint64_t image = first_number(vision, {"image_size"});
  const std::uint64_t patch = first_number(vision, {"patch_size"});
  out.image_tokens = first_number(outer, {"mm_tokens_per_image", "image_seq_length", "vision_soft_tokens_per_image"});
  if (out.image_tokens == 0 && image > 0 && patch > 0 && image / patch < 65536)
    out.image_tokens = (image / patch) * (image / patch) / out.patches;
  else if (out.image_tokens > 0 && image > 0 && patch > 0 && image / patch < 65536)
    out.patches = std::max<std::uint64_t>(1, (image / patch) * (image / patch) / out.image_tokens);
}

void name_towers(const Fields& object, ModelSpec& model) {
  for (const TowerKey& row : kTowers) {
    const auto side = object.child(row.key);
    if (!side) continue;
    TowerModel out{row.what, class_word(side->find_string("model_type").value_or("")), 0};
    for (const std::string_view key : {"num_hidden_layers", "depth", "layers", "encoder_layers"})
      if (out.num_layers == 0 && side->is_number(key)) out.num_layers = side->count_or(key, 0);
    if (row.what == TowerKind::kVision) measure_vision(object, *side, out);
    model.towers.push_back(std::move(out));
  }
  if (const auto thinker = object.child("thinker_config")) name_towers(*thinker, model);
}

std::optional<Dtype> read_dtype(const Fields& config) {
  const auto word = config.find_string("dtype");
  if (!word || word->empty() || *word == "auto") return std::nullopt;
  const auto type = find_dtype(*word);
  if (!type) fail("\"" + config.path() + "dtype\" is \"" + one_line(*word, 40) + "\"", "use a type such as bfloat16");
  // Quantized storage types are not compute types.
  return plain_bytes(*type) >= 2 ? type : std::nullopt;
}

std::optional<Dtype> kv_type_of_word(std::string_view word) {
  const std::string folded = lower(word);
  if (folded.find("nvfp4") != std::string::npos) return Dtype::kNvfp4;
  if (folded.find("e5m2") != std::string::npos) return Dtype::kFp8E5m2;
  if (folded.find("fp8") != std::string::npos || folded.find("e4m3") != std::string::npos) return Dtype::kFp8E4m3;
  if (folded.find("int8") != std::string::npos) return Dtype::kInt8;
  return std::nullopt;
}

// The quantized cache type that the checkpoint declares. FP8 *weights* do not imply an FP8 cache.
std::optional<Dtype> declared_kv(const Fields& quantization) {
  for (const std::string_view key : {"kv_cache_scheme", "kv_cache_quant_algo"}) {
    if (const auto word = quantization.find_string(key)) return kv_type_of_word(*word);
    const auto scheme = quantization.child(key);
    if (!scheme || scheme->keys().empty()) continue;
    quantization.touch(key);
    const std::uint64_t bits = scheme->count_or("num_bits", 8);
    const std::string type = scheme->find_string("type").value_or("float");
    if (bits == 8) return type == "int" ? Dtype::kInt8 : Dtype::kFp8E4m3;
    if (bits == 4) return type == "int" ? Dtype::kInt4 : Dtype::kNvfp4;
  }
  return std::nullopt;
}

void read_cache_types(const Fields& root, const Fields& text, ModelSpec& model) {
  auto dtype = read_dtype(text);
  if (!dtype) dtype = read_dtype(root);
  model.dtype = dtype.value_or(Dtype::kBfloat16);
  if (!dtype) {
    text.derived("dtype", "bfloat16");
    inform(model.notes, "assumed_dtype", "the config names no dtype: kvplan assumes bfloat16");
  }
  for (const Fields& place : {root, text})
    if (const auto quantization = place.child("quantization_config"); quantization && !model.declared_kv_dtype) {
      model.declared_kv_dtype = declared_kv(*quantization);
      model.tags_kv_by_word = quantization->find_string("kv_cache_scheme").has_value();
    }
  if (text.has("mamba_ssm_dtype") && !text.is_string("mamba_ssm_dtype"))
    fail("\"mamba_ssm_dtype\" is not a string", "use a type such as \"float32\"");
  if (const auto word = text.find_string("mamba_ssm_dtype"); word && *word != "auto") {
    model.declared_state_dtype = find_dtype(*word);
    if (!model.declared_state_dtype)
      fail("\"mamba_ssm_dtype\" is \"" + one_line(*word, 40) + "\"", "use a type such as float32");
  }
}

std::string main_type(const QuantDeclaration& declared) {
  return declared.scheme          ? declared.scheme->type
         : declared.expert_scheme ? declared.expert_scheme->type
                                  : declared.dialect;
}

bool shares_a_type(const QuantDeclaration& a, const QuantDeclaration& b) {
  const auto has = [&](const std::optional<WeightScheme>& scheme) {
    if (!scheme) return false;
    const auto is = [&](const std::optional<WeightScheme>& other) { return other && other->type == scheme->type; };
    return is(b.scheme) || is(b.expert_scheme) ||
           std::any_of(b.rules.begin(), b.rules.end(), [&](const SchemeRule& rule) { return is(rule.scheme); });
  };
  return has(a.scheme) || has(a.expert_scheme) ||
         std::any_of(a.rules.begin(), a.rules.end(), [&](const SchemeRule& rule) { return has(rule.scheme); });
}

// Reads hf_quant_config.json. vLLM (transformers_utils/config.py) and SGLang (configs/model_config.py) read it only if
// config.json declares nothing. TensorRT-LLM (_torch/model_config.py) reads it first.
void read_beside(const Fields& root, const Fields& text, std::string_view hf_quant_config, ModelSpec& model) {
  QuantFile file{read_quant_file(hf_quant_config), std::nullopt};
  std::string algorithm;
  with_source("hf_quant_config.json", [&] {
    const auto quantization = Fields::parse(hf_quant_config).child("quantization");
    if (!quantization) return;
    file.kv_dtype = declared_kv(*quantization);
    algorithm = quantization->find_string("quant_algo").value_or("");
  });
  const auto words = [](const QuantDeclaration& declared, std::optional<Dtype> kv) {
    return (is_declared(declared) ? main_type(declared) : "unquantized") + " weights, KV cache " +
           (kv ? std::string(name(*kv)) : "auto");
  };
  if (!is_declared(file.quantization) && !file.kv_dtype) return;
  if (!has_quantization(root, text)) {
    inform(model.notes, "quantization_files",
           {"The quantization is read from hf_quant_config.json: {file}.",
            {{"file", words(file.quantization, file.kv_dtype)}}});
    model.quantization = std::move(file.quantization);
    model.declared_kv_dtype = file.kv_dtype;
    text.derived("hf_quant_config.json: quant_algo", algorithm);
    if (file.kv_dtype) text.derived("hf_quant_config.json: kv_cache_quant_algo", name(*file.kv_dtype));
    return;
  }
  const bool same = file.kv_dtype == model.declared_kv_dtype && shares_a_type(file.quantization, model.quantization);
  if (!same)
    inform(model.notes, "quantization_files",
           {"config.json declares {config}; hf_quant_config.json declares {file}. TensorRT-LLM reads "
            "hf_quant_config.json, other engines read config.json.",
            {{"config", words(model.quantization, model.declared_kv_dtype)},
             {"file", words(file.quantization, file.kv_dtype)}}});
  model.quant_file = std::make_shared<const QuantFile>(std::move(file));
}

// Keys about the cache. If one was not read there is a warning, or, for an unknown architecture, a refusal.
bool cache_like(std::string_view key) {
  static constexpr std::array kHarmless{std::string_view("laurel_rank"),        std::string_view("adapter_rank"),
                                        std::string_view("time_step_rank"),     std::string_view("gated_norm_rank"),
                                        std::string_view("return_last_states"), std::string_view("lora_rank"),
                                        std::string_view("keep_window_size"),   std::string_view("max_window_layers")};
  if (std::find(kHarmless.begin(), kHarmless.end(), key) != kHarmless.end()) return false;
  const auto has = [&](std::string_view part) { return key.find(part) != std::string_view::npos; };
  // Outputs, types, projections, norms of queries, keys and values, and rotary settings do not change what is cached.
  if (key.starts_with("output_") || has("hidden_states") || has("qkv") || has("norm") || has("rope")) return false;
  for (const std::string_view end : {"_dtype", "_bias", "_theta", "_dropout", "_token_id", "_scale", "_init", "_lr"})
    if (key.ends_with(end)) return false;
  if (key == "kv_cache" || key.starts_with("kv_cache_") || key.starts_with("use_kv_cache")) return false;
  if (has("sinkhorn")) return false;  // a way to normalise
  return key.starts_with("index_") || has("window") || has("sink") || key == "attention_chunk_size" ||
         key.ends_with("_rank") || has("state") || key.starts_with("compress") || has("kv");
}

// In an unknown class, the fields of a recurrence are also a reason to refuse.
bool recurrence_like(std::string_view key) {
  for (const std::string_view start : {"mamba_", "ssm_", "linear_attn", "linear_num_", "linear_key_", "linear_value_",
                                       "hybrid_", "lru_", "conv_L_", "recurrent_", "retention_", "attn_layer_"})
    if (key.starts_with(start)) return true;
  return key == "block_types" || key == "block_configs" || key == "full_attn_idxs";
}

// Whether the key repeats a value that was read under another key: Zamba2 gives its head width three times.
bool read_under_another_name(const Fields& text, std::string_view key) {
  const std::string_view main = alias_group(key);
  if (main.empty()) return false;
  const auto was_read = [&](std::string_view name) {
    const std::string full = text.path() + std::string(name);
    return std::any_of(text.facts().begin(), text.facts().end(), [&](const ConfigFact& f) { return f.key == full; });
  };
  if (was_read(main)) return true;
  const std::vector<std::string_view> others = split(aliases_of(main));
  return std::any_of(others.begin(), others.end(), was_read);
}

std::vector<std::string> unread_cache_keys(const Fields& text, bool unknown) {
  std::vector<std::string> out;
  for (const std::string& key : text.unread())
    if ((cache_like(key) || (unknown && recurrence_like(key))) && !read_under_another_name(text, key))
      out.push_back(text.path() + key);
  return out;
}

void note_unread(const Fields& text, ModelSpec& model) {
  const std::vector<std::string> unread = unread_cache_keys(text, false);
  if (unread.empty()) return;
  warn(model.notes, "unread_keys",
       {"kvplan does not read these cache-related keys: {keys}", {{"keys", first_named(unread)}}});
}

// In a known class attention_type only counts if it names a kind, the class has plain attention, and the kind's fields
// exist. Otherwise the class decides.
void read_layers(Reader& reader, const Family* family) {
  if (family == nullptr) return read_generic(reader);
  // The decoder of an encoder-decoder pair has cross attention, whatever its class.
  const bool pair = reader.root.child("decoder") && (reader.root.child("encoder") || reader.root.child("text_encoder"));
  if (pair && (attends_plainly(*family) || family->layers == read_encoder)) return read_encoder_decoder(reader);
  if (attends_plainly(*family)) {
    const std::string named = reader.text.find_string("attention_type").value_or("");
    if (!named.empty() && names_a_kind(reader, named)) return read_generic(reader);
    family->layers(reader);
    const std::string_view kind = kind_of_word(named);
    if (!kind.empty() && kind != "hybrid" && kind != model_attention(reader.model))
      reader.warn("attention_type_ignored", "attention_type says " + std::string(kind) + ", the other fields say " +
                                                model_attention(reader.model));
    return;
  }
  family->layers(reader);
}

}  // namespace

ModelSpec read_config(std::string_view file_text, std::string_view hf_quant_config, std::string_view source,
                      const ReadOptions& options) {
  const Fields root = parse_config(file_text, options.draft ? "" : options.overrides);
  refuse_out_of_scope(root);
  if (options.draft && is_medusa(root)) return read_medusa(root, source, *options.draft);
  ModelSpec model;
  model.source = source;

  const std::string root_type = root.find_string("model_type").value_or("");
  if (const auto names = root.strings("architectures"); names && !names->empty())
    model.architecture = class_word(names->front());
  auto nested = nested_text(root);
  Fields text = nested ? *nested : root;
  std::string type = nested ? text_class(text, root_type) : flat_class(root_type);

  // Grok-2's file has the model_type "git", which is an image captioner.
  if (type == "git" && model.architecture.starts_with("Grok")) type = "grok-1";
  // An unknown model_type may still have a known architecture, or a class with defaults.
  const Family* family = find_family(type);
  const std::string_view implied = family == nullptr || type.empty() ? model_type_of(model.architecture) : "";
  if (!implied.empty()) {
    family = find_family(implied);
    text = with_class_as(text, type, class_of(std::string(implied)));
  } else {
    const std::string_view version = class_of_version(lower(type), text);
    text = with_class_inside(text, root_type, version.empty() ? class_of(lower(type)) : std::string(version));
  }
  model.model_type = class_word(type.empty() ? root_type : type);
  model.root_type = class_word(root_type);
  model.decoder_ties_head = text.bare().quietly().find_bool("tie_word_embeddings");
  refuse_layers_that_are_no_list(text);
  const bool unknown = family == nullptr;
  if (!unknown) model.known_as = &family->is;
  model.family = unknown ? "generic" : rule_of(*family);
  if ((text.keys().empty() && !nested) ||
      (unknown && !text.contains("hidden_size") && !text.contains("num_hidden_layers") &&
       !text.find_count("num_hidden_layers")))
    fail("not a model's config: no model_type that kvplan knows, and no num_hidden_layers",
         "give a model's config.json");
  // A config at the root has all its sizes. Only nested configs are saved as differences from their class.
  if (!nested && !text.class_name().empty()) {
    const Fields bare = text.bare();
    const bool letters =
        bare.contains("hybrid_override_pattern") || bare.contains("layers_block_type") || bare.contains("layer_types");
    if (!letters && !bare.find_count("num_hidden_layers")) bare.count("num_hidden_layers");
    bare.count("hidden_size");
  }

  model.max_model_len = Tokens(text.count_or("max_position_embeddings", 0));
  if (model.max_model_len == Tokens(0)) model.max_model_len = Tokens(root.count_or("max_position_embeddings", 0));
  read_cache_types(root, text, model);
  model.hidden_size = text.count_or("hidden_size", 0);
  model.vocab_size = text.count_or("vocab_size", 0);
  if (!text.is_list("intermediate_size")) model.intermediate_size = text.count_or("intermediate_size", 0);
  model.experts = read_experts(text, model.intermediate_size);
  if (const auto layers = text.find_count("num_hidden_layers")) check_layers(*layers, "num_hidden_layers");
  model.num_nextn_layers = check_layers(text.count_or("num_nextn_predict_layers", 0), "num_nextn_predict_layers");
  name_towers(root, model);
  if (text.is_string("use_bidirectional_attention") && text.find_string("use_bidirectional_attention") == "vision")
    for (TowerModel& side : model.towers) side.both_ways = side.what == TowerKind::kVision;

  Reader reader{root, text, model};
  read_layers(reader, family);
  read_graph_facts(text, model);
  check_layer_lists(reader);
  if (model.layers.empty()) fail("the config has no layers", "num_hidden_layers must be positive");
  check_layers(model.layers.size(), "num_hidden_layers");

  const std::vector<std::string> unread = unknown ? unread_cache_keys(text, true) : std::vector<std::string>();
  const std::string shown = model.model_type.empty() ? "(none)" : one_line(model.model_type, 60);
  // If there is no model_type, attention_type gives the kind of the layers.
  const bool says_kind = !kind_of_word(text.find_string("attention_type").value_or("")).empty();
  if (unknown && !options.assume && (!unread.empty() || (model.model_type.empty() && !says_kind))) {
    if (!unread.empty())
      fail(Exit::kUnknownArchitecture,
           "the model_type " + shown +
               " is not known, and it has cache-related keys that kvplan does not know: " + first_named(unread),
           "--assume plans it from the common fields anyway");
    fail(Exit::kUnknownArchitecture, "the config names no model_type", "--assume plans it from its common fields");
  }
  if (unknown) {
    std::string message =
        "the model_type " + shown + " is not known: planned from its common fields as " + model_attention(model);
    if (!unread.empty()) message += "; not understood: " + first_named(unread);
    warn(model.notes, "assumed_architecture", Template::quoted(message));
  }
  model.quantization = read_quantization(root, text);
  if (!hf_quant_config.empty()) read_beside(root, text, hf_quant_config, model);
  if (is_declared(model.quantization)) root.derived("weights", main_type(model.quantization));
  build_inventory(reader);
  if (!unknown) note_unread(text, model);  // some keys are read only for the weights
  if (!unknown && model.known_as->checked.empty())
    reader.inform("unverified", "the weights of " + shown +
                                    " are unverified: not compared with the model's class or a published total");
  if (is_declared(model.quantization)) name_modules(model, text.class_name());
  model.rotary_tables = read_rotary_tables(reader);
  model.plain_rotation = read_plain_rotation(reader);
  read_purpose(reader);
  if (const std::vector<std::string> misread = root.misread(); !misread.empty())
    warn(model.notes, "misread_keys",
         {"left out, because they have the wrong type: {keys}", {{"keys", first_named(misread)}}});
  if (options.draft) adapt_draft(root, *options.draft, model);
  model.facts = root.facts();
  return model;
}

}  // namespace kvplan
