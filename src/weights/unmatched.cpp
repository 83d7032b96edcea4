#include "weights/unmatched.h"

#include <algorithm>
#include <string_view>

#include "kvplan/error.h"

namespace kvplan {

namespace {

// Whether a rule is about tensors that are never packed: lists repeat a checkpoint's whole index, with norms, biases,
// tables, convolutions and towers, of which fewer names are known here.
bool names_unpacked(std::string_view pattern) {
  for (const std::string_view word : {"norm", "bias", "embed", "conv", "rotary", "visual", "vision", "audio", "image",
                                      "projector", "merge", "aligner", "mtp"})
    if (pattern.find(word) != std::string_view::npos) return true;
  return false;
}

// Whether it names a layer: "model.layers.61*" in a model of 61 layers is the MTP layer.
bool names_layer(std::string_view pattern, std::uint64_t layer) {
  const std::string word = "layers." + std::to_string(layer);
  const std::size_t at = pattern.find(word);
  return at != std::string_view::npos &&
         (at + word.size() == pattern.size() || pattern.find_first_of(".*", at + word.size()) == at + word.size());
}

std::vector<RuleBook::Module> modules_of(const WeightModel& model) {
  std::vector<RuleBook::Module> out;
  for (const TensorGroup& group : model.tensors) {
    out.push_back(
        {names_of(group), group.place == Place::kLayers ? group.layers : std::vector<LayerRun>(), group.copies});
  }
  return out;
}

// One list: the number of its rules, and of those that match nothing.
struct List {
  std::string_view key;
  std::size_t rules = 0, unmatched = 0;
  std::string_view first = {};  // the first that matches nothing
};

List& list_of(std::vector<List>& lists, std::string_view key) {
  const auto found = std::find_if(lists.begin(), lists.end(), [&](const List& list) { return list.key == key; });
  if (found != lists.end()) return *found;
  lists.push_back({key});
  return lists.back();
}

}  // namespace

std::vector<std::string> names_of(const TensorGroup& group) {
  return group.names.empty() ? std::vector<std::string>{group.module} : group.names;
}

std::vector<Note> notes_of_unmatched(const WeightModel& model, const RuleBook& book) {
  std::vector<List> lists;
  for (const SchemeRule& rule : model.quantization.rules) ++list_of(lists, rule.list).rules;
  for (const SchemeRule* rule : book.unmatched(modules_of(model))) {
    if (names_unpacked(rule->pattern) || names_layer(rule->pattern, model.num_layers)) continue;
    List& list = list_of(lists, rule->list);
    if (list.unmatched++ == 0) list.first = rule->pattern;
  }
  std::vector<Note> out;
  for (const List& list : lists) {
    if (list.unmatched == 0) continue;
    const NoteLevel level = 2 * list.unmatched > list.rules ? NoteLevel::kWarning : NoteLevel::kInfo;
    out.push_back(
        {level,
         "unmatched_modules",
         {"{unmatched} of {names} names in \"{key}\" of the quantization config match no module of this model "
          "(first: \"{first}\"): they are not applied",
          {{"unmatched", list.unmatched},
           {"names", list.rules},
           {"key", list.key},
           {"first", one_line(list.first, 60)}}}});
  }
  return out;
}

}  // namespace kvplan
