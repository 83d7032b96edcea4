// The limits for headers of weights and their indexes: at the limit a file is read, one beyond it is an error that
// names the limit.
#include <doctest/doctest.h>

#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "formats/bounds.h"
#include "formats/gguf.h"
#include "formats/safetensors.h"
#include "support/gguf_writer.h"
#include "support/program.h"

namespace kvplan {
namespace {

std::string with_length(std::uint64_t length, const std::string& header) {
  std::string out(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) out[i] = static_cast<char>(length >> (8 * i));
  return out + header;
}

TEST_CASE("bounds: files and tensors of an index") {
  const auto index = [](std::size_t tensors, std::size_t files) {
    std::string text = "{\"metadata\":{\"total_size\":5},\"weight_map\":{";
    for (std::size_t i = 0; i < tensors; ++i)
      text += (i > 0 ? ",\"\":\"" : "\"\":\"") + std::to_string(i % files) + "\"";
    return text + "}}";
  };
  CHECK(parse_safetensors_index(index(10'000, 10'000)).files.size() == 10'000);
  CHECK(has(error_of([&] { parse_safetensors_index(index(10'001, 10'001)); }), "more than 10000 files"));
  constexpr std::size_t kOthers = 4;  // three objects and the size
  CHECK(parse_safetensors_index(index(2'000'000 - kOthers, 1)).total_size == 5);
  CHECK(has(error_of([&] { parse_safetensors_index(index(2'000'001 - kOthers, 1)); }), "more than 2000000 values"));
  const auto named = [](std::size_t length) { return R"({"weight_map":{"a":")" + std::string(length, 'x') + "\"}}"; };
  CHECK(parse_safetensors_index(named(255)).files.size() == 1);
  CHECK(has(error_of([&] { parse_safetensors_index(named(256)); }), "which is not a file in the same directory"));
  for (const char* name : {".", "..", "", "a/b", "a\\\\b", "a\\u0000b"}) {
    CAPTURE(name);
    CHECK(has(error_of([&] { parse_safetensors_index(std::string(R"({"weight_map":{"a":")") + name + "\"}}"); }),
              "which is not a file in the same directory"));
  }
}

TEST_CASE("bounds: tensors and length of a safetensors header") {
  const auto count = [](const std::string& file, std::uint64_t file_bytes) {
    std::size_t tensors = 0;
    parse_safetensors(bytes_of(file), file_bytes, [&](const SafeTensor&) { ++tensors; });
    return tensors;
  };
  const auto tensors = [](std::size_t number) {
    const std::string header = "{" + repeated(R"("a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]})", number) + "}";
    return with_length(header.size(), header);
  };
  const std::string most = tensors(kMaxSafetensorsTensors);
  CHECK(count(most, most.size()) == kMaxSafetensorsTensors);
  const std::string more = tensors(kMaxSafetensorsTensors + 1);
  CHECK(has(error_of([&] { count(more, more.size()); }), "more than 524288 tensors"));
  const auto padded = [](std::uint64_t length) { return with_length(length, "{}" + std::string(length - 2, ' ')); };
  const std::string longest = padded(kMaxSafetensorsHeader);
  CHECK(count(longest, longest.size()) == 0);
  CHECK(has(error_of([&] { count(with_length(kMaxSafetensorsHeader + 1, "{}"), std::uint64_t{1} << 40); }),
            "claims 67108865 bytes"));
}

TEST_CASE("bounds: headers and tensors of a checkpoint's files in all") {
  const TemporaryFolder folder;
  const auto read = [](const std::vector<std::string>& paths) {
    std::size_t tensors = 0;
    SafetensorsWalked walked;
    read_safetensors(
        paths, [&](const SafeTensor&) { ++tensors; }, walked);
    return tensors;
  };
  const std::string longest =
      folder.write("longest.safetensors", with_length(64 << 20, "{}" + std::string((64 << 20) - 2, ' ')));
  const std::string small = folder.write("small.safetensors", with_length(2, "{}"));
  CHECK(read({longest, longest}) == 0);
  CHECK(has(error_of([&] { read({longest, longest, small}); }), "longer than 128 MiB in all"));
  // A pipeline is several checkpoints. Any number of links may lead to one.
  const auto part = [&](const std::string& name) {
    std::filesystem::create_directory(folder.path() + "/" + name);
    std::filesystem::create_symlink("../longest.safetensors", folder.path() + "/" + name + "/model.safetensors");
  };
  for (const char* name : {"a", "b"}) part(name);
  folder.write("model_index.json", R"({"_class_name":"x","a":[],"b":[],"c":[]})");
  const auto refusal = [&] { return run_program({folder.path()}).err; };
  CHECK(has(refusal(), "a diffusers pipeline"));
  part("c");
  CHECK(has(refusal(), "longer than 128 MiB in all"));
  const std::string header =
      "{" + repeated(R"("a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]})", kMaxSafetensorsTensors) + "}";
  const std::string many = folder.write("many.safetensors", with_length(header.size(), header));
  const std::string one_header = R"({"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})";
  const std::string one = folder.write("one.safetensors", with_length(one_header.size(), one_header));
  CHECK(read({many, many}) == kMaxCheckpointTensors);
  CHECK(has(error_of([&] { read({many, many, one}); }), "more than 1048576 tensors"));
}

