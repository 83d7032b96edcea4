// What a family's functions use: the config, the model under construction, and readers that most families share. A
// family decides which mixer each layer has. Everything here is about fields.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "formats/fields.h"
#include "formulas/model.h"
#include "models/pattern.h"

namespace kvplan {

// More layers than any model has: the deepest merges have some 320. A config with 2^60 layers must be an error, not an
// endless loop, and a search visits all layers about a hundred times.
inline constexpr std::uint64_t kMaxLayers = 512;
// Returns `layers`, or throws if there are more than kMaxLayers. For keys other than num_hidden_layers, which is always
// checked.
std::uint64_t check_layers(std::uint64_t layers, std::string_view key);

// factor * width as a whole number; Error if the factor (named `key`) is outside of (0, 1024].
std::uint64_t scaled_width(double factor, std::uint64_t width, std::string_view key);

struct Reader {
  Fields root;  // the whole file
  Fields text;  // its decoder's part, with its class's defaults; the root itself if nothing is nested
  ModelSpec& model;

  // num_hidden_layers or an alias, or else the length of the pattern. Throws Error if both are absent.
  std::uint64_t num_layers() const;
  void add(Layer layer) { model.layers.push_back(std::move(layer)); }
  void warn(std::string_view code, std::string message) const;
  void inform(std::string_view code, std::string message) const;
};

// num_heads, num_kv_heads, head_dim and v_head_dim of `config`, with the usual defaults: KV heads default to the heads,
// head_dim to hidden_size / num_attention_heads, v_head_dim to head_dim. Error if KV heads do not divide the heads.
Heads read_heads(const Fields& config);
// As read_heads, under other keys. Absent ones fall back to `base`.
struct HeadKeys {
  std::string_view num_heads, num_kv_heads, head_dim, v_head_dim;
};
Heads read_heads(const Fields& config, const HeadKeys& keys, const Heads& base);
// `whole_groups`: the KV heads must divide the heads. A GGUF does not have to, because llama.cpp accepts it.
void check_heads(const Heads& heads, bool whole_groups = true);

// The first of the keys whose number is above zero.
std::uint64_t first_count(const Fields& config, std::initializer_list<std::string_view> keys,
                          std::uint64_t fallback = 0);

// The window: sliding_window or an alias. 0 if it is absent, null or zero.
Tokens read_window(const Fields& config);

// For each layer, whether the list under `key` contains its number; empty if there is no list.
std::vector<bool> listed_layers(const Fields& config, std::string_view key, std::uint64_t layers);

// The keys of a file, for a message: only the first ones, because a file may have any number.
std::string first_named(const std::vector<std::string>& keys);

// The entry of per_layer_config for one layer, under the layer's number.
std::optional<Fields> layer_config(const Fields& config, std::uint64_t layer);

// Overrides for single layers: per_layer_config {"5": {"head_dim": 512, "num_key_value_heads": 2}}, and lists of heads.
// Laguna's windows have more query heads, and in DeciLM each layer has its own KV heads.
class LayerHeads {
 public:
  explicit LayerHeads(const Fields& config);
  Heads of(std::uint64_t layer, Heads heads) const;

 private:
  Fields config_;
  std::optional<std::vector<std::uint64_t>> queries_, keys_;
};

// Layers [first, last) run `passes` times; every pass after the first has a separate cache.
void repeat_layers(Reader& reader, std::uint64_t first, std::uint64_t last, std::uint64_t passes);

// The mixer for an attention label: full, sliding, chunked or sink. A window at least as long as the model's maximum
// length is full attention.
Mixer attention_mixer(const Reader& reader, Label label, const Heads& heads, Tokens window);

// Attention with one shape of heads in full layers and another in windows. Single layers may override it.
void push_attention(Reader& reader, const std::vector<Label>& labels, const Heads& full, const Heads& sliding);

// A whole decoder of plain attention: labels by the pattern, and the same heads in every layer, except for overrides.
void read_decoder(Reader& reader, const PatternRule& rule);

// Experts have the dense MLP's width if the config does not give theirs.
ExpertShape read_experts(const Fields& text, std::uint64_t intermediate_size);

// Mamba fields in all spellings. `hidden_size` determines the inner width if only an expansion factor is given.
Ssm read_mamba1(const Fields& config, bool is_alone = false);  // in a model without attention
Ssm read_mamba2(const Fields& config);

// Layers with attention, a recurrent mixer, or both in parallel (kHybrid), by their labels.
void read_hybrid(Reader& reader, const PatternRule& rule, const Mixer& recurrent);

// Throws Error(kBadInput) if a key that must be a list is something else. If kvplan ignored that, it would read every
// layer like the first.
void refuse_layers_that_are_no_list(const Fields& text);

// Throws Error(kBadInput) for a list with too few entries for the layers. If a list of layers names one beyond the
// last, there is a warning: engines skip it, and the config may have been cut short.
void check_layer_lists(const Reader& reader);

// Whether a model is for embeddings or scores rather than for generating.

void read_purpose(Reader& reader);

// The rotary tables that a config needs.

// Tables of the decoder's attention layers, each distinct one once. Empty if the decoder has no rotation, or if that is
// not known for its class. reader.model.layers must be filled.
std::vector<RotaryTable> read_rotary_tables(const Reader& reader);
// The rotation of a model whose tables are known. Nothing if it has several, or if it is scaled.
std::optional<PlainRotation> read_plain_rotation(const Reader& reader);

// Drafts that are not a whole model: EAGLE's layer and Medusa's heads.

struct DraftRole;  // models/read.h

// Whether the config describes Medusa heads. The second function returns the heads as a model without layers.
bool is_medusa(const Fields& root);
ModelSpec read_medusa(const Fields& root, std::string_view source, const DraftRole& role);
// Turns a small decoder into the EAGLE head that its config describes. Other drafts stay as they are.
void adapt_draft(const Fields& root, const DraftRole& role, ModelSpec& model);

}  // namespace kvplan
