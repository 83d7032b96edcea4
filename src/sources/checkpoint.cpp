#include "sources/load.h"

#include <algorithm>
#include <initializer_list>
#include <map>
#include <optional>

#include "formats/fields.h"
#include "formats/file.h"
#include "formats/safetensors.h"
#include "kvplan/error.h"
#include "kvplan/quantity.h"
#include "kvplan/strings.h"

namespace kvplan {

namespace {

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// The layer number after "layers." or "h."; nothing if the name has none.
std::optional<std::uint64_t> layer_of(std::string_view name) {
  for (const std::string_view mark : {"layers.", ".h.", "blocks.", "block."}) {
    const auto at = name.find(mark);
    if (at == std::string_view::npos) continue;
    if (const auto index = whole_number(name.substr(at + mark.size()))) return index;
  }
  return std::nullopt;
}

struct Sums {
  std::uint64_t tensors = 0;
  Elements elements;
  Bytes bytes;

  void add(const SafeTensor& tensor) {
    ++tensors;
    elements += Elements(tensor.elements);
    bytes += Bytes(tensor.bytes);
  }
};

std::string sized(Bytes bytes) {
  return std::to_string(bytes.count()) + " bytes";
}

// Tensors and bytes of all safetensors of a directory.
Sums sums_of(const std::string& directory, SafetensorsWalked& walked) {
  Sums out;
  std::uint64_t index_bytes = 0;
  const std::vector<std::string> files = checkpoint_files(directory, index_bytes, walked);
  read_safetensors(
      files, [&](const SafeTensor& tensor) { out.add(tensor); }, walked);
  out.bytes += Bytes(index_bytes);
  return out;
}

// The sums of the LoRA adapter in a directory.
Sums adapter_sums(const std::string& directory) {
  Sums out;
  if (const std::string file = directory + "/adapter_model.safetensors"; exists(file))
    read_safetensors(file, [&](const SafeTensor& tensor) { out.add(tensor); });
  return out;
}

}  // namespace

Component component_of(std::string_view name, std::uint64_t num_layers) {
  const auto has_any = [&](std::initializer_list<std::string_view> parts) {
    return std::any_of(parts.begin(), parts.end(), [&](std::string_view part) { return has(name, part); });
  };
  const auto starts = [&](std::string_view word) { return name.starts_with(word); };
  if (starts("mtp.") || has_any({".mtp.", "nextn", "mtp_"})) return Component::kMtp;
  if (has_any({"projector", "embed_vision", "embed_audio", "merger.", "connector"})) return Component::kProjector;
  if (has_any({"visual.", "vision", "image_encoder"})) return Component::kVision;
  if (has_any({"audio_tower", "audio_encoder", "audio_model"})) return Component::kAudio;
  if (starts("encoder.") || has(name, "model.encoder.")) return Component::kEncoder;
  const auto layer = layer_of(name);
  // Layers that follow the decoder's own are MTP layers.
  if (layer && num_layers > 0 && *layer >= num_layers) return Component::kMtp;
  if (has(name, "shared_expert")) return Component::kSharedExperts;
  if (has_any({"router", ".gate."})) return Component::kRouter;
  if (has(name, "experts")) return Component::kExperts;
  if (has_any({"lm_head", "embed_out"}) || name == "output.weight" || starts("head.")) return Component::kLmHead;
  if (!layer && (has_any({"embed", ".wte", "wpe"}) || starts("wte"))) return Component::kEmbedding;
  if (has_any({"norm", "ln_", "layernorm"})) return Component::kNorms;
  if (has_any({"linear_attn", "mamba", "mixer.", "ssm", "conv.", "temporal_block"})) return Component::kStateMixer;
  if (has_any({"attn", "attention"})) return Component::kAttention;
  if (has_any({"mlp", "ffn", "feed_forward", "dense_h"})) return Component::kMlp;
  return Component::kOther;
}

void add_stored(const std::function<void(const TensorVisitor&)>& each, ModelSpec& model) {
  const bool tied =
      std::any_of(model.tensors.begin(), model.tensors.end(), [](const TensorGroup& g) { return g.is_tied; });
  std::map<std::pair<Component, std::string>, Sums> sums;
  bool has_embedding = false;
  each([&](const SafeTensor& tensor) {
    const Component component = component_of(tensor.name, model.layers.size());
    has_embedding = has_embedding || component == Component::kEmbedding;
    sums[{component, std::string(tensor.dtype)}].add(tensor);
  });
  for (const auto& [key, sum] : sums) {
    // If a tied head is in the file too, it is not loaded twice.
    if (key.first == Component::kLmHead && tied && has_embedding) {
      inform(model.notes, "tied_head_stored",
             {"the file has the tied head in addition to the embedding ({size}): counted once",
              {{"size", sized(sum.bytes)}}});
      continue;
    }
    model.stored.push_back({key.first, key.second, sum.tensors, sum.elements, sum.bytes});
  }
}

void read_stored_index(const std::string& directory, ModelSpec& model) {
  try {
    const std::string text = read_file(directory + "/model.safetensors.index.json", kMaxIndexBytes);
    if (const std::uint64_t bytes = parse_safetensors_index(text).total_size; bytes > 0)
      model.stored.push_back({Component::kOther, "index", 1, Elements(0), Bytes(bytes)});
  } catch (const Error&) {
  }
}

void read_stored(const std::string& directory, ModelSpec& model) {
  model.embeds = model.embeds || exists(directory + "/modules.json");
  std::uint64_t index_bytes = 0;
  SafetensorsWalked walked;
  const std::vector<std::string> files = checkpoint_files(directory, index_bytes, walked);
  if (index_bytes > 0) {
    model.stored.push_back({Component::kOther, "index", 1, Elements(0), Bytes(index_bytes)});
    return;
  }
  add_stored([&](const TensorVisitor& visit) { read_safetensors(files, visit, walked); }, model);
  // sentence-transformers: dense layers after the model are in separate folders.
  if (exists(directory + "/modules.json")) {
    Bytes more;
    for (const std::string& folder : entries_of(directory))
      if (is_directory(folder) && exists(folder + "/model.safetensors")) more += sums_of(folder, walked).bytes;
    if (more > Bytes(0) && !model.stored.empty())
      model.stored.push_back({Component::kOther, "sentence-transformers", 1, Elements(0), more});
    inform(model.notes, "sentence_transformers",
           {"a sentence-transformers layout: its other modules take {size}", {{"size", sized(more)}}});
  }
  if (exists(directory + "/adapter_config.json")) {
    const Sums adapter = adapter_sums(directory);
    inform(model.notes, "adapter",
           {"the directory also has an adapter: {parameters} parameters, {size}, not part of the plan (--lora "
            "adds it)",
            {{"parameters", adapter.elements}, {"size", sized(adapter.bytes)}}});
  }
}

bool is_other_layout(const std::string& directory) {
  if (exists(directory + "/config.json")) return false;
  return exists(directory + "/adapter_config.json") || exists(directory + "/model_index.json") ||
         exists(directory + "/modules.json");
}

void refuse_layout(const std::string& directory) {
  if (exists(directory + "/config.json")) return;
  if (exists(directory + "/adapter_config.json")) {
    const Fields config = Fields::parse(read_file(directory + "/adapter_config.json"));
    const Sums sums = adapter_sums(directory);
    const std::string base = config.find_string("base_model_name_or_path").value_or("an unnamed model");
    const std::string kind = config.find_string("peft_type").value_or("LORA");
    fail("the directory has a " + one_line(kind, 20) + " adapter of " + one_line(base, 80) + " (rank " +
             std::to_string(config.count_or("r", 0)) + ", " + std::to_string(sums.elements.count()) + " parameters, " +
             sized(sums.bytes) + ") and no model",
         "give its base model, and this directory with --lora");
  }
  if (exists(directory + "/model_index.json")) {
    const Fields index = Fields::parse(read_file(directory + "/model_index.json"));
    std::string parts;
    Bytes all;
    SafetensorsWalked walked;
    for (const std::string& key : index.keys()) {
      const std::string folder = directory + "/" + key;
      if (key.find('/') != std::string::npos || key.starts_with('.') || !is_directory(folder)) continue;
      const Sums sums = sums_of(folder, walked);
      if (sums.bytes == Bytes(0)) continue;
      all += sums.bytes;
      parts += (parts.empty() ? "" : ", ") + one_line(key, 40) + " " + sized(sums.bytes);
    }
    fail(Exit::kUnknownArchitecture,
         "the directory is a diffusers pipeline (" +
             one_line(index.find_string("_class_name").value_or("unnamed"), 60) + "; " +
             (parts.empty() ? std::string("no weights found") : parts) + "; " + sized(all) +
             " in all), and kvplan plans language models",
         "give the folder of its text encoder; for the rest see diffusers' guide to memory");
  }
  if (exists(directory + "/modules.json"))
    fail("the directory is a sentence-transformers layout without its own config.json",
         "give the folder of its transformer");
}

}  // namespace kvplan
