// What the rules of GGUF architectures share: keys with their prefix, a record of what was read, values per layer.
#ifndef KVPLAN_MODELS_GGUF_READER_H_
#define KVPLAN_MODELS_GGUF_READER_H_

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "formats/gguf.h"
#include "formulas/model.h"

namespace kvplan {

// Keys are named without the architecture's prefix: "attention.head_count" is "llama.attention.head_count".
class GgufReader {
 public:
  GgufReader(const Gguf& file, std::string_view architecture, ModelSpec& model);

  const Gguf& file() const { return file_; }
  ModelSpec& model() const { return model_; }
  std::string full(std::string_view key) const { return prefix_ + std::string(key); }

  bool contains(std::string_view key) const { return file_.contains(full(key)); }
  bool is_array(std::string_view key) const { return file_.is_array(full(key)); }
  std::optional<std::uint64_t> find(std::string_view key) const;
  std::uint64_t value_or(std::string_view key, std::uint64_t fallback) const;
  // Throws where the key is absent; `positive` also where it is zero.
  std::uint64_t required(std::string_view key) const;
  std::uint64_t positive(std::string_view key) const;
  std::optional<std::vector<std::uint64_t>> array(std::string_view key) const;
  // One value for each of block_count layers: an array of exactly so many, or a scalar for all.
  std::optional<std::vector<std::uint64_t>> per_layer(std::string_view key) const;
  // An array that covers at least the model's own layers (MTP layers may be left out of it).
  std::optional<std::vector<std::uint64_t>> pattern(std::string_view key) const;

  void derived(std::string_view key, std::uint64_t value) const;
  void fallback(std::string_view key, std::uint64_t value) const;  // what llama.cpp takes where the file is silent
  // Keys with the prefix that nobody read, without the prefix.
  std::vector<std::string> unread() const;

  std::uint64_t block_count() const { return block_count_; }
  std::uint64_t num_layers() const { return num_layers_; }  // without MTP layers
  void set_layers(std::uint64_t block_count, std::uint64_t num_nextn);

  // head_count, head_count_kv and the widths; the layers of a pure recurrence have none.
  void read_heads();
  // K and V of a layer, where the widths of windowed layers may be their own; num_kv_heads is 0 where it has none.
  Heads heads(std::uint64_t layer, bool windowed = false) const;
  std::uint64_t kv_heads(std::uint64_t layer) const { return head_count_kv_.empty() ? 0 : head_count_kv_[layer]; }
  std::uint64_t num_heads() const;  // of the first layer that has any

 private:
  void record(std::string_view key, const std::string& value) const;

  const Gguf& file_;
  std::string prefix_;
  ModelSpec& model_;
  mutable std::set<std::string, std::less<>> read_;
  std::uint64_t block_count_ = 0;
  std::uint64_t num_layers_ = 0;
  std::vector<std::uint64_t> head_count_, head_count_kv_;
  std::uint64_t key_length_ = 0, value_length_ = 0, key_length_swa_ = 0, value_length_swa_ = 0;
};

}  // namespace kvplan

#endif  // KVPLAN_MODELS_GGUF_READER_H_
