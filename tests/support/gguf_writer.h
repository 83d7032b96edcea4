// Writes small GGUF files in memory, valid or not, in either byte order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kvplan {

class GgufWriter {
 public:
  struct Tensor {
    std::string name;
    std::vector<std::uint64_t> dims;
    std::uint32_t type = 0;
    std::uint64_t bytes = 0;  // that the file has for it
  };

  explicit GgufWriter(std::string_view architecture, bool big_endian = false, std::uint32_t version = 3)
      : architecture_(architecture), big_(big_endian), version_(version) {
    text("general.architecture", architecture);
  }
  // For a file without an architecture (a later part of a split set).
  GgufWriter() = default;

  // Keys that start with a dot get the architecture before it.
  GgufWriter& u32(std::string_view key, std::uint32_t value) { return scalar(key, 4, value, 4); }
  GgufWriter& i32(std::string_view key, std::int32_t value) {
    return scalar(key, 5, static_cast<std::uint32_t>(value), 4);
  }
  GgufWriter& u16(std::string_view key, std::uint16_t value) { return scalar(key, 2, value, 2); }
  GgufWriter& u64(std::string_view key, std::uint64_t value) { return scalar(key, 10, value, 8); }
  GgufWriter& f32(std::string_view key, std::uint32_t bits) { return scalar(key, 6, bits, 4); }
  GgufWriter& text(std::string_view key, std::string_view value) {
    put_key(key, 8);
    put_string(metadata_, value);
    return *this;
  }
  GgufWriter& array(std::string_view key, const std::vector<std::int32_t>& values) {
    put_array(key, 5, values.size());
    for (const std::int32_t value : values) put(metadata_, static_cast<std::uint32_t>(value), 4);
    return *this;
  }
  GgufWriter& bools(std::string_view key, const std::vector<bool>& values) {
    put_array(key, 7, values.size());
    for (const bool value : values) put(metadata_, value ? 1 : 0, 1);
    return *this;
  }
  GgufWriter& strings(std::string_view key, std::uint64_t count, std::string_view each) {
    put_array(key, 8, count);
    for (std::uint64_t i = 0; i < count; ++i) put_string(metadata_, each);
    return *this;
  }
  // A key with any type and any content.
  GgufWriter& raw(std::string_view key, std::uint32_t type, std::string_view body) {
    put_key(key, type);
    metadata_ += body;
    return *this;
  }
  GgufWriter& tensor(Tensor tensor) {
    tensors_.push_back(std::move(tensor));
    return *this;
  }
  GgufWriter& claim_tensors(std::uint64_t count) {
    claimed_tensors_ = count;
    return *this;
  }
  GgufWriter& claim_keys(std::uint64_t count) {
    claimed_keys_ = count;
    return *this;
  }

  std::string file() const {
    std::string out = header();
    out.resize(out.size() + data_bytes());
    return out;
  }
  // The file up to the start of the tensors' data.
  std::string header() const {
    std::string out = "GGUF";
    put(out, version_, 4);
    put(out, claimed_tensors_ != kHonest ? claimed_tensors_ : tensors_.size(), 8);
    put(out, claimed_keys_ != kHonest ? claimed_keys_ : keys_, 8);
    out += metadata_;
    std::uint64_t offset = 0;
    for (const Tensor& tensor : tensors_) {
      put_string(out, tensor.name);
      put(out, tensor.dims.size(), 4);
      for (const std::uint64_t dim : tensor.dims) put(out, dim, 8);
      put(out, tensor.type, 4);
      put(out, offset, 8);
      offset += padded(tensor.bytes);
    }
    if (!tensors_.empty()) out.resize(padded(out.size()));
    return out;
  }
  std::uint64_t data_bytes() const {
    std::uint64_t out = 0;
    for (const Tensor& tensor : tensors_) out += padded(tensor.bytes);
    return out;
  }

 private:
  static constexpr std::uint64_t kHonest = ~std::uint64_t{0};
  static std::uint64_t padded(std::uint64_t bytes) { return (bytes + 31) / 32 * 32; }

  void put(std::string& out, std::uint64_t value, unsigned size) const {
    for (unsigned i = 0; i < size; ++i) out += static_cast<char>(value >> 8 * (big_ ? size - 1 - i : i) & 0xFF);
  }
  void put_string(std::string& out, std::string_view text) const {
    put(out, text.size(), 8);
    out += text;
  }
  void put_key(std::string_view key, std::uint32_t type) {
    put_string(metadata_, key.starts_with('.') ? architecture_ + std::string(key) : std::string(key));
    put(metadata_, type, 4);
    ++keys_;
  }
  void put_array(std::string_view key, std::uint32_t element, std::uint64_t count) {
    put_key(key, 9);
    put(metadata_, element, 4);
    put(metadata_, count, 8);
  }
  GgufWriter& scalar(std::string_view key, std::uint32_t type, std::uint64_t value, unsigned size) {
    put_key(key, type);
    put(metadata_, value, size);
    return *this;
  }

  std::string architecture_;
  bool big_ = false;
  std::uint32_t version_ = 3;
  std::string metadata_;
  std::uint64_t keys_ = 0;
  std::vector<Tensor> tensors_;
  std::uint64_t claimed_tensors_ = kHonest, claimed_keys_ = kHonest;
};

inline std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

// The keys of a small Llama; the caller may add more.
inline GgufWriter small_llama_gguf() {
  GgufWriter out("llama");
  out.u32(".block_count", 2)
      .u32(".embedding_length", 64)
      .u32(".context_length", 2048)
      .u32(".attention.head_count", 4)
      .u32(".vocab_size", 100);
  return out;
}

}  // namespace kvplan
