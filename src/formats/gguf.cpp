#include "formats/gguf.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>
#include <utility>

#include "formats/file.h"
#include "kvplan/error.h"
#include "kvplan/ggml_types.h"
#include "kvplan/quantity.h"

namespace kvplan {

namespace {

constexpr std::string_view kAgain = "download the file again";

// For all files of a set: far more than models have (a few thousand tensors, some fifty keys), and still cheap to
// check.
constexpr std::uint64_t kMaxTensors = 1 << 18;
constexpr std::uint64_t kMaxKeys = 1 << 16;
constexpr std::uint64_t kMaxArray = 1 << 16;  // elements of an array that is read; longer ones are only skipped
// In all arrays together: a vocabulary and its merges have at most 2^20.
constexpr std::uint64_t kMaxStrings = 1 << 22;
constexpr std::uint64_t kMaxShards = 10000;
constexpr std::uint64_t kDefaultAlignment = 32;
// How much of a file is read at once.
constexpr std::size_t kWindow = 64 * kKiB;

constexpr const char* kRepair = "correct the metadata, or download the file again";

// The numbers of metadata types.
enum Type : std::uint32_t { kU8, kI8, kU16, kI16, kU32, kI32, kF32, kBool, kString, kArray, kU64, kI64, kF64 };

enum class Number { kNone, kUnsigned, kSigned, kReal };
struct TypeInfo {
  std::size_t bytes = 0;  // of one value; 0 for strings, arrays and unknown types
  Number number = Number::kNone;
};

TypeInfo info_of(std::uint32_t type) {
  switch (type) {
    case kU8:
    case kBool: return {1, Number::kUnsigned};
    case kU16: return {2, Number::kUnsigned};
    case kU32: return {4, Number::kUnsigned};
    case kU64: return {8, Number::kUnsigned};
    case kI8: return {1, Number::kSigned};
    case kI16: return {2, Number::kSigned};
    case kI32: return {4, Number::kSigned};
    case kI64: return {8, Number::kSigned};
    case kF32: return {4, Number::kReal};
    case kF64: return {8, Number::kReal};
    default: return {};
  }
}

// The bits of a number of 1 to 8 bytes.
std::uint64_t load(const std::byte* at, std::size_t bytes, bool big_endian) {
  std::uint64_t out = 0;
  for (std::size_t i = 0; i < bytes; ++i)
    out = out << 8 | std::to_integer<std::uint64_t>(at[big_endian ? i : bytes - 1 - i]);
  return out;
}

// std::bit_cast, which the browser's C++ library does not have.
template <class Real, class Bits>
Real same_bits(Bits bits) {
  static_assert(sizeof(Real) == sizeof bits);
  Real out;
  std::memcpy(&out, &bits, sizeof out);
  return out;
}

std::string quoted(std::string_view key) {
  return '"' + one_line(key, 60) + '"';
}

}  // namespace

// Reads forward within one header, from bytes in memory or from a file. Of a file it keeps one piece at a time.
class GgufCursor {
 public:
  GgufCursor(std::span<const std::byte> bytes, std::uint64_t most) : window_(bytes), size_(bytes.size()), most_(most) {}
  GgufCursor(const FileReader& file, GgufStore& store, std::uint64_t most)
      : file_(&file), store_(&store), size_(file.bytes()), most_(most) {}

  void set_big_endian() { big_endian_ = true; }
  std::uint64_t position() const { return position_; }
  std::uint64_t left() const { return size_ - position_; }

