#include "formats/safetensors.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>
#include <vector>

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

using Span = std::pair<std::uint64_t, std::uint64_t>;

// A list of numbers that are not negative; nothing for any other value.
std::optional<std::vector<std::uint64_t>> counts_in(const Json& entry, const char* key) {
  const Json* list = member(entry, key);
  if (list == nullptr || !list->is_array()) return std::nullopt;
  const bool are_counts = std::all_of(list->begin(), list->end(), [](const Json& n) { return n.is_number_unsigned(); });
  return are_counts ? std::optional(list->get<std::vector<std::uint64_t>>()) : std::nullopt;
}

// Passes on the tensor of one entry. Returns its place.
Span read_tensor(std::string_view name, const Json& entry, std::uint64_t data_bytes, const TensorVisitor& visit) {
  const Json* dtype = member(entry, "dtype");
  const auto shape = counts_in(entry, "shape"), offsets = counts_in(entry, "data_offsets");
  if (dtype == nullptr || !dtype->is_string() || !shape || !offsets || offsets->size() != 2)
    fail("the tensor " + shown(name) + " lacks its dtype, shape or data_offsets", kLoadAgain);
  const std::string& type = dtype->get_ref<const std::string&>();
  const auto* row = std::find_if(kTypeBits.begin(), kTypeBits.end(), [&](const TypeBits& t) { return t.name == type; });
  if (row == kTypeBits.end()) fail("the tensor " + shown(name) + " has the unknown type " + shown(type), kLoadAgain);
  const std::uint64_t begin = (*offsets)[0], end = (*offsets)[1];
  if (begin > end || end > data_bytes)
    fail("the tensor " + shown(name) + " ends at byte " + std::to_string(end) + " of " + std::to_string(data_bytes) +
             " bytes of data",
         "the file is cut off or damaged: download it again");
  std::uint64_t elements = 1;
  for (const std::uint64_t length : *shape) elements = checked_mul(elements, length, "the elements of a tensor");
  const std::uint64_t bytes = ceil_div(checked_mul(elements, row->bits, "the bytes of a tensor"), 8);
  if (bytes != end - begin)
    fail("the tensor " + shown(name) + " needs " + std::to_string(bytes) + " bytes and has " +
             std::to_string(end - begin),
         kLoadAgain);
  visit({name, type, elements, bytes, shape->empty() ? 1 : shape->front()});
  return {begin, end};
}

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
         "check the file: kvplan reads at most 64 MiB, and no model has that much");
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

// Entries are read one by one and not kept: a checkpoint may have a hundred thousand tensors.
void parse_safetensors_header(std::string_view json, std::uint64_t data_bytes, const TensorVisitor& visit) {
  constexpr std::size_t kMostValues = 64;  // of one tensor
  constexpr std::string_view kMetadata = "__metadata__";
  if (!excess_of(json, {16, json.size() + 1}).empty()) fail("the safetensors header nests too deep", kLoadAgain);
  std::string name;
  std::size_t tensors = 0, values = 0;
  std::vector<Span> spans;
  using Event = Json::parse_event_t;
  const auto take = [&](int depth, Event event, const Json& value) {
    if (depth == 1 && event == Event::key) {
      name = value.get_ref<const std::string&>();
      values = 0;
      return name != kMetadata;
    }
    if (depth == 0 || name == kMetadata) return true;
    const bool is_misplaced = depth == 1 ? event == Event::value || event == Event::array_start
                                         : event == Event::object_start || (event == Event::array_start && depth > 2);
    if (is_misplaced || ++values > kMostValues)
      fail("the safetensors header has an unexpected value in " + shown(name), kLoadAgain);
    if (depth > 1 || event != Event::object_end) return true;
    if (++tensors > kMaxSafetensorsTensors)
      fail("the safetensors header has more than " + std::to_string(kMaxSafetensorsTensors) + " tensors", kLoadAgain);
    const Span span = read_tensor(name, value, data_bytes, visit);
    if (span.first < span.second) spans.push_back(span);
    return false;
  };
  if (!Json::parse(json.begin(), json.end(), take, false).is_object())
    fail("the safetensors header is not a valid JSON object", kLoadAgain);
  std::sort(spans.begin(), spans.end());
  for (std::size_t i = 1; i < spans.size(); ++i)
    if (spans[i].first < spans[i - 1].second)
      fail("two tensors of the safetensors header share the bytes from " + std::to_string(spans[i].first), kLoadAgain);
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
    const os::File file = open_to_read(path);
    const auto facts = file.is_open() ? os::facts_of(file.get()) : std::nullopt;
    if (!facts) fail_to_open();
    if (facts->kind != os::FileKind::kRegular) fail("is not a regular file", "give a checkpoint's directory");
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

// Only the names of the shards are kept, not those of a hundred thousand tensors.
SafetensorsIndex parse_safetensors_index(std::string_view text) {
  constexpr const char* kIndexAgain = "download the index again";
  constexpr std::size_t kMaxIndexValues = 2'000'000;  // one for each tensor
  constexpr std::size_t kMaxFileName = 255;           // the limit of file systems
  refuse_nul(text);
  if (const std::string excess = excess_of(text, {8, kMaxIndexValues}); !excess.empty())
    fail("the index " + excess, kIndexAgain);
  std::string section, tensor;
  std::set<std::string> files;
  using Event = Json::parse_event_t;
  const auto take = [&](int depth, Event event, const Json& value) {
    if (depth == 1 && event == Event::key) {
      section = value.get_ref<const std::string&>();
      return section == "metadata" || section == "weight_map";
    }
    if (depth < 2 || section != "weight_map") return true;
    if (event == Event::key) {
      tensor = value.get_ref<const std::string&>();
      return false;
    }
    if (event != Event::value || !value.is_string())
      fail("the index names no file for \"" + one_line(tensor, 60) + '"', kIndexAgain);
    const std::string& file = value.get_ref<const std::string&>();
    if (file.empty() || file.find_first_of(std::string_view("/\\\0", 3)) != std::string::npos || file == "." ||
        file == ".." || file.size() > kMaxFileName)
      fail("the index names \"" + one_line(file, 60) + "\", which is not a file in the same directory", kIndexAgain);
    files.insert(file);
    if (files.size() > kMaxCheckpointFiles)
      fail("the index names more than " + std::to_string(kMaxCheckpointFiles) + " files", kIndexAgain);
    return false;
  };
  const Json root = Json::parse(text.begin(), text.end(), take, false);
  if (root.is_discarded()) fail("the index of the shards is not valid JSON", kIndexAgain);
  if (const Json* map = root.is_object() ? member(root, "weight_map") : nullptr; map == nullptr || !map->is_object())
    fail("the index of the shards has no weight_map", kIndexAgain);
  SafetensorsIndex out{{files.begin(), files.end()}, 0};
  const Json* metadata = member(root, "metadata");
  const Json* total = metadata != nullptr && metadata->is_object() ? member(*metadata, "total_size") : nullptr;
  if (total != nullptr && total->is_number() && total->get<double>() >= 0 && total->get<double>() < 9.0e18)
    out.total_size = total->get<std::uint64_t>();
  return out;
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
    // If a shard is missing, only the index's sum is known.
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
  // Several files that are not a set. One of them is the model, but kvplan cannot tell which, so it uses the config's
  // own count.
  if (out.size() > 1) out.clear();
  return out;
}

}  // namespace kvplan
