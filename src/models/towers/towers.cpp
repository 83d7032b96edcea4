// Vision towers, audio encoders and their projectors: their tensors, and where a config has them. A tower without a row
// gets an estimate with a range, never zero.
#include <algorithm>

#include "kvplan/error.h"
#include "kvplan/strings.h"
#include "models/class_defaults.h"
#include "models/towers/tower.h"

namespace kvplan {

void Tower::linear(std::string_view name, std::uint64_t rows, std::uint64_t columns, bool bias, std::uint64_t copies,
                   Split split) const {
  TensorGroup& group = inventory.linear(component, name, rows, columns, cuts ? split : Split::kNone);
  group.copies = group.used = copies;
  if (name.find("patch_embed") != std::string_view::npos) group.role = TensorRole::kConv;
  if (bias) plain(std::string(name) + ".bias", rows, copies, split == Split::kRows ? split : Split::kNone);
}

void Tower::plain(std::string_view name, std::uint64_t elements, std::uint64_t copies, Split split) const {
  if (elements == 0) return;
  TensorGroup& group = inventory.plain(component, name, elements, cuts ? split : Split::kNone);
  group.copies = group.used = copies;
}

TensorGroup& Tower::derived(std::string_view name, std::uint64_t elements) const {
  TensorGroup& group = inventory.plain(component, name, elements);
  group.is_derived = true;
  return group;
}

void Tower::blocks(const std::string& at, const Blocks& b) const {
  if (b.layers == 0 || b.width == 0) return;
  const std::uint64_t queries = b.attention > 0 ? b.attention : b.width;
  const std::uint64_t keys = b.keys > 0 ? b.keys : queries;
  const std::uint64_t qkv = checked_add(queries, times(2, keys), "the heads of a tower");
  const std::size_t before = inventory.model().tensors.size();
  linear(at + "qkv", qkv, b.width, false, b.layers, Split::kRows);
  plain(at + "qkv.bias", b.qkv_bias == 3 ? qkv : times(b.qkv_bias, queries), b.layers, Split::kRows);
  linear(at + "proj", b.width, queries, b.out_bias, b.layers, Split::kColumns);
  linear(at + "fc1", times(b.gated ? 2 : 1, b.inner), b.width, b.mlp_bias, b.layers, Split::kRows);
  linear(at + "fc2", b.width, b.inner, b.mlp_bias, b.layers, Split::kColumns);
  plain(at + "norm", times(b.layer_norm ? 2 : 1, times(b.norms, b.width)), b.layers);
  plain(at + "extra", b.extra, b.layers);
  std::vector<TensorGroup>& written = inventory.model().tensors;
  for (std::size_t i = before; i < written.size(); ++i) written[i].units = b.heads;
}

static std::uint64_t count_of(const Fields& config, const std::vector<std::string_view>& keys, std::uint64_t fallback) {
  for (const std::string_view key : keys)
    if (config.is_number(key)) return config.count_or(key, fallback);
  if (!config.class_name().empty())
    for (const std::string_view key : keys)
      if (const auto value = config.find_count(key)) return *value;
  return fallback;
}

std::uint64_t TowerWriter::count(const std::vector<std::string_view>& keys, std::uint64_t fallback) const {
  return count_of(v, keys, fallback);
}

void estimate_tower(Inventory& out, const Fields& side, Component component, const std::string& what) {
  const std::uint64_t h = count_of(side, {"hidden_size", "embed_dim", "d_model", "width", "hidden_dim"}, 0);
  const std::uint64_t layers =
      count_of(side, {"num_hidden_layers", "depth", "encoder_layers", "layers", "n_layers", "num_layers"}, 0);
  const std::uint64_t inner = count_of(side, {"intermediate_size", "encoder_ffn_dim", "mlp_dim"}, times(4, h));
  UnknownTensors unknown;
  unknown.component = component;
  unknown.what = what;
  if (h > 0 && layers > 0 && layers < 10000) {
    const std::uint64_t estimate =
        times(layers, checked_add(times(4, square(h)), times(2, times(h, inner)), "a vision tower")) +
        times(out.hidden, times(4, h));
    unknown.low = Elements(estimate / 5 * 4);
    unknown.estimate = Elements(estimate);
    unknown.high = Elements(estimate) * 2;
  } else {
    unknown.low = Elements(50'000'000);
    unknown.estimate = Elements(500'000'000);
    unknown.high = Elements(2'000'000'000);
  }
  out.reader.model.unknown_tensors.push_back(unknown);
}

static bool write_vision(Inventory& out, const Fields& root, const Fields& v, const std::string& root_type,
                         const std::string& own) {
  const TowerWriter side{{out, Component::kVision}, {out, Component::kProjector}, v, root, out.hidden, root_type, own};
  if (v.is_object("width") && v.child("width")->is_object("sam_vit_b"))
    return write_tower_part(v.child("width")->is_object("qwen2-0-5b") ? "deepseek_ocr2" : "deepseek_ocr", side), true;
  if (write_tower("tower", side)) return true;
  root.touch("model_type");
  return false;
}

static bool write_audio(Inventory& out, const Fields& root, const Fields& a, const std::string& root_type,
                        const std::string& own) {
  const TowerWriter side{
      {out, Component::kAudio, false}, {out, Component::kProjector}, a, root, out.hidden, root_type, own};
  side.count({"d_model", "hidden_size"}, 0);  // reported as a fact of the plan, even if no row is for the encoder
  return write_tower("audio", side);
}

// A part of the config that no rule has read and that has a width gets an estimate if it gives its layers, or else a
// note. Nothing is left out silently.
static void estimate_unread_parts(Inventory& out, const Fields& root) {
  constexpr std::size_t kMostParts = 64;  // models have a handful
  std::size_t parts = 0;
  for (const std::string& key : root.unread()) {
    const bool is_text = out.text.path().starts_with(root.path() + key + ".");
    if (is_text || !key.ends_with("_config") || key.starts_with("quantization") || !root.is_object(key)) continue;
    const Fields side = root.child(key)->quietly();
    const auto says = [&](std::initializer_list<std::string_view> keys) {
      return std::any_of(keys.begin(), keys.end(), [&](std::string_view k) { return side.is_number(k); });
    };
    if (!says({"hidden_size", "embed_dim", "d_model", "width", "hidden_dim"})) continue;
    if (++parts > kMostParts) continue;
    const bool counts_layers =
        says({"num_hidden_layers", "depth", "encoder_layers", "layers", "n_layers", "num_layers"}) ||
        side.is_list("depths");
    if (counts_layers)
      estimate_tower(out, side, Component::kVision, "what " + one_line(key, 60) + " configures");
    else
      out.reader.inform("uncounted_part", "what " + one_line(key, 60) + " configures is not counted");
  }
  if (parts > kMostParts)
    out.reader.inform("uncounted_part",
                      "what " + std::to_string(parts - kMostParts) + " further parts configure is not counted");
}

// Adds a note on the parts next to a "thinker". They produce speech, and are not loaded if only the thinker is served.
static void note_speakers(Inventory& out, const Fields& root) {
  for (const std::string_view key : {"talker_config", "token2wav_config", "code2wav_config"})
    if (root.is_object(key))
      out.reader.inform("uncounted_part", "what " + std::string(key) + " configures is not counted");
}

// Adds the default tower that a class builds if the file has no vision_config. Gemma 4's class builds none.
static bool write_default_vision(Inventory& out, const Fields& root, const std::string& root_type) {
  if (root_type.starts_with("gemma4")) return false;
  for (const std::string& own : {root_type + "_vision_model", root_type + "_vision"})
    if (has_class(own) && write_vision(out, root, with_class(Fields::empty(), own), root_type, own)) {
      out.reader.inform("default_tower", "the config has no vision_config: planned with the vision tower that " +
                                             one_line(root_type, 60) + " builds by default");
      return true;
    }
  return false;
}

// Adds notes for composites whose class has a tower although the file names none.
static void note_absent_towers(Inventory& out, const Fields& root, const std::string& root_type, bool seen_vision,
                               bool seen_audio) {
  constexpr std::string_view kLooking =
      "gemma3 shieldgemma2 paligemma llava llava_next llava_next_video llava_onevision vipllava video_llava mistral3 "
      "idefics2 idefics3 aya_vision cohere2_vision";
  if (out.text.path() == root.path() || out.reader.model.architecture.ends_with("ForCausalLM")) return;
  const bool looks =
      has_word(kLooking, root_type) || has_class(root_type + "_vision") || has_class(root_type + "_vision_model");
  const auto absent = [&](const char* key, const char* what) {
    out.reader.inform("absent_tower", "the config has no " + std::string(key) + ": no " + what +
                                          " is counted, although the class of " + one_line(root_type, 60) + " has one");
  };
  if (looks && !seen_vision && !write_default_vision(out, root, root_type)) absent("vision_config", "vision tower");
  if (has_class(root_type + "_encoder") && !seen_audio) absent("audio_config", "audio encoder");
}

void write_towers(Inventory& out) {
  Fields root = out.reader.root;
  const std::string root_type = root.find_string("model_type").value_or("");
  if (const auto thinker = root.child("thinker_config")) {
    note_speakers(out, root);
    root = *thinker;
  }
  if (const auto vlm = root.child("vlm_config")) {
    estimate_unread_parts(out, root.bare());
    root = *vlm;
  }
  out.outside(Place::kFirst);
  const auto bare = root.bare();
  bool seen_vision = false;
  for (const std::string_view key :
       {"vision_config", "visual", "vision_tower_config", "vit_config", "vision_encoder", "visual_tokenizer_config"}) {
    auto side = bare.child(key);
    if (!side || seen_vision) continue;
    if (const auto backbone = side->child("backbone_config")) side = backbone;  // Ovis
    seen_vision = true;
    root.touch(key);
    const std::string own = side->find_string("model_type").value_or("");
    const Fields v = with_class(*side, own.empty() ? root_type + "_vision" : own);
    if (!write_vision(out, bare, v, root_type, own))
      estimate_tower(out, *side, Component::kVision,
                     "the vision tower (" + class_word(own.empty() ? root_type : own) + ")");
  }
  // The first LLaVAs give their tower only as a repository's name.
  if (!seen_vision && bare.is_string("mm_vision_tower"))
    estimate_tower(out, Fields::empty(), Component::kVision, "the vision tower of mm_vision_tower");
  bool seen_audio = false;
  for (const std::string_view key : {"audio_config", "audio_encoder_config", "encoder_config"}) {
    const auto side = bare.child(key);
    if (!side || (key == "encoder_config" && !root_type.starts_with("granite_speech"))) continue;
    root.touch(key);
    seen_audio = true;
    const std::string own = side->find_string("model_type").value_or("");
    if (!write_audio(out, bare, with_class(*side, own), root_type, own))
      estimate_tower(out, *side, Component::kAudio,
                     "the audio encoder (" + class_word(own.empty() ? root_type : own) + ")");
  }
  if (const auto encoder = bare.child("encoder"); encoder && bare.child("decoder")) {
    root.touch("encoder");
    if (!write_pair_encoder(out, *encoder))
      estimate_tower(out, *encoder, Component::kEncoder,
                     "the encoder (" + one_line(encoder->find_string("model_type").value_or("of no name"), 60) + ")");
  }
  estimate_unread_parts(out, bare);
  note_absent_towers(out, bare, root_type, seen_vision, seen_audio);
}

}  // namespace kvplan