TEST_CASE("bounds: the indexes of a pipeline in all, and the files of a set without one") {
  const TemporaryFolder folder;
  for (const char* name : {"a", "b"}) {
    std::filesystem::create_directory(folder.path() + "/" + name);
    folder.write(std::string(name) + "/x.safetensors", with_length(2, "{}"));
  }
  folder.write("model_index.json", R"({"_class_name":"x","a":[],"b":[]})");
  const auto refusal = [&](std::size_t bytes) {
    const std::string index = R"({"weight_map":{"a":"x.safetensors"}})";
    folder.write("a/model.safetensors.index.json", index + std::string((32 << 20) - index.size(), ' '));
    folder.write("b/model.safetensors.index.json", index + std::string(bytes - (32 << 20) - index.size(), ' '));
    return run_program({folder.path()}).err;
  };
  CHECK(has(refusal(64 << 20), "a diffusers pipeline"));
  CHECK(has(refusal((64 << 20) + 1), "the indexes are longer than 64 MiB in all"));
  const auto shards = [](int count) {
    const TemporaryFolder set;
    for (int i = 1; i <= count; ++i) {
      char name[64];
      std::snprintf(name, sizeof name, "m-%05d-of-%05d.safetensors", i, count);
      set.write(name, "");
    }
    std::uint64_t index_bytes = 0;
    SafetensorsWalked walked;
    return error_of([&] { checkpoint_files(set.path(), index_bytes, walked); });
  };
  CHECK(shards(10'000).empty());
  CHECK(has(shards(10'001), "more than 10000 files"));
}

TEST_CASE("bounds: strings, keys and tensors of a GGUF") {
  constexpr std::uint64_t kStrings = 1 << 22;
  const auto strings = [](std::uint64_t first, std::uint64_t second) {
    return GgufWriter("llama").strings("a", first, "").strings("b", second, "").file();
  };
  const auto parse = [](const std::string& file) { return error_of([&] { Gguf::parse(bytes_of(file)); }); };
  CHECK(parse(strings(kStrings / 2, kStrings / 2)).empty());
  CHECK(has(parse(strings(kStrings / 2, kStrings / 2 + 1)), "\"b\" claims 2097153 strings"));
  const auto keys = [](std::uint64_t number) {
    GgufWriter out("llama");
    for (std::uint64_t i = 1; i < number; ++i) out.u32(std::to_string(i), 0);
    return out.file();
  };
  CHECK(parse(keys(65536)).empty());
  CHECK(has(parse(keys(65537)), "claims 65537 keys"));
  const auto tensors = [](std::uint64_t number) {
    GgufWriter out("llama");
    for (std::uint64_t i = 0; i < number; ++i) out.tensor({std::to_string(i), {0}, 0, 0});
    return out.file();
  };
  CHECK(parse(tensors(262144)).empty());
  CHECK(has(parse(tensors(262145)), "claims 262145 tensors"));
  // For all parts of a set.
  const auto parts = [](std::uint64_t all_keys, std::uint64_t all_strings) {
    std::vector<std::string> files;
    std::vector<Gguf::Beginning> out;
    for (std::uint16_t part = 0; part < 2; ++part) {
      GgufWriter file = part == 0 ? GgufWriter("llama") : GgufWriter();
      file.u16("split.no", part).u16("split.count", 2);
      if (part == 1) {
        file.strings("s", all_strings, "");
        for (std::uint64_t i = 6; i < all_keys; ++i) file.u32(std::to_string(i), 0);
      }
      files.push_back(file.file());
    }
    for (const std::string& file : files) out.push_back({bytes_of(file), file.size()});
    return error_of([&] { Gguf::parse(out); });
  };
  CHECK(parts(65536, kStrings).empty());
  CHECK(has(parts(65537, 1), "claims 65534 keys"));
  CHECK(has(parts(6, kStrings + 1), "claims 4194305 strings"));
  // An array of numbers that is read, not skipped.
  const auto numbers = [](std::uint64_t count) {
    return GgufWriter("llama").array("n", std::vector<std::int32_t>(count)).file();
  };
  const std::string most = numbers(1 << 16);
  CHECK(Gguf::parse(bytes_of(most)).counts("n")->size() == 1 << 16);
  const std::string more = numbers((1 << 16) + 1);
  CHECK(has(error_of([&] { Gguf::parse(bytes_of(more)).counts("n"); }), "has 65537 elements"));
}

TEST_CASE("bounds: bytes of a GGUF's headers on the disk, with all its parts") {
  const TemporaryFolder folder;
  constexpr std::size_t kMost = 64 << 20;
  const auto part = [](std::uint16_t number, std::size_t bytes) {
    const auto of = [&](std::size_t text) {
      GgufWriter file = number == 0 ? GgufWriter("llama") : GgufWriter();
      return file.u16("split.no", number).u16("split.count", 2).text("x", std::string(text, 'x')).file();
    };
    return of(bytes - of(0).size());
  };
  const auto set = [&](std::size_t first, std::size_t second) {
    folder.write("m-00002-of-00002.gguf", part(1, second));
    return error_of([&] { Gguf::open(folder.write("m-00001-of-00002.gguf", part(0, first))); });
  };
  CHECK(set(kMost - 200, 200).empty());
  CHECK(has(set(kMost - 200, 201), "take more than 64 MiB"));
  CHECK(has(set(kMost + 1, 200), "take more than 64 MiB"));
}

}  // namespace
}  // namespace kvplan
