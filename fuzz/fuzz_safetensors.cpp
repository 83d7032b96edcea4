// The safetensors readers: any bytes become tensors within the file, or an Error.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "formats/safetensors.h"
#include "kvplan/error.h"
#include "sources/load.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span<const std::byte> bytes = std::as_bytes(std::span(data, size));
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  std::uint64_t sum = 0;
  const auto visit = [&](const kvplan::SafeTensor& tensor) {
    kvplan::component_of(tensor.name, 32);
    if (tensor.bytes > size * 16) __builtin_trap();
    sum += tensor.bytes;
  };
  try {
    // The file is at most sixteen times as large as the input; its data is a hole.
    kvplan::parse_safetensors(bytes, std::uint64_t{16} * size, visit);
    if (sum > std::uint64_t{16} * size) __builtin_trap();
  } catch (const kvplan::Error&) {
  }
  try {
    kvplan::parse_safetensors_header(text, 1U << 20, [](const kvplan::SafeTensor&) {});
  } catch (const kvplan::Error&) {
  }
  try {
    kvplan::parse_safetensors_index(text);
  } catch (const kvplan::Error&) {
  }
  return 0;
}
