#include "engines/tensor_edits.h"

#include <algorithm>
#include <set>
#include <utility>

#include "kvplan/strings.h"

namespace kvplan {

namespace {

bool is_kind(std::string_view word, const TensorGroup& group) {
  const bool is_linear = group.role == TensorRole::kLinear;
  if (word == "<routers>") return is_linear && group.component == Component::kRouter;
  if (word == "<experts>") return is_linear && group.is_expert;
  if (word == "<shared-experts>") return is_linear && group.component == Component::kSharedExperts;
  if (word == "<matrices>") return is_linear && group.place == Place::kLayers;
  if (word == "<expert-biases>") return group.role == TensorRole::kPlain && group.is_expert;
  if (word == "<norms>") return group.component == Component::kNorms;
  if (word == "<mtp>") return group.component == Component::kMtp;
  if (word == "<vocabulary>") return group.split == Split::kVocab;
  if (word == "<derived>") return group.is_derived;
  return word == "<all>";
}

bool fits_word(std::string_view word, const TensorGroup& group) {
  if (word.starts_with('<')) return is_kind(word, group);
  const std::string_view name = group.module;
  if (word.starts_with('*')) return name.find(word.substr(1, word.size() - 2)) != std::string_view::npos;
  if (word.ends_with('*')) return name.starts_with(word.substr(0, word.size() - 1));
  return name.ends_with(word) && (name.size() == word.size() || name[name.size() - word.size() - 1] == '.');
}

bool is_said(const EngineTensors& model, std::string_view words) {
  if (words.empty()) return false;
  const std::size_t equals = words.find('=');
  const std::string_view value = stated(model, words.substr(0, equals));
  return equals == std::string_view::npos ? !value.empty() : value == words.substr(equals + 1);
}

std::uint64_t elements_of(const AddedElements& size, const TensorGroup& beside) {
  const std::uint64_t sides = checked_mul(size.rows, beside.rows, "an added tensor") +
                              checked_mul(size.columns, beside.columns, "an added tensor");
  return sides / size.over / (size.per_head ? beside.units : 1) + size.plus;
}

Split split_like(SplitLike how, Split split) {
  if (how == SplitLike::kRows && split == Split::kRows) return Split::kRows;
  return how == SplitLike::kColumns && split == Split::kColumns ? Split::kRows : Split::kNone;
}

// Applies one change to a model.
struct Editor {
  EngineTensors& model;

  template <class Edit>
  void each(std::string_view of, const Edit& edit) const {
    for (TensorGroup& group : model.tensors)
      if (selects(of, group)) edit(group);
  }
  template <class Make>
  void add(std::string_view of, const Make& make) const {
    std::vector<TensorGroup> more;
    each(of, [&](const TensorGroup& group) {
      if (group.component != Component::kMtp) more.push_back(make(group));
    });
    std::erase_if(more, [](const TensorGroup& group) { return group.rows == 0; });
    std::move(more.begin(), more.end(), std::back_inserter(model.tensors));
  }

