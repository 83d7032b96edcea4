// How an engine's classes change a checkpoint's tensors: the rows of one table per engine (ENGINE/tensor_edits.cpp),
// and their interpreter.
//
// A row has the models, the change, its source and a condition. For example, Lfm2's routers have a bias that files
// store as a buffer, unless the config switches it off:
//
//   {"Lfm2MoeForCausalLM", AddBeside{"<routers>", "expert_bias", {.rows = 1}}, "models/lfm2_moe.py",
//    {.unless = "use_expert_bias=false"}},
//
// Words select tensors: the end of a module's name ("self_attn.k_proj"), its beginning ("audio_tower.*"), a part of it
// ("*.indexer.*") or a kind of tensor ("<routers>"; tensor_edits.cpp lists the kinds). "-word" excludes tensors.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "engines/engine.h"

namespace kvplan {

// The models of a row: class names separated by spaces (for MLX, modules), "" for all; or architectures.
struct Archs {
  std::array<Arch, 4> any{};
};
struct AllBut {
  std::array<Arch, 4> none{};
};
using Models = std::variant<std::string_view, Archs, AllBut>;
bool is_for(const Models& models, std::string_view class_name, Arch arch);

// The elements of an added tensor, computed from the tensor next to it: (rows * its rows + columns * its columns) /
// over + plus.
struct AddedElements {
  std::uint64_t rows = 0, columns = 0, plus = 0, over = 1;
  bool per_head = false;  // also divided by the tensor's heads; a tensor without heads is skipped
};
// How ranks split an added tensor: every rank has all of it, or it is split like the rows or the columns of the tensor
// next to it.
enum class SplitLike : std::uint8_t { kNone, kRows, kColumns };
// Whether the output projection shares the embedding's tensor: always, never, or by tie_word_embeddings with this
// default.
enum class HeadRule : std::uint8_t { kOwn, kTied, kOwnByDefault, kTiedByDefault };

// The possible changes. `of` selects the tensors.
struct DropTensors {
  std::string_view of;
};
struct DropTowers {};
template <auto Member>
struct SetMember {
  std::string_view of;
  std::remove_reference_t<decltype(std::declval<TensorGroup&>().*Member)> value;
};
using KeepAs = SetMember<&TensorGroup::kept>;
using InFloat32 = SetMember<&TensorGroup::is_float32>;
using SetRole = SetMember<&TensorGroup::role>;
using SplitBy = SetMember<&TensorGroup::split>;
using SetRows = SetMember<&TensorGroup::rows>;
using SetColumns = SetMember<&TensorGroup::columns>;
struct SetHead {
  HeadRule rule;
};
// For tensors that only some layers of the checkpoint have.
struct PutInEveryLayer {
  std::string_view of;
};
// Pads each rank's part along the split dimension.
struct PadParts {
  std::string_view of;
  std::uint64_t multiple;
  bool pads_uneven = false;  // even if the ranks' parts are not equal
};
// A buffer of the whole model.
struct AddBuffer {
  std::string_view name;
  std::uint64_t elements;
};
// A vector for each selected tensor of the main model, in the same layers and with as many copies.
struct AddBeside {
  std::string_view of, name;
  AddedElements elements;
  bool is_float32 = false;
  SplitLike split = SplitLike::kNone;
  bool is_stored = false;  // a parameter, listed under "other" because it is not computed from other tensors
};
// A copy of each selected tensor of the main model, with columns * times / over columns.
struct AddCopy {
  std::string_view of, name;
  std::uint64_t times, over;
};
using Change = std::variant<DropTensors, DropTowers, KeepAs, InFloat32, SetRole, SplitBy, SetRows, SetColumns, SetHead,
                            PutInEveryLayer, PadParts, AddBuffer, AddBeside, AddCopy, void (*)(EngineTensors&)>;

// When a row applies: from release `since` until before `until`, if `holds` returns true.
template <class... Facts>
struct When {
  Release since{}, until = kNoEnd;
  bool (*holds)(const Facts&...) = nullptr;
  std::string_view unless{};  // for tensors: only if the decoder's config has "key=value", or a key ("key")
};
template <class... Facts>
bool holds(const When<Facts...>& when, const Request& request, const Facts&... facts) {
  const Release release = release_of(request);
  return release >= when.since && release < when.until && (when.holds == nullptr || when.holds(facts...));
}
struct TensorEdit {
  Models models;
  Change change;
  std::string_view source{};  // "file: what it does"
  When<EngineTensors> when{};
};

// Applies the matching rows, in order. `class_name` is what the engine runs: the config's class, or a module.
void edit_tensors(std::span<const TensorEdit> rows, std::string_view class_name, EngineTensors& model);
void edit_tensors(const Change& change, EngineTensors& model);

// For changes that are functions.
bool selects(std::string_view words, const TensorGroup& group);
TensorGroup* find_tensor(EngineTensors& model, std::string_view module);
// A value in the decoder's config file as JSON text; "" if it is absent.
std::string_view stated(const EngineTensors& model, std::string_view key);
// A number of the config, by the end of its key.
std::uint64_t stated_number(const EngineTensors& model, std::string_view key, std::uint64_t otherwise);
void drop_tensors(EngineTensors& model, std::string_view of);
void drop_towers(EngineTensors& model);
void set_head(EngineTensors& model, HeadRule rule);
// A tensor that the engine computes. It is on the first stage.
TensorGroup derived_tensor(std::string_view name, std::uint64_t rows, std::uint64_t columns = 1);
// A vector for each layer and each copy of `group`.
TensorGroup derived_beside(const TensorGroup& group, std::string_view name, std::uint64_t elements,
                           bool is_float32 = false);

// A rotary table as a class stores it. The first row that applies decides.
struct AngleRow {
  Models models;
  std::uint64_t tables = 1;       // copies of the angles of all positions
  std::uint64_t frequencies = 0;  // copies of the inverse frequencies, in float32
  bool is_float32 = false;        // the angles are in float32, whatever type the engine computes in
  std::string_view source{};
  When<RotaryTable, SideTensorsInput> when{};
  std::uint64_t most_positions = ~std::uint64_t{0};
};
inline bool of_indexer(const RotaryTable& table, const SideTensorsInput&) {
  return table.of_indexer;
}
inline bool of_images(const RotaryTable& table, const SideTensorsInput&) {
  return table.is_multimodal;
}
Bytes angle_bytes(std::span<const AngleRow> rows, const RotaryTable& table, const SideTensorsInput& input,
                  std::uint64_t element);

// How MXFP4 experts are padded: the first row that applies decides.
struct Mxfp4Row {
  Mxfp4Layout layout;
  std::string_view source{};
  When<Request> when{};
};
Mxfp4Layout mxfp4_layout(std::span<const Mxfp4Row> rows, const Request& request);

// The rows of a table above that depend on the release, for `kvplan engines ENGINE --rules`.
template <class Row, std::size_t N>
void add_rule_rows(const Row (&table)[N], std::vector<RuleRow>& out) {
  for (const Row& row : table) {
    if (row.when.since == Release{} && row.when.until == kNoEnd) continue;
    const std::size_t colon = row.source.find(": ");
    const bool has_file = colon != std::string_view::npos;
    out.push_back(rule_row(row.when.since, row.when.until, 1, true, row.source.substr(has_file ? colon + 2 : 0),
                           has_file ? row.source.substr(0, colon) : "", RuleBasis::kRead));
  }
}

}  // namespace kvplan