  void skip(std::uint64_t count) {
    if (count > left())
      fail("the header claims " + std::to_string(count) + " bytes at byte " + std::to_string(position_) +
               ", and the file has " + std::to_string(left()) + " left",
           kAgain);
    if (count > most_ - position_)
      fail("the headers of the model's files take more than " + std::to_string(kMaxGgufHeader >> 20) + " MiB", kAgain);
    position_ += count;
  }
  std::uint32_t u32() { return static_cast<std::uint32_t>(take(4)); }
  std::uint64_t u64() { return take(8); }
  // The next bytes. They stay valid as long as the Gguf.
  const std::byte* keep(std::uint64_t count) {
    const std::uint64_t begin = position_;
    skip(count);
    const std::size_t size = count;
    if (file_ == nullptr) return window_.data() + begin;
    auto* const out = reinterpret_cast<std::byte*>(store_->emplace_back(size, '\0').data());
    if (size <= kWindow)
      std::copy_n(at(begin, size), size, out);
    else
      file_->read(begin, {out, size});
    return out;
  }
  std::string_view string() {
    const std::uint64_t length = u64();
    return {reinterpret_cast<const char*>(keep(length)), static_cast<std::size_t>(length)};
  }
  // Reads only the lengths of the strings of a vocabulary.
  void skip_strings(std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) skip(u64());
  }

 private:
  std::uint64_t take(std::size_t bytes) {
    const std::uint64_t begin = position_;
    skip(bytes);
    return load(at(begin, bytes), bytes, big_endian_);
  }

  // Bytes within the file; valid until the next call.
  const std::byte* at(std::uint64_t begin, std::size_t count) {
    if (file_ == nullptr) return window_.data() + begin;
    if (begin < window_begin_ || begin + count > window_begin_ + window_.size()) {
      piece_.resize(static_cast<std::size_t>(std::min<std::uint64_t>(kWindow, size_ - begin)));
      file_->read(begin, piece_);
      window_ = piece_;
      window_begin_ = begin;
    }
    return window_.data() + (begin - window_begin_);
  }

  const FileReader* file_ = nullptr;
  GgufStore* store_ = nullptr;
  std::vector<std::byte> piece_;
  std::span<const std::byte> window_;
  std::uint64_t window_begin_ = 0, size_, most_, position_ = 0;
  bool big_endian_ = false;
};

Gguf Gguf::parse(std::span<const std::byte> bytes) {
  const Beginning whole{bytes, bytes.size()};
  return parse(std::span(&whole, 1));
}

Gguf Gguf::parse(std::span<const Beginning> parts) {
  if (parts.empty()) fail("the file is empty", "give a *.gguf file or a config.json");
  Walked walked;
  const auto parse_part = [&](const Beginning& part) {
    GgufCursor cursor(part.bytes, kMaxGgufHeader - walked.bytes);
    return parse_one(cursor, part.file_bytes, walked);
  };
  Gguf first = parse_part(parts[0]);
  if (parts.size() == 1) return first;
  first.check_part(0, parts.size());
  for (std::size_t i = 1; i < parts.size(); ++i) {
    Gguf shard = parse_part(parts[i]);
    shard.check_part(i, parts.size());
    first.add_shard(std::move(shard), i);
  }
  first.check_set();
  return first;
}

