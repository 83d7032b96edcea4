// Files that are loaded with a model: adapters, projectors, drafts; and invalid files.
#include "sources/load.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "kvplan/error.h"
#include "support/figures.h"
#include "support/gguf_writer.h"

namespace kvplan {
namespace {

namespace fs = std::filesystem;

struct Folder {
  fs::path path =
      fs::temp_directory_path() / ("kvplan_companions_" + std::to_string(getpid()) + "_" + std::to_string(std::rand()));
  Folder() { fs::create_directories(path); }
  ~Folder() { fs::remove_all(path); }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path / name, std::ios::binary) << text;
    return (path / name).string();
  }
};

std::string safetensors(const std::string& header, std::size_t data) {
  std::string out;
  for (std::size_t i = 0; i < 8; ++i) out += static_cast<char>((header.size() >> (8 * i)) & 0xff);
  return out + header + std::string(data, '\0');
}

const std::string kPair = safetensors(
    R"({"base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight":{"dtype":"F32","shape":[8,4],"data_offsets":[0,128]},)"
    R"("base_model.model.model.layers.0.self_attn.q_proj.lora_B.weight":{"dtype":"F32","shape":[6,8],"data_offsets":[128,320]}})",
    320);

TEST_CASE("an adapter's directory: the rank of its config, the bytes of its file") {
  const Folder folder;
  folder.write("adapter_config.json",
               R"({"peft_type": "LORA", "r": 8, "rank_pattern": {"q_proj": 32}, "target_modules": ["q_proj", "v_proj"],
                   "base_model_name_or_path": "org/base"})");
  AdapterFile config = load_adapter(folder.path.string(), {});
  CHECK(config.rank == 32);
  CHECK(config.targets == std::vector<std::string>{"q_proj", "v_proj"});
  CHECK(config.bytes == Bytes(0));
  const std::string file = folder.write("adapter_model.safetensors", kPair);
  for (const std::string& path : {folder.path.string(), file, folder.path.string() + "/adapter_config.json"}) {
    const AdapterFile adapter = load_adapter(path, {});
    CHECK(adapter.rank == 32);
    CHECK(adapter.targets == std::vector<std::string>{"q_proj"});
    CHECK(adapter.elements == Elements(8 * 4 + 6 * 8));
    CHECK(adapter.bytes == Bytes(320));
  }
  // Given as MODEL, an adapter is refused with advice.
  try {
    load_model(folder.path.string(), {});
    CHECK(false);
  } catch (const Error& error) {
    CHECK(error.line().find("org/base") != std::string::npos);
    CHECK(error.line().find("--lora") != std::string::npos);
  }
}

TEST_CASE("a file that is not an adapter gives a one-line error") {
  const Folder folder;
  CHECK_THROWS_AS(load_adapter(folder.path.string(), {}), Error);
  CHECK_THROWS_AS(load_adapter((folder.path / "missing").string(), {}), Error);
  CHECK_THROWS_AS(load_adapter(folder.write("empty.gguf", ""), {}), Error);
  CHECK_THROWS_AS(load_adapter(folder.write("weights.safetensors", safetensors("{}", 0)), {}), Error);
  folder.write("adapter_config.json", R"({"peft_type": "PREFIX_TUNING", "r": 8})");
  CHECK_THROWS_AS(load_adapter(folder.path.string(), {}), Error);
  folder.write("adapter_config.json", R"({"r": 4000000000})");
  CHECK_THROWS_AS(load_adapter(folder.path.string(), {}), Error);
}

std::string refusal_of(const std::string& path) {
  try {
    load_adapter(path, {});
  } catch (const Error& error) {
    return error.line();
  }
  return "";
}

TEST_CASE("an adapter's rank: the same refusals and defaults as in PEFT") {
  const Folder folder;
  const auto with = [&](const std::string& keys) {
    folder.write("adapter_config.json", R"({"peft_type": "LORA", "target_modules": ["q_proj"])" + keys + "}");
    return folder.path.string();
  };
  CHECK(load_adapter(with(""), {}).rank == 8);  // LoraConfig's default
  CHECK(refusal_of(with(R"(, "r": 0)")).find("\"r\" is 0") != std::string::npos);
  CHECK(refusal_of(with(R"(, "r": -8)")).find("\"r\" is -8") != std::string::npos);
  CHECK(refusal_of(with(R"(, "r": "8")")).find("\"r\" is \"8\"") != std::string::npos);
  CHECK(refusal_of(with(R"(, "r": 8.5)")).find("\"r\" is 8.5") != std::string::npos);
  CHECK(refusal_of(with(R"(, "r": 8, "rank_pattern": {"k_proj": 0})")).find("rank_pattern.k_proj") !=
        std::string::npos);
  CHECK_FALSE(refusal_of(with(R"(, "r": 8, "rank_pattern": {"k_proj": "x"})")).empty());
  // A file without a config: A is rank x inputs.
  const Folder bare;
  CHECK(load_adapter(bare.write("mine.safetensors", kPair), {}).rank == 8);
}

