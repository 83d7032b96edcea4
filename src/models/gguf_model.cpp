#include "models/read.h"

#include <algorithm>
#include <array>

#include "kvplan/error.h"
#include "kvplan/strings.h"
#include "models/gguf_archs.h"
#include "models/gguf_reader.h"
#include "models/gguf_tensors.h"

namespace kvplan {

namespace {

// More layers than any model has; a file that says 2^32 must be an error, not a loop.
constexpr std::uint64_t kMaxLayers = 10000;

// Keys that speak of a cache. An architecture that nobody knows and that has one is not guessed at.
bool cache_like(std::string_view key) {
  static constexpr std::array<std::string_view, 5> kStarts{"ssm.", "kda.", "wkv.", "shortconv.", "compress"};
  static constexpr std::array<std::string_view, 6> kParts{"window",     "state",    "indexer.",
                                                          "_lora_rank", "compress", "recurrent"};
  return std::any_of(kStarts.begin(), kStarts.end(), [&](std::string_view start) { return key.starts_with(start); }) ||
         std::any_of(kParts.begin(), kParts.end(),
                     [&](std::string_view part) { return key.find(part) != std::string_view::npos; });
}

std::vector<std::string> unread_cache_keys(const GgufReader& reader) {
  std::vector<std::string> out;
  // The latent's keys are understood whatever the architecture.
  const bool latent = gguf_has_latent(reader);
  for (const std::string& key : reader.unread())
    if (cache_like(key) && !(latent && key.ends_with("_lora_rank"))) out.push_back(reader.full(key));
  return out;
}

std::string joined(const std::vector<std::string>& words) {
  return join(words, ", ", [](const std::string& word) { return one_line(word, 60); });
}

// MTP layers stand behind the model's own and are counted in block_count.
void read_layer_count(GgufReader& reader) {
  const std::uint64_t blocks = reader.positive("block_count");
  if (blocks > kMaxLayers)
    fail("\"" + one_line(reader.full("block_count"), 80) + "\" is " + std::to_string(blocks),
         "a model has at most " + std::to_string(kMaxLayers) + " layers");
  std::uint64_t nextn = reader.value_or("nextn_predict_layers", 0);
  if (nextn > blocks)
    fail("\"" + one_line(reader.full("nextn_predict_layers"), 80) + "\" is " + std::to_string(nextn) + " of " +
             std::to_string(blocks) + " layers",
         "correct the metadata");
  // DeepSeek-V4 was also converted without them, block_count then being the model's own.
  if (reader.model().model_type == "deepseek4" && nextn > 0 &&
      !reader.file().has_tensor("blk." + std::to_string(blocks - nextn) + ".nextn.eh_proj.weight"))
    nextn = 0;
  if (nextn == blocks) nextn = 0;  // a file of MTP layers alone is a model of its own
  reader.model().num_nextn_layers = nextn;
  reader.set_layers(blocks, nextn);
}

// A number for all layers, or the largest of one for each.
std::uint64_t largest(const GgufReader& reader, std::string_view key) {
  if (!reader.is_array(key)) return reader.value_or(key, 0);
  const std::vector<std::uint64_t> values = reader.array(key).value_or(std::vector<std::uint64_t>());
  return values.empty() ? 0 : *std::max_element(values.begin(), values.end());
}

// llama.cpp's rule: experts are as wide as the MLP where no key says otherwise.
ExpertShape read_experts(const GgufReader& reader, std::uint64_t feed_forward) {
  ExpertShape out;
  out.count = reader.value_or("expert_count", 0);
  if (out.count == 0) return {};
  out.used = largest(reader, "expert_used_count");
  out.width = largest(reader, "expert_feed_forward_length");
  if (out.width == 0) out.width = feed_forward;
  out.dense_layers = reader.value_or("leading_dense_block_count", 0);
  // Llama 4: every step-th layer has experts.
  if (const std::uint64_t step = reader.value_or("interleave_moe_layer_step", 0); step > 1)
    out.dense_layers = reader.num_layers() - reader.num_layers() / step;
  return out;
}

void read_sizes(GgufReader& reader) {
  ModelSpec& model = reader.model();
  model.max_model_len = Tokens(reader.value_or("context_length", 0));
  model.hidden_size = reader.positive("embedding_length");
  model.intermediate_size = largest(reader, "feed_forward_length");
  model.experts = read_experts(reader, model.intermediate_size);
  if (const auto size = reader.find("vocab_size")) {
    model.vocab_size = *size;
  } else if (const auto tokens = reader.file().length("tokenizer.ggml.tokens")) {
    model.vocab_size = *tokens;
    reader.derived("vocab_size", *tokens);
  }
}

}  // namespace

ModelSpec read_gguf(const Gguf& file, std::string_view source, const ReadOptions& options) {
  ModelSpec model;
  model.source = source;
  model.format = "gguf";
  // What llama.cpp computes and caches in unless told otherwise; recurrent state is float32 there, always.
  model.dtype = Dtype::kFloat16;
  model.dtype_declared = true;
  model.declared_state_dtype = Dtype::kFloat32;

  if (const auto type = file.text("general.type"); type && (*type == "adapter" || *type == "imatrix"))
    fail("the file is an " + std::string(*type) + ", no model",
         *type == "adapter" ? "give the base model's *.gguf file, and this one with --lora"
                            : "give the model's own *.gguf file");
  const auto named = file.text("general.architecture");
  if (!named || named->empty()) fail("the key \"general.architecture\" is missing", "give a model's *.gguf file");
  model.architecture = model.model_type = one_line(*named, 80);
  model.facts.push_back({"general.architecture", '"' + model.architecture + '"', Origin::kFile});

  GgufReader reader(file, *named, model);
  const GgufArch* arch = find_gguf_arch(*named);
  if (arch != nullptr && arch->read == gguf_projector) arch->read(reader, *arch);
  static constexpr GgufArch kGeneric{"", "generic", gguf_latent};
  const bool unknown = arch == nullptr;
  if (unknown) arch = &kGeneric;
  model.family = arch->family;

  std::vector<std::string> unread;
  if (unknown) {
    unread = unread_cache_keys(reader);
    if (!unread.empty() && !options.assume)
      fail(Exit::kUnknownArchitecture,
           "the architecture " + model.architecture +
               " is not known, and keys that speak of a cache were not understood: " + joined(unread),
           "--assume plans it from the plain fields all the same");
  }
  read_layer_count(reader);
  read_sizes(reader);
  arch->read(reader, *arch);
  read_gguf_tensors(reader);
  if (unknown) {
    std::string message = "the architecture " + model.architecture +
                          " is not known: planned from its plain fields as " + model_attention(model);
    if (!unread.empty()) message += "; not understood: " + joined(unread);
    model.notes.push_back({NoteLevel::kWarning, "assumed_architecture", message});
  }
  return model;
}

}  // namespace kvplan