Gguf Gguf::parse_one(GgufCursor& cursor, std::uint64_t file_bytes, Walked& walked) {
  Gguf out;
  const bool is_empty = cursor.left() == 0;
  if (cursor.left() < 4 || std::memcmp(cursor.keep(4), "GGUF", 4) != 0)
    fail(is_empty ? "the file is empty" : "not a GGUF file: it does not start with GGUF",
         "give a *.gguf file or a config.json");
  out.version_ = cursor.u32();
  // No field gives the byte order. But no version is so large that it needs the upper half.
  if (out.version_ != 0 && (out.version_ & 0xFFFF) == 0) {
    out.big_endian_ = true;
    cursor.set_big_endian();
    out.version_ = __builtin_bswap32(out.version_);
  }
  if (out.version_ != 2 && out.version_ != 3)
    fail("GGUF version " + std::to_string(out.version_) + " is not known",
         "kvplan reads versions 2 and 3: convert the model again with a current llama.cpp");

  const std::uint64_t num_tensors = cursor.u64();
  const std::uint64_t num_keys = cursor.u64();
  // A key takes at least 13 bytes, a tensor 24. The other limit keeps even a valid file's index small.
  if (num_keys > kMaxKeys - walked.keys || num_keys > cursor.left() / 13)
    fail("the header claims " + std::to_string(num_keys) + " keys", kAgain);
  if (num_tensors > kMaxTensors || num_tensors > cursor.left() / 24)
    fail("the header claims " + std::to_string(num_tensors) + " tensors", kAgain);

  walked.keys += num_keys;
  out.entries_.reserve(num_keys);
  for (std::uint64_t i = 0; i < num_keys; ++i) {
    Entry entry;
    entry.key = cursor.string();
    entry.type = cursor.u32();
    if (entry.type == kString) {
      entry.length = cursor.u64();
      entry.value = cursor.keep(entry.length);
    } else if (entry.type == kArray) {
      entry.element = cursor.u32();
      entry.length = cursor.u64();
      const std::size_t size = info_of(entry.element).bytes;
      if (entry.element == kString) {
        if (entry.length > cursor.left() / 8 || entry.length > kMaxStrings - walked.strings)
          fail(quoted(entry.key) + " claims " + std::to_string(entry.length) + " strings", kAgain);
        walked.strings += entry.length;
        cursor.skip_strings(entry.length);
      } else if (size > 0) {
        const std::uint64_t bytes = checked_mul(entry.length, size, "the bytes of " + quoted(entry.key));
        if (entry.length <= kMaxArray)
          entry.value = cursor.keep(bytes);
        else
          cursor.skip(bytes);
      } else {
        fail(quoted(entry.key) + " is an array of type " + std::to_string(entry.element) + ", which GGUF does not have",
             kAgain);
      }
    } else if (const std::size_t size = info_of(entry.type).bytes; size > 0) {
      entry.value = cursor.keep(size);
    } else {
      fail(quoted(entry.key) + " has the type " + std::to_string(entry.type) + ", which GGUF does not have", kAgain);
    }
    out.entries_.push_back(entry);
  }
  std::sort(out.entries_.begin(), out.entries_.end(), [](const Entry& a, const Entry& b) { return a.key < b.key; });
  const auto twice = std::adjacent_find(out.entries_.begin(), out.entries_.end(),
                                        [](const Entry& a, const Entry& b) { return a.key == b.key; });
  if (twice != out.entries_.end()) fail("the key " + quoted(twice->key) + " appears twice in the file", kAgain);

  out.read_tensors(cursor, num_tensors, file_bytes);
  out.header_bytes_ = cursor.position();
  walked.bytes += cursor.position();
  out.check_names();
  return out;
}

void Gguf::read_tensors(GgufCursor& cursor, std::uint64_t count, std::uint64_t file_bytes) {
  tensors_.reserve(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    GgufTensor tensor;
    tensor.name = cursor.string();
    tensor.num_dims = cursor.u32();
    if (tensor.num_dims > tensor.dims.size())
      fail("the tensor " + quoted(tensor.name) + " has " + std::to_string(tensor.num_dims) + " dimensions",
           "a GGUF tensor has at most 4: " + std::string(kAgain));
    std::uint64_t elements = 1;
    for (std::uint32_t d = 0; d < tensor.num_dims; ++d) {
      tensor.dims[d] = cursor.u64();
      elements = checked_mul(elements, tensor.dims[d], "the elements of the tensor " + quoted(tensor.name));
    }
    tensor.type = cursor.u32();
    tensor.offset = cursor.u64();
    tensors_.push_back(tensor);
  }
  if (tensors_.empty()) return;

  const std::uint64_t alignment = this->count("general.alignment").value_or(kDefaultAlignment);
  if (!std::has_single_bit(alignment))
    fail("\"general.alignment\" is " + std::to_string(alignment), "it is a power of two: " + std::string(kAgain));
  // A file that was cut after its header may lack the padding. The comparison below reports that.
  const std::uint64_t start = round_up(cursor.position(), alignment, "the start of the data");
  const std::uint64_t data = file_bytes > start ? file_bytes - start : 0;
  // Tensors follow one another, so one that starts early overlaps the previous one.
  std::uint64_t end = 0;
  for (const GgufTensor& tensor : tensors_) {
    const std::string what = "the tensor " + quoted(tensor.name);
    if (tensor.offset < end || tensor.offset % alignment != 0)
      fail(what + " starts at " + std::to_string(tensor.offset) + " where " + std::to_string(end) +
               " bytes are already taken",
           kAgain);
    // The size of a type that kvplan does not know is reported when the weights need it.
    const auto type = find_ggml_type(tensor.type);
    const std::uint64_t bytes = type ? tensor_bytes(*type, tensor.shape()).count() : 0;
    end = checked_add(tensor.offset, bytes, "the end of " + what);
    if (end > data)
      fail(what + " ends at byte " + std::to_string(end) + " of the data, and the file has " + std::to_string(data) +
               " bytes of data",
           "the file is cut short: " + std::string(kAgain));
  }
}

