// config.json to ModelSpec: find the decoder's part, dispatch to its family, record what was read.
#include <algorithm>
#include <array>
#include <cctype>

#include "input/aliases.h"
#include "input/config.h"
#include "input/families.h"
#include "input/input.h"
#include "input/inventory/inventory.h"
#include "input/quantization.h"
#include "kvplan/error.h"

namespace kvplan {

namespace {

// The decoder's part of a composite config.
std::optional<Config> nested_text(const Config& root) {
  if (const auto thinker = root.child("thinker_config"))
    if (auto text = thinker->child("text_config")) return text;
  for (const std::string_view key : {"text_config", "llm_config", "language_config", "language_model", "decoder"})
    if (auto text = root.child(key); text && !text->keys().empty()) return text;
  return std::nullopt;
}

// The class of the decoder in composites whose nested config does not name it.
struct TextClass {
  std::string_view root, text;
};
constexpr std::array kTextClasses{
    TextClass{"llava", "llama"},
    TextClass{"llava_next", "llama"},
    TextClass{"llava_onevision", "qwen2"},
    TextClass{"vipllava", "llama"},
    TextClass{"video_llava", "llama"},
    TextClass{"paligemma", "gemma"},
    TextClass{"mistral3", "mistral"},
    TextClass{"idefics2", "mistral"},
    TextClass{"idefics3", "llama"},
    TextClass{"smolvlm", "llama"},
    TextClass{"aria", "aria_text"},
    TextClass{"qwen2_audio", "qwen2"},
    TextClass{"mllama", "mllama_text_model"},
    TextClass{"internvl", "qwen2"},
    TextClass{"ovis2", "qwen2"},
    TextClass{"granite_speech", "granite"},
    TextClass{"voxtral", "llama"},
    TextClass{"lfm2_vl", "lfm2"},
    TextClass{"kimi_k25", "deepseek_v3"},
    TextClass{"kimi_vl", "deepseek_v3"},
    TextClass{"aya_vision", "cohere2"},
    TextClass{"cohere2_vision", "cohere2"},
    TextClass{"got_ocr2", "qwen2"},
    TextClass{"emu3", "emu3_text_model"},
    TextClass{"qwen2_5_omni", "qwen2_5_omni_text"},
    TextClass{"qwen3_omni_moe", "qwen3_omni_moe_text"},
    TextClass{"minimax_m3_vl", "minimax_m3_vl_text"},
    TextClass{"deepseek_vl_v2", "deepseek_v2"},
    TextClass{"step3_vl", "step3_text"},
    TextClass{"step3p7", "step3p5"},
};

// How a flat config of a composite class (text fields at the root) is classified.
std::string flat_class(const std::string& model_type) {
  return has_class(model_type + "_text") && !has_class(model_type) ? model_type + "_text" : model_type;
}

std::string text_class(const Config& root, const Config& text, const std::string& root_type) {
  if (const auto named = text.find_string("model_type"); named && !named->empty()) return *named;
  for (const TextClass& row : kTextClasses)
    if (row.root == root_type) return std::string(row.text);
  for (const std::string& candidate : {root_type + "_text", root_type + "_text_model"})
    if (has_class(candidate) || find_family(candidate) != nullptr) return candidate;
  const auto architectures = text.strings("architectures");
  if (architectures && !architectures->empty())
    if (const auto type = model_type_of(architectures->front()); !type.empty()) return std::string(type);
  (void)root;
  return root_type;
}

struct SideRow {
  std::string_view key, what;
};
constexpr std::array kSides{
    SideRow{"vision_config", "vision tower"},         SideRow{"visual", "vision tower"},
    SideRow{"vision_tower_config", "vision tower"},   SideRow{"vit_config", "vision tower"},
    SideRow{"vision_encoder", "vision tower"},        SideRow{"audio_config", "audio encoder"},
    SideRow{"audio_encoder_config", "audio encoder"}, SideRow{"encoder", "encoder"},
};

void name_sides(const Config& object, ModelSpec& model) {
  for (const SideRow& row : kSides) {
    const auto side = object.child(row.key);
    if (!side) continue;
    SideModel out{std::string(row.what), side->find_string("model_type").value_or(""), 0};
    for (const std::string_view key : {"num_hidden_layers", "depth", "layers", "encoder_layers"})
      if (out.num_layers == 0 && side->is_number(key)) out.num_layers = side->count_or(key, 0);
    model.sides.push_back(std::move(out));
  }
  if (const auto thinker = object.child("thinker_config")) name_sides(*thinker, model);
}

std::optional<Dtype> read_dtype(const Config& config) {
  const auto word = config.find_string("dtype");
  if (!word || word->empty() || *word == "auto") return std::nullopt;
  const auto type = find_dtype(*word);
  if (!type) fail("\"" + config.path() + "dtype\" is \"" + one_line(*word, 40) + "\"", "use a type such as bfloat16");
  // Quantized storage types are no type to compute in.
  return plain_bytes(*type) >= 2 ? type : std::nullopt;
}

std::string lower(std::string_view text) {
  std::string out;
  for (const char c : text) out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

std::optional<Dtype> kv_type_of_word(std::string_view word) {
  const std::string folded = lower(word);
  if (folded.find("nvfp4") != std::string::npos) return Dtype::kNvfp4;
  if (folded.find("e5m2") != std::string::npos) return Dtype::kFp8E5m2;
  if (folded.find("fp8") != std::string::npos || folded.find("e4m3") != std::string::npos) return Dtype::kFp8E4m3;
  if (folded.find("int8") != std::string::npos) return Dtype::kInt8;
  return std::nullopt;
}

// A quantized cache that the checkpoint asks for. FP8 *weights* alone do not mean an FP8 cache.
std::optional<Dtype> declared_kv(const Config& quantization) {
  for (const std::string_view key : {"kv_cache_scheme", "kv_cache_quant_algo"}) {
    if (const auto word = quantization.find_string(key)) return kv_type_of_word(*word);
    const auto scheme = quantization.child(key);
    if (!scheme) continue;
    quantization.touch(key);
    const std::uint64_t bits = scheme->count_or("num_bits", 8);
    const std::string type = scheme->find_string("type").value_or("float");
    if (bits == 8) return type == "int" ? Dtype::kInt8 : Dtype::kFp8E4m3;
    if (bits == 4) return type == "int" ? Dtype::kInt4 : Dtype::kNvfp4;
  }
  return std::nullopt;
}

void read_cache_types(const Config& root, const Config& text, std::string_view hf_quant_config, ModelSpec& model) {
  auto dtype = read_dtype(text);
  if (!dtype) dtype = read_dtype(root);
  model.dtype_declared = dtype.has_value();
  model.dtype = dtype.value_or(Dtype::kBfloat16);
  if (!dtype) {
    text.derived("dtype", "bfloat16");
    model.notes.push_back({NoteLevel::kInfo, "assumed_dtype", "the config names no dtype: bfloat16 is assumed"});
  }
  for (const Config& place : {root, text})
    if (const auto quantization = place.child("quantization_config"); quantization && !model.declared_kv_dtype)
      model.declared_kv_dtype = declared_kv(*quantization);
  if (!model.declared_kv_dtype && !hf_quant_config.empty()) {
    try {
      const Config beside = Config::parse(hf_quant_config);
      if (const auto quantization = beside.child("quantization")) {
        model.declared_kv_dtype = declared_kv(*quantization);
        if (model.declared_kv_dtype)
          text.derived("hf_quant_config.json: kv_cache_quant_algo", name(*model.declared_kv_dtype));
      }
    } catch (Error& error) {
      error.set_source("hf_quant_config.json");
      throw;
    }
  }
  if (const auto word = text.find_string("mamba_ssm_dtype"); word && *word != "auto") {
    model.declared_state_dtype = find_dtype(*word);
    if (!model.declared_state_dtype)
      fail("\"mamba_ssm_dtype\" is \"" + one_line(*word, 40) + "\"", "use a type such as float32");
  }
}

// Keys that speak of a cache. One that nobody read is a warning, and a reason to refuse an unknown architecture.
bool cache_like(std::string_view key) {
  static constexpr std::array kHarmless{
      std::string_view("output_hidden_states"),
      std::string_view("laurel_rank"),
      std::string_view("adapter_rank"),
      std::string_view("time_step_rank"),
  };
  if (std::find(kHarmless.begin(), kHarmless.end(), key) != kHarmless.end()) return false;
  return key.starts_with("index_") || key.find("window") != std::string_view::npos || key.ends_with("_rank") ||
         key.find("state") != std::string_view::npos || key.starts_with("compress") ||
         key.find("kv") != std::string_view::npos;
}

std::vector<std::string> unread_cache_keys(const Config& text) {
  std::vector<std::string> out;
  for (const std::string& key : text.unread())
    if (cache_like(key)) out.push_back(text.path() + key);
  return out;
}

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : ", ") + one_line(word, 60);
  return out;
}

}  // namespace

