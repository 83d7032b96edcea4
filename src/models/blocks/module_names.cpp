// The names of a family's modules in its files and its class, if they differ from Llama's. Source of the rows:
// transformers 5.23, the modules of each class and conversion_mapping.py; vLLM 0.33, the mappers of
// model_executor/models. For classes that neither has: the modelling file of the checkpoints.
#include <algorithm>

#include "kvplan/strings.h"
#include "models/blocks/inventory.h"
#include "models/family.h"

namespace kvplan {

// The position of `words` as whole words in a name.
static std::size_t find_words(std::string_view name, std::string_view words) {
  for (std::size_t at = name.find(words); at != std::string_view::npos; at = name.find(words, at + 1)) {
    const std::size_t end = at + words.size();
    if ((at == 0 || name[at - 1] == '.') && (end == name.size() || name[end] == '.')) return at;
  }
  return std::string_view::npos;
}

static std::string renamed(std::string name, std::string_view words) {
  for (const std::string_view entry : split(words)) {
    const std::size_t equals = entry.find('=');
    const std::string_view ours = entry.substr(0, equals);
    const std::size_t at = find_words(name, ours);
    if (at != std::string_view::npos) name.replace(at, ours.size(), entry.substr(equals + 1));
  }
  return name;
}

static void add(std::vector<std::string>& names, std::string name) {
  if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(std::move(name));
}

// transformers stores the experts of a layer in two tensors. Some files have one tensor for each matrix.
static void add_stacked(std::vector<std::string>& names, bool is_mlx) {
  for (std::size_t i = 0, count = names.size(); i < count; ++i) {
    add(names, renamed(names[i], "experts.*.gate_proj=experts.gate_up_proj experts.*.up_proj=experts.gate_up_proj"));
    add(names, renamed(names[i], "experts.*=experts"));
    // Only for mlx-lm: in other engines a pattern for dense MLPs would match this name.
    if (is_mlx) add(names, renamed(names[i], "experts.*=switch_mlp"));
  }
}

// MTP layers: numbered after the last layer, or in a separate block.
static std::vector<std::string> names_of_mtp(const std::vector<std::string>& names, std::uint64_t layer) {
  std::vector<std::string> out;
  for (const std::string& name : names) {
    const std::size_t at = name.find("layers.*.");
    if (at == std::string::npos) {
      add(out, name);
      continue;
    }
    const std::string module = name.substr(at + std::string_view("layers.*.").size());
    add(out, "layers." + std::to_string(layer) + "." + module);
    add(out, "mtp.layers.0." + module);
  }
  return out;
}

void name_modules(ModelSpec& model, std::string_view class_name) {
  const Family* family = find_family(class_name);
  const std::vector<std::string_view> spellings = split(family == nullptr ? "" : family->modules, '|');
  for (TensorGroup& group : model.tensors) {
    if (is_tower(group.component)) continue;
    std::vector<std::string> names;
    for (const std::string_view words : spellings) add(names, renamed(group.module, words));
    if (names.empty()) names.push_back(group.module);
    if (group.is_expert) add_stacked(names, model.quantization.dialect == "mlx");
    if (group.component == Component::kMtp) names = names_of_mtp(names, model.layers.size());
    if (names.size() > 1 || names.front() != group.module) group.names = std::move(names);
  }
}

}  // namespace kvplan
