#include "models/gguf_reader.h"

#include <algorithm>

#include "kvplan/error.h"

namespace kvplan {

namespace {

constexpr std::string_view kCorrect = "correct the metadata, or download the file again";

std::string json(const std::vector<std::uint64_t>& values) {
  std::string out = "[";
  for (const std::uint64_t value : values) {
    if (out.size() > 1) out += ',';
    out += std::to_string(value);
  }
  out += ']';
  return out;
}

}  // namespace

GgufReader::GgufReader(const Gguf& file, std::string_view architecture, ModelSpec& model)
    : file_(file), prefix_(std::string(architecture) + '.'), model_(model) {}

void GgufReader::record(std::string_view key, const std::string& value) const {
  if (!read_.emplace(key).second) return;
  model_.facts.push_back({full(key), value, Origin::kFile});
}

std::optional<std::uint64_t> GgufReader::find(std::string_view key) const {
  const auto value = file_.count(full(key));
  if (value) record(key, std::to_string(*value));
  return value;
}

std::uint64_t GgufReader::value_or(std::string_view key, std::uint64_t fallback_value) const {
  return find(key).value_or(fallback_value);
}

std::uint64_t GgufReader::required(std::string_view key) const {
  const auto value = find(key);
  if (!value) fail("the key \"" + one_line(full(key), 80) + "\" is missing", kCorrect);
  return *value;
}

std::uint64_t GgufReader::positive(std::string_view key) const {
  const std::uint64_t value = required(key);
  if (value == 0) fail("\"" + one_line(full(key), 80) + "\" is 0", "it must be positive: " + std::string(kCorrect));
  return value;
}

std::optional<std::vector<std::uint64_t>> GgufReader::array(std::string_view key) const {
  auto values = file_.counts(full(key));
  if (values) record(key, json(*values));
  return values;
}

std::optional<std::vector<std::uint64_t>> GgufReader::per_layer(std::string_view key) const {
  if (!contains(key)) return std::nullopt;
  if (!is_array(key)) return std::vector<std::uint64_t>(block_count_, *find(key));
  auto values = array(key);
  if (values->size() != block_count_)
    fail("\"" + one_line(full(key), 80) + "\" has " + std::to_string(values->size()) +
             " elements, and block_count is " + std::to_string(block_count_),
         kCorrect);
  return values;
}

std::optional<std::vector<std::uint64_t>> GgufReader::pattern(std::string_view key) const {
  auto values = array(key);
  if (values && values->size() < num_layers_)
    fail("\"" + one_line(full(key), 80) + "\" has " + std::to_string(values->size()) + " elements for " +
             std::to_string(num_layers_) + " layers",
         kCorrect);
  return values;
}

void GgufReader::derived(std::string_view key, std::uint64_t value) const {
  model_.facts.push_back({full(key), std::to_string(value), Origin::kDerived});
}

void GgufReader::fallback(std::string_view key, std::uint64_t value) const {
  model_.facts.push_back({full(key), std::to_string(value), Origin::kClassDefault});
}

std::vector<std::string> GgufReader::unread() const {
  std::vector<std::string> out;
  for (const std::string_view key : file_.keys())
    if (key.starts_with(prefix_) && !read_.contains(key.substr(prefix_.size())))
      out.emplace_back(key.substr(prefix_.size()));
  return out;
}

void GgufReader::set_layers(std::uint64_t block_count, std::uint64_t num_nextn) {
  block_count_ = block_count;
  num_layers_ = block_count - num_nextn;
}

void GgufReader::read_heads() {
  const auto heads = per_layer("attention.head_count");
  if (!heads) fail("the key \"" + one_line(full("attention.head_count"), 80) + "\" is missing", kCorrect);
  head_count_ = *heads;
  if (std::all_of(head_count_.begin(), head_count_.end(), [](std::uint64_t n) { return n == 0; }))
    fail("\"" + one_line(full("attention.head_count"), 80) + "\" is 0",
         "an attention has heads: " + std::string(kCorrect));
  head_count_kv_ = per_layer("attention.head_count_kv").value_or(head_count_);
  if (std::all_of(head_count_kv_.begin(), head_count_kv_.end(), [](std::uint64_t n) { return n == 0; }))
    fail("\"" + one_line(full("attention.head_count_kv"), 80) + "\" is 0",
         "an attention has KV heads: " + std::string(kCorrect));
  const auto length = [&](std::string_view key) {
    if (const auto named = find(key)) {
      if (*named == 0) fail("\"" + one_line(full(key), 80) + "\" is 0", kCorrect);
      return *named;
    }
    const std::uint64_t value = positive("embedding_length") / num_heads();
    if (value == 0)
      fail("\"" + one_line(full("embedding_length"), 80) + "\" is smaller than the number of heads", kCorrect);
    derived(key, value);
    return value;
  };
  key_length_ = length("attention.key_length");
  value_length_ = length("attention.value_length");
  key_length_swa_ = value_or("attention.key_length_swa", key_length_);
  value_length_swa_ = value_or("attention.value_length_swa", value_length_);
}

std::uint64_t GgufReader::num_heads() const {
  for (const std::uint64_t heads : head_count_)
    if (heads > 0) return heads;
  return 0;
}

Heads GgufReader::heads(std::uint64_t layer, bool windowed) const {
  Heads out;
  out.num_heads = head_count_[layer];
  out.num_kv_heads = head_count_kv_[layer];
  out.head_dim = windowed ? key_length_swa_ : key_length_;
  out.v_head_dim = windowed ? value_length_swa_ : value_length_;
  if (out.num_heads == 0 && out.num_kv_heads > 0)
    fail("layer " + std::to_string(layer) + " has " + std::to_string(out.num_kv_heads) + " KV heads and no heads",
         "correct \"" + one_line(full("attention.head_count"), 80) + "\"");
  return out;
}

}  // namespace kvplan