ModelSpec read_config(std::string_view file_text, std::string_view hf_quant_config, std::string_view source,
                      const ReadOptions& options) {
  const Config root = Config::parse(file_text);
  ModelSpec model;
  model.source = source;
  model.format = "config.json";

  const std::string root_type = root.find_string("model_type").value_or("");
  if (const auto names = root.strings("architectures"); names && !names->empty()) model.architecture = names->front();
  auto nested = nested_text(root);
  Config text = nested ? *nested : root;
  std::string type = nested ? text_class(root, text, root_type) : flat_class(root_type);

  // A model_type that nobody knows may still have an architecture that says what it is.
  const Family* family = find_family(type);
  if (family == nullptr || type.empty()) {
    if (const std::string_view implied = model_type_of(model.architecture); !implied.empty()) {
      family = find_family(implied);
      text = text.with_class(implied);
    }
  } else {
    text = text.with_class(lower(type));
  }
  model.model_type = type.empty() ? root_type : type;
  model.family = family == nullptr ? "generic" : std::string(family->name);
  const bool unknown = family == nullptr;
  if (text.keys().empty() || (unknown && !text.contains("hidden_size") && !text.contains("num_hidden_layers") &&
                              !text.find_count("num_hidden_layers")))
    fail("not a model's config: no model_type that kvplan knows, and no num_hidden_layers",
         "give a model's config.json");
  // A root config names its own shape; only nested ones are differences against their class.
  if (!nested && !text.class_name().empty()) {
    const std::string_view known = text.class_name();
    const Config bare = text.with_class("");
    const bool letters =
        bare.contains("hybrid_override_pattern") || bare.contains("layers_block_type") || bare.contains("num_blocks");
    if (!letters && !bare.find_count("num_hidden_layers")) bare.count("num_hidden_layers");
    bare.count("hidden_size");
    text = bare.with_class(known);
  }

  model.max_model_len = Tokens(text.count_or("max_position_embeddings", 0));
  if (model.max_model_len == Tokens(0)) model.max_model_len = Tokens(root.count_or("max_position_embeddings", 0));
  read_cache_types(root, text, hf_quant_config, model);
  model.hidden_size = text.count_or("hidden_size", 0);
  model.vocab_size = text.count_or("vocab_size", 0);
  if (!text.is_list("intermediate_size")) model.intermediate_size = text.count_or("intermediate_size", 0);
  if (const auto layers = text.find_count("num_hidden_layers")) check_layers(*layers, "num_hidden_layers");
  model.num_nextn_layers = text.count_or("num_nextn_predict_layers", 0);
  name_sides(root, model);

  Reader reader{root, text, model};
  if (unknown)
    read_generic(reader);
  else
    family->read(reader);
  if (model.layers.empty()) fail("the config has no layers", "num_hidden_layers must be positive");
  check_layers(model.layers.size(), "num_hidden_layers");

  const std::vector<std::string> unread = unread_cache_keys(text);
  const std::string shown = model.model_type.empty() ? "(none)" : one_line(model.model_type, 60);
  if (unknown && !options.assume && (!unread.empty() || model.model_type.empty())) {
    if (!unread.empty())
      fail(Exit::kUnknownArchitecture,
           "the model_type " + shown +
               " is not known, and keys that speak of a cache were not understood: " + joined(unread),
           "--assume plans it from the plain fields all the same");
    fail(Exit::kUnknownArchitecture, "the config names no model_type", "--assume plans it from its plain fields");
  }
  if (unknown) {
    std::string message =
        "the model_type " + shown + " is not known: planned from its plain fields as " + model_attention(model);
    if (!unread.empty()) message += "; not understood: " + joined(unread);
    model.notes.push_back({NoteLevel::kWarning, "assumed_architecture", message});
  } else if (!unread.empty()) {
    model.notes.push_back(
        {NoteLevel::kWarning, "unread_keys", "keys that may speak of a cache were not read: " + joined(unread)});
  }
  model.quantization = read_quantization(root, text, hf_quant_config);
  build_inventory(reader);
  model.facts = root.facts();
  return model;
}

}  // namespace kvplan
