// The GGUF container: valid and refused files.
#include "formats/gguf.h"

#include <doctest/doctest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "formats/file.h"
#include "kvplan/error.h"
#include "kvplan/ggml_types.h"
#include "support/gguf_writer.h"
#include "support/program.h"

namespace kvplan {
namespace {

constexpr std::uint32_t kQ4K = 12;

GgufWriter small(bool big_endian = false, std::uint32_t version = 3) {
  return GgufWriter("llama", big_endian, version).u32(".block_count", 2).u64(".context_length", 8192);
}

// The line of the error that parsing ends in.
std::string refusal(const std::string& file) {
  try {
    Gguf::parse(bytes_of(file));
  } catch (const Error& error) {
    CHECK(error.code() == Exit::kBadInput);
    CHECK(error.line().find('\n') == std::string::npos);
    return error.line();
  }
  return "";
}

using Folder = TemporaryFolder;

TEST_CASE("a GGUF is read in both versions and either byte order") {
  for (const bool big : {false, true})
    for (const std::uint32_t version : {2U, 3U}) {
      const std::string bytes = small(big, version)
                                    .array("numbers", {1, 2, 3})
                                    .bools("flags", {true, false})
                                    .u16("small", 513)
                                    .strings("tokenizer.ggml.tokens", 1000, "token")
                                    .tensor({"token_embd.weight", {256, 4}, kQ4K, 4 * 144})
                                    .tensor({"output_norm.weight", {256}, 0, 1024})
                                    .file();
      const Gguf file = Gguf::parse(bytes_of(bytes));
      CHECK(file.version() == version);
      CHECK(file.big_endian() == big);
      CHECK(file.text("general.architecture") == "llama");
      CHECK(file.count("llama.block_count") == 2);
      CHECK(file.count("llama.context_length") == 8192);
      CHECK(file.count("small") == 513);
      CHECK(file.counts("numbers") == std::vector<std::uint64_t>{1, 2, 3});
      CHECK(file.counts("flags") == std::vector<std::uint64_t>{1, 0});
      CHECK(file.length("tokenizer.ggml.tokens") == 1000);
      CHECK_FALSE(file.count("absent"));
      REQUIRE(file.tensors().size() == 2);
      CHECK(file.tensors()[0].name == "token_embd.weight");
      CHECK(file.tensors()[0].dims[1] == 4);
      CHECK(file.tensors()[1].offset == 576);
      CHECK(file.has_tensor("output_norm.weight"));
    }
}

TEST_CASE("a GGUF value of the wrong type is an error that names its key") {
  const std::string bytes = small()
                                .i32("negative", -1)
                                .f32("float", 0x3f800000)
                                .array("below", {1, -2})
                                .raw("yes", 7, std::string_view("\1", 1))
                                .file();
  const Gguf file = Gguf::parse(bytes_of(bytes));
  CHECK_THROWS_WITH(file.count("negative"), doctest::Contains("\"negative\" is -1"));
  CHECK_THROWS_WITH(file.count("yes"), doctest::Contains("\"yes\" is not a whole number"));
  CHECK_THROWS_WITH(file.count("float"), doctest::Contains("\"float\" is not a whole number"));
  CHECK_THROWS_WITH(file.count("general.architecture"), doctest::Contains("not a whole number"));
  CHECK_THROWS_WITH(file.counts("below"), doctest::Contains("\"below\" is -2"));
  CHECK_THROWS_WITH(file.counts("llama.block_count"), doctest::Contains("not an array"));
  CHECK_THROWS_WITH(file.text("llama.block_count"), doctest::Contains("not a string"));
}

TEST_CASE("a GGUF that is cut off anywhere is refused") {
  const std::string bytes = small()
                                .strings("tokens", 3, "ab")
                                .tensor({"a.weight", {256, 4}, kQ4K, 4 * 144})
                                .tensor({"b.weight", {32}, 0, 128})
                                .file();
  CHECK(refusal(bytes).empty());
  for (std::size_t length = 0; length < bytes.size(); ++length) CHECK_FALSE(refusal(bytes.substr(0, length)).empty());
}

TEST_CASE("false claims of a GGUF are refused before they are used") {
  CHECK(refusal("").find("empty") != std::string::npos);
  CHECK(refusal("not a model at all").find("does not start with GGUF") != std::string::npos);
  CHECK(refusal(GgufWriter("llama", false, 1).file()).find("version 1") != std::string::npos);
  CHECK(refusal(GgufWriter("llama", false, 4).file()).find("version 4") != std::string::npos);
  for (const std::uint64_t count : {std::uint64_t{1} << 32, std::uint64_t{1} << 60, ~std::uint64_t{0}}) {
    if (count != ~std::uint64_t{0}) {
      CHECK(refusal(small().claim_tensors(count).file()).find("tensors") != std::string::npos);
      CHECK(refusal(small().claim_keys(count).file()).find("keys") != std::string::npos);
    }
    std::string claim(12, '\0');  // an array of `count` strings, of `count` numbers
    for (unsigned i = 0; i < 8; ++i) claim[4 + i] = static_cast<char>(count >> 8 * i & 0xFF);
    claim[0] = 8;
    CHECK(refusal(small().raw("lie", 9, claim).file()).find("\"lie\"") != std::string::npos);
    claim[0] = 10;
    CHECK_FALSE(refusal(small().raw("lie", 9, claim).file()).empty());
    CHECK_FALSE(refusal(small().raw("lie", 8, claim.substr(4)).file()).empty());
  }
  CHECK(refusal(small().raw("odd", 77, "????").file()).find("type 77") != std::string::npos);
  CHECK(refusal(small().raw("nested", 9, std::string("\x09\0\0\0\0\0\0\0\0\0\0\0", 12)).file()).find("\"nested\"") !=
        std::string::npos);
  CHECK(refusal(small().u32(".block_count", 3).file()).find("twice") != std::string::npos);
}

TEST_CASE("impossible tensors of a GGUF are refused") {
  const auto with = [](GgufWriter::Tensor tensor) { return refusal(small().tensor(std::move(tensor)).file()); };
  CHECK(with({"deep", {1, 1, 1, 1, 1}, 0, 4}).find("5 dimensions") != std::string::npos);
  CHECK(with({"huge", {1ULL << 40, 1ULL << 40}, 0, 4}).find("64 bits") != std::string::npos);
  CHECK(with({"odd", {100, 4}, kQ4K, 576}).find("256") != std::string::npos);
  CHECK(with({"short", {1024, 1024}, 0, 64}).find("cut short") != std::string::npos);
  // A tensor that starts inside the one before it.
  CHECK(refusal(small().tensor({"a", {64}, 0, 32}).tensor({"b", {8}, 0, 512}).file()).find("\"b\" starts at 32") !=
        std::string::npos);
  CHECK(refusal(small().tensor({"a", {8}, 0, 32}).tensor({"a", {8}, 0, 32}).file()).find("twice") != std::string::npos);
  CHECK(refusal(small().u32("general.alignment", 48).tensor({"a", {8}, 0, 32}).file()).find("alignment") !=
        std::string::npos);
}

TEST_CASE("a split set is read whole, and a missing part is named") {
  const Folder folder;
  const auto part = [](std::uint16_t number, const std::string& tensor) {
    GgufWriter writer = number == 0 ? small() : GgufWriter();
    return writer.u16("split.no", number)
        .u16("split.count", 3)
        .i32("split.tensors.count", 3)
        .tensor({tensor, {32, 2}, 8, 68})
        .file();
  };
  const std::string first = folder.write("m-00001-of-00003.gguf", part(0, "a"));
  const std::string second = folder.write("m-00002-of-00003.gguf", part(1, "b"));
  CHECK_THROWS_WITH(Gguf::open(first), doctest::Contains("m-00003-of-00003.gguf"));
  folder.write("m-00003-of-00003.gguf", part(2, "c"));
  for (const std::string& path : {first, second}) {
    const Gguf set = Gguf::open(path);
    CHECK(set.count("llama.block_count") == 2);
    REQUIRE(set.tensors().size() == 3);
    CHECK(set.tensors()[2].name == "c");
    CHECK(set.tensors()[2].shard == 2);
  }
  // Parts whose contents do not match their names.
  folder.write("m-00003-of-00003.gguf", part(1, "c"));
  CHECK_THROWS_WITH(Gguf::open(first), doctest::Contains("part 3 of 3"));
  folder.write("m-00003-of-00003.gguf", part(2, "a"));
  CHECK_THROWS_WITH(Gguf::open(first), doctest::Contains("twice"));
  CHECK_THROWS_WITH(Gguf::open(folder.write("renamed.gguf", part(0, "a"))), doctest::Contains("restore the files"));
}

TEST_CASE("a file that is read in pieces gives the same as its bytes in memory") {
  const Folder folder;
  // Strings that end anywhere in a block that is read at once, one that is longer than a block, and arrays that are
  // read or skipped.
  GgufWriter writer = small();
  for (std::size_t i = 0; i < 300; ++i) writer.text("text." + std::to_string(i), std::string(i * 7, 'x'));
  const std::string longest(200'000, 'y');
  writer.text("longest", longest).strings("tokenizer.ggml.tokens", 40'000, "token").strings("wide", 50, longest);
  writer.array("numbers", std::vector<std::int32_t>(65'536, 7)).array("many", std::vector<std::int32_t>(65'537, 7));
  for (std::size_t i = 0; i < 3000; ++i) writer.tensor({"blk." + std::to_string(i), {8}, 0, 32});
  const std::string bytes = writer.file();
  const Gguf memory = Gguf::parse(bytes_of(bytes));
  const Gguf file = Gguf::open(folder.write("pieces.gguf", bytes));
  REQUIRE(file.keys() == memory.keys());
  CHECK(file.header_bytes() == memory.header_bytes());
  for (std::size_t i = 0; i < 300; ++i)
    CHECK(file.text("text." + std::to_string(i)) == memory.text("text." + std::to_string(i)));
  CHECK(file.text("longest") == longest);
  CHECK(file.length("tokenizer.ggml.tokens") == 40'000);
  CHECK(file.counts("numbers") == std::vector<std::uint64_t>(65'536, 7));
  CHECK_THROWS_WITH(file.counts("many"), doctest::Contains("has 65537 elements"));
  REQUIRE(file.tensors().size() == memory.tensors().size());
  for (std::size_t i = 0; i < file.tensors().size(); ++i) {
    CHECK(file.tensors()[i].name == memory.tensors()[i].name);
    CHECK(file.tensors()[i].offset == memory.tensors()[i].offset);
  }
}

TEST_CASE("a file that becomes shorter while it is read is an error") {
  const Folder folder;
  const std::string bytes = small().strings("tokenizer.ggml.tokens", 200'000, "token").file();
  const std::string path = folder.write("cut.gguf", bytes);
  const FileReader reader(path);
  std::filesystem::resize_file(path, 1000);
  std::byte piece[100];
  reader.read(900, piece);
  CHECK_THROWS_WITH(reader.read(901, piece), doctest::Contains("became shorter while it was read"));
  // The file is cut at any moment. A mapped file would end the test with a signal.
  std::atomic<bool> is_over = false;
  std::thread other([&] {
    while (!is_over) {
      folder.write("cut.gguf", bytes);
      std::filesystem::resize_file(path, 1000);
    }
  });
  int cut = 0;
  for (int i = 0; i < 300; ++i) {
    try {
      const auto length = Gguf::open(path).length("tokenizer.ggml.tokens");
      CHECK(length == 200'000);
    } catch (const Error& error) {
      CHECK(error.code() == Exit::kBadInput);
      ++cut;
    }
  }
  is_over = true;
  other.join();
  CHECK(cut > 0);
}

TEST_CASE("paths that are not files are refused") {
  CHECK_THROWS_AS(Gguf::open("no-such-file.gguf"), Error);
  CHECK_THROWS_WITH(Gguf::open("."), doctest::Contains("regular file"));
  CHECK_THROWS_WITH(Gguf::open("/dev/zero"), doctest::Contains("regular file"));
}

// Bits per weight as ggml's own headers give them.
TEST_CASE("ggml types have the sizes of their blocks") {
  const auto bits = [](std::string_view name) {
    const auto type = find_ggml_type(name);
    REQUIRE(type);
    return 8.0 * type->bytes / type->block;
  };
  CHECK(bits("Q4_K") == 4.5);
  CHECK(bits("q6_k") == 6.5625);
  CHECK(bits("q8_0") == 8.5);
  CHECK(bits("iq2_xxs") == 2.0625);
  CHECK(bits("mxfp4") == 4.25);
  CHECK_FALSE(find_ggml_type("q4_2"));
  for (const std::uint32_t id : {4U, 5U, 43U, 200U, 999U, ~0U}) CHECK_FALSE(find_ggml_type(id));
  CHECK(find_ggml_type(31U)->removed);
  CHECK(find_ggml_type(202U)->interleaved);

  const std::uint64_t dims[] = {4096, 14336, 8};
  CHECK(tensor_bytes(*find_ggml_type("q4_k"), dims) == Bytes(4096ULL / 256 * 144 * 14336 * 8));
  CHECK(tensor_bytes(*find_ggml_type("iq4_ks"), dims) == Bytes((4096ULL / 256 * 136 + 4) * 14336 * 8));
  CHECK(tensor_bytes(*find_ggml_type("f32"), {}) == Bytes(4));
  const std::uint64_t odd[] = {100};
  CHECK_THROWS_AS(tensor_bytes(*find_ggml_type("q4_k"), odd), Error);
}

}  // namespace
}  // namespace kvplan