TEST_CASE("an adapter's target_modules, as PEFT reads them") {
  const Folder folder;
  const auto with = [&](const std::string& targets) {
    folder.write("adapter_config.json", R"({"peft_type": "LORA", "r": 8)" + targets + "}");
    return folder.path.string();
  };
  CHECK(load_adapter(with(R"(, "target_modules": "all-linear")"), {}).targets ==
        std::vector<std::string>{"all-linear"});
  const AdapterFile pattern = load_adapter(with(R"(, "target_modules": ".*\\.(q|v)_proj")"), {});
  CHECK(pattern.targets.empty());
  REQUIRE(pattern.notes.size() == 1);
  CHECK(in_words(pattern.notes[0].message).find("pattern") != std::string::npos);
  for (const char* absent : {"", R"(, "target_modules": null)"}) {
    const AdapterFile adapter = load_adapter(with(absent), {});
    CHECK(adapter.targets.empty());
    CHECK(adapter.notes.size() == 1);
  }
  CHECK(load_adapter(with(R"(, "target_modules": ["model.layers.0.self_attn.q_proj", "v_proj", "v_proj"])"), {})
            .targets == std::vector<std::string>{"q_proj", "v_proj"});
  // A string is matched with whole paths, so a bare name matches nothing. Neither does an empty list.
  for (const char* bad : {R"("q_proj")", R"("")", "[]", R"([""])", "[3]", "7", "{}", "true"}) {
    CAPTURE(bad);
    CHECK(refusal_of(with(R"(, "target_modules": )" + std::string(bad))).find("target_modules") != std::string::npos);
  }
  // The tensors take precedence over the config.
  folder.write("adapter_model.safetensors", kPair);
  for (const char* any : {R"(, "target_modules": "q_proj")", R"(, "target_modules": [])", ""}) {
    const AdapterFile adapter = load_adapter(with(any), {});
    CHECK(adapter.targets == std::vector<std::string>{"q_proj"});
    CHECK(adapter.notes.empty());
  }
}

TEST_CASE("GGUF adapters and projectors") {
  GgufWriter adapter("llama");
  adapter.text("general.type", "adapter").text("adapter.type", "lora");
  adapter.tensor({"blk.0.attn_q.weight.lora_a", {4096, 16}, 1, 4096 * 16 * 2});
  adapter.tensor({"blk.0.attn_q.weight.lora_b", {16, 4096}, 1, 4096 * 16 * 2});
  const std::string text = adapter.file();
  const AdapterFile lora = read_gguf_adapter(Gguf::parse(bytes_of(text)));
  CHECK(lora.rank == 16);
  CHECK(lora.bytes == Bytes(2 * 4096 * 16 * 2));
  CHECK(lora.targets == std::vector<std::string>{"attn_q"});

  GgufWriter clip("clip");
  clip.text("clip.projector_type", "gemma3").u32("clip.vision.embedding_length", 1152);
  clip.u32("clip.vision.image_size", 896).u32("clip.vision.patch_size", 14).u32("clip.vision.attention.head_count", 16);
  clip.u32("clip.vision.feed_forward_length", 4304);
  clip.tensor({"v.patch_embd.weight", {32, 4}, 0, 512});
  const std::string projector = clip.file();
  const ProjectorFile file = read_gguf_projector(Gguf::parse(bytes_of(projector)));
  CHECK(file.bytes == Bytes(512));
  CHECK(file.image_size == 896);
  CHECK_THROWS_AS(read_gguf_adapter(Gguf::parse(bytes_of(projector))), Error);
  CHECK_THROWS_AS(read_gguf_projector(Gguf::parse(bytes_of(text))), Error);
}

TEST_CASE("--speculative-config, as vLLM has it") {
  const SpeculativeConfig eagle =
      parse_speculative_config(R"({"method": "eagle3", "model": "org/head", "num_speculative_tokens": 5})");
  CHECK(eagle.method == DraftMethod::kEagle3);
  CHECK(eagle.model == "org/head");
  CHECK(eagle.num_tokens == 5);
  const SpeculativeConfig ngram = parse_speculative_config(R"({"method": "ngram", "prompt_lookup_max": 4})");
  CHECK(ngram.method == DraftMethod::kNgram);
  CHECK(ngram.model.empty());
  CHECK(parse_speculative_config(R"({"method": "qwen3_next_mtp"})").method == DraftMethod::kMtp);
  CHECK_THROWS_AS(parse_speculative_config(R"({"method": "guesswork"})"), Error);
  CHECK_THROWS_AS(parse_speculative_config("eagle3"), Error);
  CHECK_THROWS_AS(parse_speculative_config(R"({"num_speculative_tokens": -1})"), Error);
}

TEST_CASE("methods by their names in the engines") {
  CHECK(find_draft_method("STANDALONE") == DraftMethod::kModel);
  CHECK(find_draft_method("NEXTN") == DraftMethod::kMtp);
  CHECK(find_draft_method("draft-mtp") == DraftMethod::kMtp);
  CHECK(find_draft_method("EAGLE3") == DraftMethod::kEagle3);
  CHECK(find_draft_method("DFLASH") == DraftMethod::kDflash);
  CHECK(find_draft_method("dspark") == DraftMethod::kDspark);
  CHECK(find_draft_method("glm5_next_mtp") == DraftMethod::kMtp);
  CHECK(find_draft_method("FROZEN_KV_MTP") == DraftMethod::kModel);
  CHECK(find_draft_method("ngram_gpu") == DraftMethod::kNgram);
  CHECK_FALSE(find_draft_method("guesswork"));
}

}  // namespace
}  // namespace kvplan
