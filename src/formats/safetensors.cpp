#include "formats/safetensors.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/os.h"
#include "formats/file.h"
#include "formats/json_bounds.h"
#include "kvplan/error.h"
#include "kvplan/quantity.h"

namespace kvplan {

namespace {

using Json = nlohmann::json;

constexpr std::string_view kLoadAgain = "download the file again";

struct TypeBits {
  std::string_view name;
  std::uint64_t bits;
};
constexpr std::array kTypeBits{
    TypeBits{"BOOL", 8},        TypeBits{"U8", 8},          TypeBits{"I8", 8},      TypeBits{"F8_E5M2", 8},
    TypeBits{"F8_E4M3", 8},     TypeBits{"F8_E8M0", 8},     TypeBits{"I16", 16},    TypeBits{"U16", 16},
    TypeBits{"F16", 16},        TypeBits{"BF16", 16},       TypeBits{"I32", 32},    TypeBits{"U32", 32},
    TypeBits{"F32", 32},        TypeBits{"C64", 64},        TypeBits{"F64", 64},    TypeBits{"I64", 64},
    TypeBits{"U64", 64},        TypeBits{"F4", 4},          TypeBits{"F6_E2M3", 6}, TypeBits{"F6_E3M2", 6},
    TypeBits{"F8_E4M3FNUZ", 8}, TypeBits{"F8_E5M2FNUZ", 8},
};

std::string shown(std::string_view name) {
  return "\"" + one_line(name, 80) + "\"";
}

// Reads the header without building a tree: a checkpoint may have a hundred thousand tensors.
class HeaderReader : public nlohmann::json_sax<Json> {
 public:
  HeaderReader(std::uint64_t data_bytes, const TensorVisitor& visit) : data_bytes_(data_bytes), visit_(visit) {}

  bool start_object(std::size_t) override {
    ++depth_;
    if (depth_ == 2) {
      has_dtype_ = has_shape_ = false;
      offsets_seen_ = 0;
      elements_ = 1;
      rows_.reset();
      return true;
    }
    if (depth_ > 2 && !metadata_) fail("the safetensors header nests too deep in " + shown(name_), kLoadAgain);
    return depth_ < 16;
  }
  bool end_object() override {
    if (depth_ == 2 && !metadata_) finish();
    --depth_;
    return true;
  }
  bool start_array(std::size_t) override {
    if (depth_ == 0) fail("the safetensors header is no object", kLoadAgain);
    if (metadata_) return true;
    if (depth_ != 2 || in_list_) fail("the safetensors header has a list where none belongs", kLoadAgain);
    in_list_ = true;
    if (key_ == "shape") has_shape_ = true;
    return true;
  }
  bool end_array() override {
    in_list_ = false;
    return true;
  }
  bool key(string_t& text) override {
    if (depth_ == 1) {
      name_ = text;
      metadata_ = text == "__metadata__";
    } else {
      key_ = text;
    }
    return true;
  }
  bool string(string_t& text) override {
    if (metadata_) return true;
    if (depth_ == 2 && !in_list_ && key_ == "dtype") {
      dtype_ = text;
      has_dtype_ = true;
    } else if (depth_ < 2 || in_list_) {
      fail("the safetensors header holds text where none belongs", kLoadAgain);
    }
    return true;
  }
  bool number_unsigned(number_unsigned_t value) override {
    if (metadata_) return true;
    if (depth_ != 2 || !in_list_) return depth_ == 2;
    if (key_ == "shape") {
      if (!rows_) rows_ = value;
      elements_ = checked_mul(elements_, value, "the elements of a tensor");
    } else if (key_ == "data_offsets") {
      if (offsets_seen_ < 2) offsets_[offsets_seen_] = value;
      ++offsets_seen_;
    }
    return true;
  }
  bool number_integer(number_integer_t) override { return wrong_number(); }
  bool number_float(number_float_t, const string_t&) override { return wrong_number(); }
  bool boolean(bool) override { return depth_ >= 1; }
  bool null() override { return depth_ >= 1; }
  bool binary(binary_t&) override { return false; }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) override {
    fail("the safetensors header is not valid JSON at byte " + std::to_string(position), kLoadAgain);
  }

  void check_overlaps() {
    std::sort(spans_.begin(), spans_.end());
    for (std::size_t i = 1; i < spans_.size(); ++i)
      if (spans_[i].first < spans_[i - 1].second)
        fail("two tensors of the safetensors header share the bytes from " + std::to_string(spans_[i].first),
             kLoadAgain);
  }