void Gguf::check_names() const {
  std::vector<std::string_view> names;
  names.reserve(tensors_.size());
  for (const GgufTensor& tensor : tensors_) names.push_back(tensor.name);
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice != names.end()) fail("the tensor " + quoted(*twice) + " appears twice in the file", kAgain);
}

void Gguf::add_shard(Gguf&& shard, std::uint64_t number) {
  for (GgufTensor tensor : shard.tensors_) {
    tensor.shard = static_cast<std::uint32_t>(number);
    tensors_.push_back(tensor);
  }
  if (tensors_.size() > kMaxTensors) fail("the files have more than 2^18 tensors", kAgain);
}

// "-00002-of-00006.gguf" at the end of a path.
static std::string shard_suffix(std::uint64_t index, std::uint64_t count) {
  char text[64];
  std::snprintf(text, sizeof text, "-%05u-of-%05u.gguf", static_cast<unsigned>(index), static_cast<unsigned>(count));
  return text;
}

Gguf Gguf::open(const std::string& path, std::uint64_t file_bytes) {
  const auto store = std::make_shared<GgufStore>();
  Walked walked;
  const auto parse_file = [&](const std::string& name, std::uint64_t least) {
    const FileReader file(name);
    GgufCursor cursor(file, *store, kMaxGgufHeader - walked.bytes);
    return parse_one(cursor, std::max(file.bytes(), least), walked);
  };
  Gguf first = parse_file(path, file_bytes);
  first.store_ = store;
  const std::uint64_t shards = first.count("split.count").value_or(1);
  if (shards <= 1) return first;
  if (shards > kMaxShards) fail("\"split.count\" is " + std::to_string(shards), kAgain);

  const std::uint64_t number = first.count("split.no").value_or(0);
  const std::string own = shard_suffix(number + 1, shards);
  if (number >= shards || !path.ends_with(own))
    fail("the file is part " + std::to_string(number + 1) + " of " + std::to_string(shards) +
             " of a split set, and its name does not end in " + own,
         "restore the files' names");
  const std::string prefix = path.substr(0, path.size() - own.size());
  if (number > 0) {
    // Only the first file has the metadata.
    const std::string leader = prefix + shard_suffix(1, shards);
    if (!exists(leader)) fail("the first file of the set, " + leader + ", is missing", "download it, too");
    return open(leader);
  }
  for (std::uint64_t i = 1; i < shards; ++i) {
    const std::string name = prefix + shard_suffix(i + 1, shards);
    if (!exists(name)) fail("the file " + name + " of the split set is missing", "download it, too");
    with_source(name, [&] {
      Gguf shard = parse_file(name, 0);
      shard.check_part(i, shards);
      first.add_shard(std::move(shard), i);
    });
  }
  first.check_set();
  return first;
}

void Gguf::check_part(std::uint64_t number, std::uint64_t count) const {
  if (this->count("split.no").value_or(0) != number || this->count("split.count").value_or(0) != count)
    fail("is not part " + std::to_string(number + 1) + " of " + std::to_string(count), "restore the files' names");
}

