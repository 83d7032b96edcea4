// What a family function works with: the config, the model under construction, and the readings that most families
// share. A family decides which mixer each layer has; everything here is about fields.
#ifndef KVPLAN_MODELS_READER_H_
#define KVPLAN_MODELS_READER_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/fields.h"
#include "formulas/model.h"
#include "models/pattern.h"

namespace kvplan {

// More layers than any model has (the deepest merges have some 320); a config that says 2^60 must be an error, not a
// loop, and a search of what fits walks over all of them some hundred times.
inline constexpr std::uint64_t kMaxLayers = 512;
// `layers`, or an error where it is more than that. For keys other than num_hidden_layers, which every config is
// asked for anyway.
std::uint64_t check_layers(std::uint64_t layers, std::string_view key);

// factor * width as a whole number; Error where the factor (named `key`) is not in (0, 1024].
std::uint64_t scaled_width(double factor, std::uint64_t width, std::string_view key);

struct Reader {
  Fields root;  // the whole file
  Fields text;  // the decoder's part of it, with its class's defaults; the root itself where nothing is nested
  ModelSpec& model;

  // num_hidden_layers and its aliases, else the length of the pattern. Error where neither is there.
  std::uint64_t num_layers() const;
  void warn(std::string_view code, std::string message) const;
  void inform(std::string_view code, std::string message) const;
};

// num_heads, num_kv_heads, head_dim and v_head_dim of `config`, with the usual derivations: KV heads default to the
// heads, head_dim to hidden_size / num_attention_heads, v_head_dim to head_dim. Error where KV heads do not divide
// the heads.
Heads read_heads(const Fields& config);
// The same over keys of other names; absent ones fall back to `base`.
struct HeadKeys {
  std::string_view num_heads, num_kv_heads, head_dim, v_head_dim;
};
Heads read_heads(const Fields& config, const HeadKeys& keys, const Heads& base);
// `whole_groups`: the KV heads divide the heads. A GGUF may say otherwise: llama.cpp takes it.
void check_heads(const Heads& heads, bool whole_groups = true);

// The first of the keys with a number above zero.
std::uint64_t first_count(const Fields& config, std::initializer_list<std::string_view> keys,
                          std::uint64_t fallback = 0);

// The window: sliding_window and its aliases. 0 where it is absent, null or zero.
Tokens read_window(const Fields& config);

// For each layer, whether the list of that name has its number; none where there is no list.
std::vector<bool> listed_layers(const Fields& config, std::string_view key, std::uint64_t layers);

// Keys of a file as part of a sentence: the first of them, since a file may have any number.
std::string first_named(const std::vector<std::string>& keys);

// What per_layer_config says of one layer, under the layer's number.
std::optional<Fields> layer_config(const Fields& config, std::uint64_t layer);

// What single layers have of their own: per_layer_config {"5": {"head_dim": 512, "num_key_value_heads": 2}}, and lists
// of heads (Laguna's windows have more query heads; DeciLM's search gave each layer its own KV heads).
class LayerHeads {
 public:
  explicit LayerHeads(const Fields& config);
  Heads of(std::uint64_t layer, Heads heads) const;

 private:
  Fields config_;
  std::optional<std::vector<std::uint64_t>> queries_, keys_;
};

// The mixer for an attention label: full, sliding, chunked or sink. A window at or beyond the model's maximum length
// is full attention.
Mixer attention_mixer(const Reader& reader, Label label, const Heads& heads, Tokens window);

// Attention of one heads' shape where layers see everything, and of another in windows; single layers may have their
// own.
void push_attention(Reader& reader, const std::vector<Label>& labels, const Heads& full, const Heads& sliding);

// A whole decoder of plain attention: labels from the pattern, heads the same in every layer but for overrides.
void read_decoder(Reader& reader, const PatternRule& rule);

// Experts are as wide as the dense MLP where the config has no width of their own.
ExpertShape read_experts(const Fields& text, std::uint64_t intermediate_size);

// Mamba fields in all spellings. `hidden_size` gives the inner width where only an expansion factor is named.
Ssm read_mamba1(const Fields& config, bool is_alone = false);  // without attention beside it
Ssm read_mamba2(const Fields& config);

// Layers of two lists of labels: attention and a recurrent mixer, side by side in kHybrid layers.
void read_hybrid(Reader& reader, const PatternRule& rule, const Mixer& recurrent);

// Lists that are something else would be no lists at all: every layer would be read as the first. Error(kBadInput).
void refuse_layers_that_are_no_list(const Fields& text);

// A list with an entry for each layer that ends before the layers do is an Error(kBadInput); a list of layers that
// names one beyond the last is a warning: the engines skip it, and the config may have been cut short.
void check_layer_lists(const Reader& reader);

}  // namespace kvplan

#endif  // KVPLAN_MODELS_READER_H_
