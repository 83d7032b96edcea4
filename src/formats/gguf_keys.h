// A GGUF header under Hugging Face's keys: a table of keys, and functions for what a table cannot translate.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "formats/fields.h"
#include "formats/gguf.h"

namespace kvplan {

// Which recurrence the keys "ssm.*", "kda.*" and "wkv.*" are for in an architecture.
enum class GgufRecurrence { kNone, kMamba1, kMamba2, kDeltaNet, kKda, kShortConv, kRwkv };

// Keys of the file are given without the architecture's prefix: "attention.head_count" means
// "llama.attention.head_count".
class GgufKeys {
 public:
  GgufKeys(const Gguf& file, std::string_view architecture);

  const Gguf& file() const { return file_; }
  std::string full(std::string_view own) const { return prefix_ + std::string(own); }
  bool contains(std::string_view own) const { return file_.contains(full(own)); }
  bool is_array(std::string_view own) const { return file_.is_array(full(own)); }
  std::uint64_t number(std::string_view own, std::uint64_t fallback = 0) const;
  // Throws if the key is absent or zero.
  std::uint64_t positive(std::string_view own) const;
  // One value per layer, from a number for all layers or from an array with an entry for each block. Entries of MTP
  // blocks may be missing.
  std::vector<std::uint64_t> per_layer(std::string_view own) const;
  std::vector<std::string> all() const;

  // MTP layers follow the model's own, and block_count includes them.
  void set_layers(std::uint64_t block_count, std::uint64_t num_nextn);
  std::uint64_t num_layers() const { return num_layers_; }

  // Translates every key of the table that the file has.
  void translate(GgufRecurrence recurrence);

  // Adds a key: `key` is Hugging Face's, `own` the file's key that it comes from.
  void set(std::string_view key, std::uint64_t value, std::string_view own, Origin origin = Origin::kFile);
  void set(std::string_view key, const std::vector<std::uint64_t>& values, std::string_view own,
           Origin origin = Origin::kFile);
  // Adds words for values that the file gives as numbers. `fallback` is llama.cpp's default.
  void set(std::string_view key, const std::vector<std::string_view>& words, std::string_view own,
           std::uint64_t fallback);
  bool has(std::string_view key) const;  // a key without a path
  // The file's value, as reports show it.
  std::string text(std::string_view own) const;

  Fields fields() const;

 private:
  template <class Value>
  void put(std::string_view key, const Value& value, std::string_view own, std::string shown, Origin origin);
  // Records which of the file's keys the value of a key comes from.
  void name(std::string_view key, std::string_view own);
  void translate_heads(GgufRecurrence recurrence);
  void translate_latent();

  const Gguf& file_;
  std::string prefix_;
  std::uint64_t block_count_ = 0, num_layers_ = 0;
  std::shared_ptr<Fields::Document> document_;
};

}  // namespace kvplan
