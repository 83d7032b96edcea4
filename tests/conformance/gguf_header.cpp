#include "conformance/gguf_header.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "kvplan/ggml_types.h"
#include "support/gguf_writer.h"

namespace kvplan::conformance {

namespace {

// In the order of GGUF's own numbers.
constexpr std::array<std::string_view, 13> kKinds{"u8",   "i8",  "u16", "i16", "u32", "i32", "f32",
                                                  "bool", "str", "arr", "u64", "i64", "f64"};
constexpr std::array<unsigned, 13> kSizes{1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};

std::uint32_t number_of(std::string_view kind) {
  const auto* const found = std::find(kKinds.begin(), kKinds.end(), kind);
  if (found == kKinds.end()) throw std::runtime_error("no such type of a GGUF key: " + std::string(kind));
  return static_cast<std::uint32_t>(found - kKinds.begin());
}

void put(std::string& out, std::uint64_t value, unsigned size) {
  for (unsigned i = 0; i < size; ++i) out += static_cast<char>(value >> 8 * i & 0xFF);
}

// JSON has no "-Infinity", so it is written as a word.
double real(const Json& value) {
  return value.is_string() ? std::strtod(value.get<std::string>().c_str(), nullptr) : value.get<double>();
}

void put_scalar(std::string& out, std::string_view kind, const Json& value) {
  if (kind == "str") {
    const std::string text = value;
    put(out, text.size(), 8);
    out += text;
    return;
  }
  std::uint64_t bits = 0;
  if (kind == "f32")
    bits = std::bit_cast<std::uint32_t>(static_cast<float>(real(value)));
  else if (kind == "f64")
    bits = std::bit_cast<std::uint64_t>(real(value));
  else if (kind == "bool")
    bits = value.get<bool>() ? 1 : 0;
  else if (kind.starts_with('i'))
    bits = static_cast<std::uint64_t>(value.get<std::int64_t>());
  else
    bits = value.get<std::uint64_t>();
  put(out, bits, kSizes[number_of(kind)]);
}

// [type, value], or ["i32[]", values, number of repetitions].
void put_key(GgufWriter& file, const std::string& key, const Json& value) {
  const std::string kind = value.at(0);
  std::string body;
  if (!kind.ends_with("[]")) {
    put_scalar(body, kind, value.at(1));
    file.raw(key, number_of(kind), body);
    return;
  }
  const std::string of = kind.substr(0, kind.size() - 2);
  const std::uint64_t times = value.size() > 2 ? value.at(2).get<std::uint64_t>() : 1;
  put(body, number_of(of), 4);
  put(body, value.at(1).size() * times, 8);
  for (std::uint64_t i = 0; i < times; ++i)
    for (const Json& each : value.at(1)) put_scalar(body, of, each);
  file.raw(key, number_of("arr"), body);
}

// "0-2,5": 0, 1, 2, 5.
std::vector<std::uint64_t> layers_of(const std::string& runs) {
  std::vector<std::uint64_t> out;
  std::istringstream list(runs);
  for (std::string run; std::getline(list, run, ',');) {
    const std::size_t dash = run.find('-');
    const std::uint64_t low = std::stoull(run);
    const std::uint64_t high = dash == std::string::npos ? low : std::stoull(run.substr(dash + 1));
    for (std::uint64_t i = low; i <= high; ++i) out.push_back(i);
  }
  return out;
}

// [name with {i} for the layer, type, dims, layers].
void put_tensors(GgufWriter& file, const Json& row) {
  const std::string name = row.at(0);
  const std::vector<std::uint64_t> dims = row.at(2);
  const auto type = find_ggml_type(row.at(1).get<std::string>());
  if (!type) throw std::runtime_error("no such type of a tensor: " + row.at(1).get<std::string>());
  const std::uint64_t bytes = tensor_bytes(*type, dims).count();
  if (row.size() < 4) {
    file.tensor({name, dims, type->id, bytes});
    return;
  }
  const std::size_t mark = name.find("{i}");
  for (const std::uint64_t layer : layers_of(row.at(3)))
    file.tensor({name.substr(0, mark) + std::to_string(layer) + name.substr(mark + 3), dims, type->id, bytes});
}

}  // namespace

std::string write_gguf(const Json& row, const std::string& folder) {
  std::string name = row.at("model");
  std::replace(name.begin(), name.end(), ':', '-');
  std::string path = folder + "/" + name + ".gguf";
  GgufWriter writer;
  for (const auto& [key, value] : row.at("metadata").items()) put_key(writer, key, value);
  for (const Json& tensors : row.at("tensors")) put_tensors(writer, tensors);
  const std::string header = writer.header();
  std::ofstream(path, std::ios::binary) << header;
  std::filesystem::resize_file(path, header.size() + writer.data_bytes());
  return path;
}

}  // namespace kvplan::conformance