void Gguf::check_set() const {
  if (const auto total = count("split.tensors.count"); total && *total != tensors_.size())
    fail("the set has " + std::to_string(tensors_.size()) + " tensors, and \"split.tensors.count\" is " +
             std::to_string(*total),
         "download the set again");
  check_names();
}

const Gguf::Entry* Gguf::find(std::string_view key) const {
  const auto found = std::lower_bound(entries_.begin(), entries_.end(), key,
                                      [](const Entry& entry, std::string_view wanted) { return entry.key < wanted; });
  return found != entries_.end() && found->key == key ? &*found : nullptr;
}

bool Gguf::is_array(std::string_view key) const {
  const Entry* entry = find(key);
  return entry != nullptr && entry->type == kArray;
}

std::uint64_t Gguf::integer(const Entry& entry, std::uint32_t type, const std::byte* at) const {
  const auto [bytes, number] = info_of(type);
  if (number != Number::kUnsigned && number != Number::kSigned)
    fail(quoted(entry.key) + " is not a whole number", kRepair);
  const std::uint64_t bits = load(at, bytes, big_endian_);
  const std::uint64_t sign = std::uint64_t{1} << (8 * bytes - 1);
  if (number == Number::kSigned && (bits & sign) != 0)
    fail(quoted(entry.key) + " is -" + std::to_string(sign - (bits - sign)),
         "a count is not negative: correct the metadata");
  return bits;
}

std::optional<std::uint64_t> Gguf::count(std::string_view key) const {
  const Entry* entry = find(key);
  if (entry == nullptr) return std::nullopt;
  // In an array booleans select layers; a single one is not a count.
  if (entry->type == kBool) fail(quoted(key) + " is not a whole number", kRepair);
  return integer(*entry, entry->type, entry->value);
}

std::optional<std::string_view> Gguf::text(std::string_view key) const {
  const Entry* entry = find(key);
  if (entry == nullptr) return std::nullopt;
  if (entry->type != kString) fail(quoted(key) + " is not a string", kRepair);
  return std::string_view(reinterpret_cast<const char*>(entry->value), static_cast<std::size_t>(entry->length));
}

std::optional<double> Gguf::real(std::string_view key) const {
  const Entry* entry = find(key);
  if (entry == nullptr) return std::nullopt;
  const TypeInfo info = info_of(entry->type);
  if (info.number != Number::kReal && info.number != Number::kUnsigned) return std::nullopt;
  const std::uint64_t bits = load(entry->value, info.bytes, big_endian_);
  if (info.number == Number::kUnsigned) return static_cast<double>(bits);
  if (info.bytes == 8) return same_bits<double>(bits);
  return same_bits<float>(static_cast<std::uint32_t>(bits));
}

std::optional<std::vector<std::uint64_t>> Gguf::counts(std::string_view key) const {
  const Entry* entry = find(key);
  if (entry == nullptr) return std::nullopt;
  if (entry->type != kArray) fail(quoted(key) + " is not an array", kRepair);
  if (entry->length > kMaxArray)
    fail(quoted(key) + " has " + std::to_string(entry->length) + " elements", "correct the metadata");
  std::vector<std::uint64_t> out;
  out.reserve(entry->length);
  for (std::uint64_t i = 0; i < entry->length; ++i)
    out.push_back(integer(*entry, entry->element, entry->value + i * info_of(entry->element).bytes));
  return out;
}

std::optional<std::uint64_t> Gguf::length(std::string_view key) const {
  const Entry* entry = find(key);
  if (entry == nullptr || entry->type != kArray) return std::nullopt;
  return entry->length;
}

std::vector<std::string_view> Gguf::keys() const {
  std::vector<std::string_view> out;
  out.reserve(entries_.size());
  for (const Entry& entry : entries_) out.push_back(entry.key);
  return out;
}

bool Gguf::has_tensor(std::string_view name) const {
  return std::any_of(tensors_.begin(), tensors_.end(), [&](const GgufTensor& tensor) { return tensor.name == name; });
}

}  // namespace kvplan