 private:
  bool wrong_number() {
    if (!metadata_) fail("the safetensors header has a number below zero or broken in " + shown(name_), kLoadAgain);
    return true;
  }

  void finish() {
    if (!has_dtype_ || !has_shape_ || offsets_seen_ != 2)
      fail("the tensor " + shown(name_) + " lacks its dtype, shape or data_offsets", kLoadAgain);
    const auto* row =
        std::find_if(kTypeBits.begin(), kTypeBits.end(), [&](const TypeBits& t) { return t.name == dtype_; });
    if (row == kTypeBits.end())
      fail("the tensor " + shown(name_) + " has the unknown type " + shown(dtype_), kLoadAgain);
    if (offsets_[0] > offsets_[1] || offsets_[1] > data_bytes_)
      fail("the tensor " + shown(name_) + " ends at byte " + std::to_string(offsets_[1]) + " of " +
               std::to_string(data_bytes_) + " bytes of data",
           "the file is cut off or damaged: download it again");
    const std::uint64_t bytes = ceil_div(checked_mul(elements_, row->bits, "the bytes of a tensor"), 8);
    if (bytes != offsets_[1] - offsets_[0])
      fail("the tensor " + shown(name_) + " needs " + std::to_string(bytes) + " bytes and has " +
               std::to_string(offsets_[1] - offsets_[0]),
           kLoadAgain);
    if (++tensors_ > kMaxSafetensorsTensors)
      fail("the safetensors header has more than " + std::to_string(kMaxSafetensorsTensors) + " tensors", kLoadAgain);
    if (bytes > 0) spans_.emplace_back(offsets_[0], offsets_[1]);
    visit_({name_, dtype_, elements_, bytes, rows_.value_or(1)});
  }

  std::uint64_t data_bytes_;
  const TensorVisitor& visit_;
  std::size_t depth_ = 0;
  bool metadata_ = false;
  bool in_list_ = false;
  std::string name_, key_, dtype_;
  bool has_dtype_ = false, has_shape_ = false;
  std::size_t offsets_seen_ = 0;
  std::array<std::uint64_t, 2> offsets_{};
  std::uint64_t elements_ = 1;
  std::uint64_t tensors_ = 0;
  std::optional<std::uint64_t> rows_;  // the first number of the shape
  std::vector<std::pair<std::uint64_t, std::uint64_t>> spans_;
};

// The header's length, checked against the file's.
std::uint64_t header_bytes(std::span<const std::byte> first_eight, std::uint64_t file_bytes) {
  std::uint64_t length = 0;
  for (std::size_t i = 0; i < 8; ++i) length |= std::to_integer<std::uint64_t>(first_eight[i]) << (8 * i);
  if (length > file_bytes - 8)
    fail(
        "the safetensors header claims " + std::to_string(length) + " bytes of a file of " + std::to_string(file_bytes),
        kLoadAgain);
  if (length > kMaxSafetensorsHeader)
    fail("the safetensors header claims " + std::to_string(length) + " bytes",
         "check the file: kvplan reads 64 MiB, and no model has as much");
  return length;
}

void read_at(int fd, char* to, std::size_t size, std::uint64_t at) {
  if (!os::read_at(fd, to, size, at)) fail("the safetensors file cannot be read to the end of its header", kLoadAgain);
}

// "model-00002-of-00030.safetensors": the number of shards; 0 for other names.
std::uint64_t shards_of(std::string_view name) {
  const auto of = name.rfind("-of-");
  if (of == std::string_view::npos || !name.ends_with(".safetensors")) return 0;
  std::uint64_t count = 0;
  const auto [end, error] = std::from_chars(name.data() + of + 4, name.data() + name.size(), count);
  return error == std::errc() && count < 100000 && std::string_view(end) == ".safetensors" ? count : 0;
}

}  // namespace

void parse_safetensors_header(std::string_view json, std::uint64_t data_bytes, const TensorVisitor& visit) {
  HeaderReader reader(data_bytes, visit);
  // Writers pad with spaces; apart from them there must be only one object.
  if (!Json::sax_parse(json.begin(), json.end(), &reader, nlohmann::detail::input_format_t::json, true))
    fail("the safetensors header has a value where none belongs", kLoadAgain);
  reader.check_overlaps();
}

void parse_safetensors(std::span<const std::byte> beginning, std::uint64_t file_bytes, const TensorVisitor& visit) {
  if (beginning.size() < 8 || file_bytes < 8) fail("the file is too short for a safetensors header", kLoadAgain);
  const std::uint64_t length = header_bytes(beginning.first(8), file_bytes);
  if (length > beginning.size() - 8) fail("the safetensors header is cut off", kLoadAgain);
  const auto* const text = reinterpret_cast<const char*>(beginning.data() + 8);
  parse_safetensors_header({text, static_cast<std::size_t>(length)}, file_bytes - 8 - length, visit);
}