  void operator()(void (*change)(EngineTensors&)) const { change(model); }
  void operator()(const DropTensors& change) const { drop_tensors(model, change.of); }
  void operator()(const DropTowers&) const { drop_towers(model); }
  void operator()(const SetHead& change) const { set_head(model, change.rule); }
  template <auto Member>
  void operator()(const SetMember<Member>& change) const {
    each(change.of, [&](TensorGroup& group) { group.*Member = change.value; });
  }
  void operator()(const PutInEveryLayer& change) const {
    std::set<std::string> done;
    std::erase_if(model.tensors, [&](TensorGroup& group) {
      if (group.component == Component::kMtp || !selects(change.of, group)) return false;
      group.layers = {{0, model.num_layers, 1}};
      return !done.insert(group.module).second;
    });
  }
  void operator()(const PadParts& change) const {
    const std::uint64_t ranks = std::max<std::uint64_t>(1, model.request->parallel.tensor);
    each(change.of, [&](TensorGroup& group) {
      std::uint64_t& width = group.split == Split::kColumns ? group.columns : group.rows;
      if (width % ranks != 0 && !change.pads_uneven) return;
      const std::uint64_t part = round_up(ceil_div(width, ranks), change.multiple, "an expert's width");
      width = checked_mul(part, ranks, "an expert's width");
    });
  }
  void operator()(const AddBuffer& change) const {
    model.tensors.push_back(derived_tensor(change.name, change.elements));
  }
  void operator()(const AddBeside& change) const {
    add(change.of, [&](const TensorGroup& group) {
      const bool is_none = change.elements.per_head && group.units == 0;
      TensorGroup out =
          derived_beside(group, change.name, is_none ? 0 : elements_of(change.elements, group), change.is_float32);
      out.is_expert = group.is_expert;
      out.split = split_like(change.split, group.split);
      out.is_derived = !change.is_stored;
      if (change.is_stored) out.component = Component::kOther;
      return out;
    });
  }
  void operator()(const AddCopy& change) const {
    add(change.of, [&](const TensorGroup& group) {
      TensorGroup copy = group;
      copy.role = TensorRole::kPlain;
      copy.module += "." + std::string(change.name);
      copy.columns = checked_mul(group.columns, change.times, "a copy") / change.over;
      copy.is_derived = true;
      return copy;
    });
  }
};

}  // namespace

bool is_for(const Models& models, std::string_view class_name, Arch arch) {
  const auto has = [&](const std::array<Arch, 4>& list) {
    return arch != Arch::kOther && std::find(list.begin(), list.end(), arch) != list.end();
  };
  if (const auto* archs = std::get_if<Archs>(&models)) return has(archs->any);
  if (const auto* archs = std::get_if<AllBut>(&models)) return !has(archs->none);
  const std::string_view classes = std::get<std::string_view>(models);
  return classes.empty() || has_word(classes, class_name);
}

void edit_tensors(std::span<const TensorEdit> rows, std::string_view class_name, EngineTensors& model) {
  for (const TensorEdit& row : rows)
    if (is_for(row.models, class_name, model.arch) && holds(row.when, *model.request, model) &&
        !is_said(model, row.when.unless))
      edit_tensors(row.change, model);
}

void edit_tensors(const Change& change, EngineTensors& model) {
  std::visit(Editor{model}, change);
}

bool selects(std::string_view words, const TensorGroup& group) {
  bool out = false;
  for (const std::string_view word : split(words)) {
    if (!word.starts_with('-'))
      out = out || fits_word(word, group);
    else if (fits_word(word.substr(1), group))
      return false;
  }
  return out;
}

TensorGroup* find_tensor(EngineTensors& model, std::string_view module) {
  const auto found = std::find_if(model.tensors.begin(), model.tensors.end(),
                                  [&](const TensorGroup& group) { return group.module == module; });
  return found == model.tensors.end() ? nullptr : &*found;
}

std::string_view stated(const EngineTensors& model, std::string_view key) {
  for (const ConfigFact& fact : model.facts)
    if ((fact.origin == Origin::kFile || fact.origin == Origin::kAlias) &&
        (fact.key == key || fact.key.ends_with("." + std::string(key))))
      return fact.value;
  return "";
}

std::uint64_t stated_number(const EngineTensors& model, std::string_view key, std::uint64_t otherwise) {
  return whole_number(stated(model, key)).value_or(otherwise);
}

void drop_tensors(EngineTensors& model, std::string_view of) {
  std::erase_if(model.tensors, [&](const TensorGroup& group) { return selects(of, group); });
}

void drop_towers(EngineTensors& model) {
  const auto drop = [](auto& parts) {
    std::erase_if(parts, [](const auto& part) { return is_tower(part.component); });
  };
  drop(model.tensors);
  drop(model.unknown);
}

void set_head(EngineTensors& model, HeadRule rule) {
  const bool by_default = rule == HeadRule::kTied || rule == HeadRule::kTiedByDefault;
  const bool is_fixed = rule == HeadRule::kTied || rule == HeadRule::kOwn;
  for (TensorGroup& group : model.tensors)
    if (group.role == TensorRole::kHead) group.is_tied = is_fixed ? by_default : model.ties_head.value_or(by_default);
}

TensorGroup derived_tensor(std::string_view name, std::uint64_t rows, std::uint64_t columns) {
  TensorGroup out;
  out.role = TensorRole::kPlain;
  out.module = name;
  out.place = Place::kFirst;
  out.rows = rows;
  out.columns = columns;
  out.is_derived = true;
  return out;
}

TensorGroup derived_beside(const TensorGroup& group, std::string_view name, std::uint64_t elements, bool is_float32) {
  TensorGroup out = derived_tensor(group.module + "." + std::string(name), elements);
  out.component = group.component;
  out.layers = group.layers;
  out.place = group.place;
  out.copies = group.copies;
  out.used = group.used;
  out.is_float32 = is_float32;
  return out;
}

Bytes angle_bytes(std::span<const AngleRow> rows, const RotaryTable& table, const SideTensorsInput& input,
                  std::uint64_t element) {
  const auto found = std::find_if(rows.begin(), rows.end(), [&](const AngleRow& row) {
    return is_for(row.models, input.architecture, input.arch) && holds(row.when, *input.request, table, input);
  });
  const AngleRow row = found == rows.end() ? AngleRow{} : *found;
  const std::uint64_t positions = std::min(table.positions, row.most_positions);
  return Bytes(checked_mul(positions, row.tables, "the positions of a rotary table")) * table.width *
             (row.is_float32 ? 4 : element) +
         Bytes(table.width / 2 * 4) * row.frequencies;
}

Mxfp4Layout mxfp4_layout(std::span<const Mxfp4Row> rows, const Request& request) {
  const auto found =
      std::find_if(rows.begin(), rows.end(), [&](const Mxfp4Row& row) { return holds(row.when, request, request); });
  return found == rows.end() ? Mxfp4Layout{} : found->layout;
}

}  // namespace kvplan