std::uint64_t read_safetensors(const std::string& path, const TensorVisitor& visit, std::uint64_t file_bytes) {
  return with_source(path, [&] {
    const Descriptor file(path);
    const auto facts = file.is_open() ? os::facts_of(file.get()) : std::nullopt;
    if (!facts) fail_to_open();
    if (facts->kind != os::FileKind::kRegular) fail("is no regular file", "give a checkpoint's directory");
    const std::uint64_t size = std::max(facts->bytes, file_bytes);
    std::array<char, 8> first{};
    if (size < 8) fail("the file is too short for a safetensors header", kLoadAgain);
    read_at(file.get(), first.data(), 8, 0);
    const std::uint64_t length = header_bytes(std::as_bytes(std::span(first)), size);
    std::string text(static_cast<std::size_t>(length), '\0');
    read_at(file.get(), text.data(), text.size(), 8);
    parse_safetensors_header(text, size - 8 - length, visit);
    return length;
  });
}

void read_safetensors(const std::vector<std::string>& paths, const TensorVisitor& visit, SafetensorsWalked& walked) {
  const auto count = [&](const SafeTensor& tensor) {
    if (++walked.tensors > kMaxCheckpointTensors)
      fail("the checkpoint has more than " + std::to_string(kMaxCheckpointTensors) + " tensors", kLoadAgain);
    visit(tensor);
  };
  for (const std::string& path : paths) {
    walked.header_bytes += read_safetensors(path, count);
    if (walked.header_bytes > kMaxCheckpointHeaders)
      with_source(path,
                  [] { fail("the headers of the checkpoint's files are longer than 128 MiB in all", kLoadAgain); });
  }
}

std::vector<std::string> checkpoint_files(const std::string& directory, std::uint64_t& index_bytes,
                                          SafetensorsWalked& walked) {
  index_bytes = 0;
  std::vector<std::string> found;
  std::string index;
  std::error_code error;
  for (std::filesystem::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (name.ends_with(".safetensors") && !name.starts_with("adapter_")) found.push_back(name);
    if (name.ends_with(".safetensors.index.json") && (index.empty() || name == "model.safetensors.index.json"))
      index = name;
  }
  std::sort(found.begin(), found.end());
  std::vector<std::string> out;
  const auto has = [&](const std::string& name) { return std::binary_search(found.begin(), found.end(), name); };
  if (!index.empty()) {
    const std::string path = directory + "/" + index;
    const SafetensorsIndex parsed = with_source(path, [&] {
      const std::string text = read_file(path, kMaxIndexBytes);
      walked.index_bytes += text.size();
      if (walked.index_bytes > kMaxIndexBytes) fail("with it the indexes are longer than 64 MiB in all", kLoadAgain);
      return parse_safetensors_index(text);
    });
    // With a shard missing the index's sum is all that is known.
    if (parsed.total_size > 0 && !std::all_of(parsed.files.begin(), parsed.files.end(), has)) {
      index_bytes = parsed.total_size;
      return {};
    }
    for (const std::string& name : parsed.files) {
      if (!has(name)) fail("the index names " + shown(name) + ", which is not there", "download the missing shard");
      out.push_back(directory + "/" + name);
    }
    return out;
  }
  if (has("model.safetensors")) return {directory + "/model.safetensors"};
  for (const std::string& name : found) {
    const std::uint64_t shards = shards_of(name);
    if (shards == 0) continue;
    const std::string stem = name.substr(0, name.rfind("-of-"));
    const std::string start = stem.substr(0, stem.find_last_not_of("0123456789") + 1);
    const std::string tail = name.substr(name.rfind("-of-"));
    std::uint64_t present = 0;
    for (const std::string& other : found)
      if (other.starts_with(start) && other.ends_with(tail)) {
        ++present;
        out.push_back(directory + "/" + other);
      }
    if (present > kMaxCheckpointFiles)
      fail("the checkpoint has more than " + std::to_string(kMaxCheckpointFiles) + " files", kLoadAgain);
    if (present != shards)
      fail("the checkpoint has " + std::to_string(present) + " of " + std::to_string(shards) + " shards",
           "download the missing ones");
    return out;
  }
  for (const std::string& name : found) out.push_back(directory + "/" + name);
  // Several files that are no set: one of them is the model, but it is not known which. The config's own count is used.
  if (out.size() > 1) out.clear();
  return out;
}

}  // namespace kvplan
