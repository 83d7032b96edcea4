// Source: llama.cpp v0.5.0, src/llama-arch.cpp (LLM_KV_NAMES) and conversion/ (which keys of a config are written
// where); ggml docs/gguf.md (defaults of absent keys).
#include "formats/gguf_keys.h"

#include <algorithm>
#include <array>

#include "formats/document.h"
#include "kvplan/error.h"
#include "kvplan/quantity.h"
#include "kvplan/strings.h"

namespace kvplan {

namespace {

constexpr std::string_view kCorrect = "correct the metadata, or download the file again";

enum class Holds {
  kNumber,
  kList,
  kLargest,  // a number, or one per layer; the largest one counts
};

// Some keys on the left are in no Hugging Face config. mamba_d_ssm is Falcon-H1's key, used here for the inner width of
// any Mamba. token_shift_count, ple_ngram_size, ple_conv_kernel and hyper_connection_count are the file's own names.
struct GgufKey {
  std::string_view own, key;
  Holds holds = Holds::kNumber;
  GgufRecurrence recurrence = GgufRecurrence::kNone;  // the recurrence that the row is for; kNone: any
};
using enum GgufRecurrence;
constexpr std::array kGgufKeys{
    GgufKey{"context_length", "max_position_embeddings"},
    GgufKey{"embedding_length", "hidden_size"},
    GgufKey{"feed_forward_length", "intermediate_size", Holds::kLargest},
    GgufKey{"vocab_size", "vocab_size"},
    GgufKey{"decoder_block_count", "decoder_layers"},
    GgufKey{"num_loops", "num_loops"},
    GgufKey{"attention.sliding_window", "sliding_window"},
    GgufKey{"attention.shared_kv_layers", "num_kv_shared_layers"},
    GgufKey{"attention.cross_attention_layers", "cross_attention_layers", Holds::kList},
    GgufKey{"attention.q_lora_rank", "q_lora_rank"},
    GgufKey{"attention.output_lora_rank", "o_lora_rank"},
    GgufKey{"attention.output_group_count", "o_groups"},
    GgufKey{"attention.compress_ratios", "compress_ratios", Holds::kList},
    GgufKey{"attention.indexer.key_length", "index_head_dim"},
    GgufKey{"attention.indexer.head_count", "index_n_heads"},
    GgufKey{"attention.indexer.top_k", "index_topk"},
    GgufKey{"attention.indexer.kpool", "index_kpool"},
    GgufKey{"expert_count", "num_experts"},
    GgufKey{"expert_used_count", "num_experts_per_tok", Holds::kLargest},
    GgufKey{"expert_feed_forward_length", "moe_intermediate_size", Holds::kLargest},
    GgufKey{"leading_dense_block_count", "first_k_dense_replace"},
    GgufKey{"hyper_connection.count", "hyper_connection_count"},
    GgufKey{"ple.layers", "ple_layer_ids", Holds::kList},
    GgufKey{"ple.ngram_size", "ple_ngram_size"},
    GgufKey{"ple.conv_kernel", "ple_conv_kernel"},
    GgufKey{"ssm.conv_kernel", "conv_kernel", Holds::kNumber, kMamba1},
    GgufKey{"ssm.state_size", "state_size", Holds::kNumber, kMamba1},
    GgufKey{"ssm.inner_size", "mamba_d_ssm", Holds::kNumber, kMamba1},
    GgufKey{"ssm.time_step_rank", "dt_rank", Holds::kNumber, kMamba1},
    GgufKey{"ssm.conv_kernel", "conv_kernel", Holds::kNumber, kMamba2},
    GgufKey{"ssm.state_size", "state_size", Holds::kNumber, kMamba2},
    GgufKey{"ssm.inner_size", "mamba_d_ssm", Holds::kNumber, kMamba2},
    GgufKey{"ssm.time_step_rank", "mamba_num_heads", Holds::kNumber, kMamba2},
    GgufKey{"ssm.group_count", "n_groups", Holds::kNumber, kMamba2},
    GgufKey{"ssm.conv_kernel", "linear_conv_kernel_dim", Holds::kNumber, kDeltaNet},
    GgufKey{"ssm.state_size", "linear_key_head_dim", Holds::kNumber, kDeltaNet},
    GgufKey{"ssm.group_count", "linear_num_key_heads", Holds::kNumber, kDeltaNet},
    GgufKey{"ssm.time_step_rank", "linear_num_value_heads", Holds::kNumber, kDeltaNet},
    GgufKey{"ssm.conv_kernel", "linear_attn_config.short_conv_kernel_size", Holds::kNumber, kKda},
    GgufKey{"kda.head_dim", "linear_attn_config.head_dim", Holds::kNumber, kKda},
    GgufKey{"shortconv.l_cache", "conv_L_cache", Holds::kNumber, kShortConv},
    GgufKey{"wkv.head_size", "head_dim", Holds::kNumber, kRwkv},
    GgufKey{"token_shift_count", "token_shift_count", Holds::kNumber, kRwkv},
};

std::uint64_t largest(const std::vector<std::uint64_t>& values) {
  return values.empty() ? 0 : *std::max_element(values.begin(), values.end());
}

std::uint64_t first_positive(const std::vector<std::uint64_t>& values) {
  const auto found = std::find_if(values.begin(), values.end(), [](std::uint64_t n) { return n > 0; });
  return found == values.end() ? 0 : *found;
}

}  // namespace

GgufKeys::GgufKeys(const Gguf& file, std::string_view architecture)
    : file_(file), prefix_(std::string(architecture) + '.'), document_(std::make_shared<Fields::Document>()) {}

std::uint64_t GgufKeys::number(std::string_view own, std::uint64_t fallback) const {
  return file_.count(full(own)).value_or(fallback);
}

std::uint64_t GgufKeys::positive(std::string_view own) const {
  const auto value = file_.count(full(own));
  if (!value) fail("the key \"" + one_line(full(own), 80) + "\" is missing", kCorrect);
  if (*value == 0) fail("\"" + one_line(full(own), 80) + "\" is 0", "it must be positive: " + std::string(kCorrect));
  return *value;
}

std::vector<std::uint64_t> GgufKeys::per_layer(std::string_view own) const {
  if (!is_array(own)) return std::vector<std::uint64_t>(num_layers_, number(own));
  std::vector<std::uint64_t> values = *file_.counts(full(own));
  if (values.size() < num_layers_)
    fail("\"" + one_line(full(own), 80) + "\" has " + std::to_string(values.size()) + " elements for " +
             std::to_string(num_layers_) + " layers",
         kCorrect);
  values.resize(num_layers_);
  return values;
}

std::vector<std::string> GgufKeys::all() const {
  std::vector<std::string> out;
  for (const std::string_view key : file_.keys())
    if (key.starts_with(prefix_)) out.emplace_back(key.substr(prefix_.size()));
  return out;
}

std::string GgufKeys::text(std::string_view own) const {
  if (!contains(own)) return "";
  if (!is_array(own)) return std::to_string(number(own));
  return '[' + join(*file_.counts(full(own)), ",", [](std::uint64_t each) { return std::to_string(each); }) + ']';
}

template <class Value>
void GgufKeys::put(std::string_view key, const Value& value, std::string_view own, std::string shown, Origin origin) {
  const std::size_t dot = key.find('.');
  nlohmann::json& root = document_->root;
  (dot == std::string_view::npos ? root[std::string(key)]
                                 : root[std::string(key.substr(0, dot))][std::string(key.substr(dot + 1))]) = value;
  document_->own[std::string(key)] = {full(own), std::move(shown), origin};
}

void GgufKeys::name(std::string_view key, std::string_view own) {
  document_->own[std::string(key)] = {full(own)};
}

bool GgufKeys::has(std::string_view key) const {
  return document_->root.contains(key);
}

void GgufKeys::set(std::string_view key, std::uint64_t value, std::string_view own, Origin origin) {
  put(key, value, own, origin == Origin::kFile ? text(own) : "", origin);
}

void GgufKeys::set(std::string_view key, const std::vector<std::uint64_t>& values, std::string_view own,
                   Origin origin) {
  put(key, values, own, origin == Origin::kFile ? text(own) : "", origin);
}

void GgufKeys::set(std::string_view key, const std::vector<std::string_view>& words, std::string_view own,
                   std::uint64_t fallback) {
  const bool said = contains(own);
  put(key, words, own, said ? text(own) : std::to_string(fallback), said ? Origin::kFile : Origin::kClassDefault);
}

void GgufKeys::set_layers(std::uint64_t block_count, std::uint64_t num_nextn) {
  block_count_ = block_count;
  num_layers_ = block_count - num_nextn;
  set("num_hidden_layers", num_layers_, "block_count");
  if (contains("nextn_predict_layers")) set("num_nextn_predict_layers", num_nextn, "nextn_predict_layers");
}

void GgufKeys::translate(GgufRecurrence recurrence) {
  for (const GgufKey& row : kGgufKeys) {
    if (row.recurrence != kNone && row.recurrence != recurrence) continue;
    name(row.key, row.own);
    if (!contains(row.own)) continue;
    const bool list = is_array(row.own);
    if (list && row.holds == Holds::kList)
      set(row.key, *file_.counts(full(row.own)), row.own);
    else if (list && row.holds == Holds::kLargest)
      set(row.key, largest(*file_.counts(full(row.own))), row.own);
    else if (row.holds != Holds::kList)
      set(row.key, number(row.own), row.own);
  }
  if (!has("vocab_size"))
    if (const auto tokens = file_.length("tokenizer.ggml.tokens"))
      set("vocab_size", *tokens, "vocab_size", Origin::kDerived);
  translate_heads(recurrence);
  translate_latent();
}

// A number for all layers, or one per layer. If the file does not give the width of a head, it follows from the number
// of heads. A window's head has the same width unless the file gives another.
void GgufKeys::translate_heads(GgufRecurrence recurrence) {
  struct Count {
    std::string_view own, key, each;
  };
  for (const Count& row : {Count{"attention.head_count", "num_attention_heads", "num_attention_heads_per_layer"},
                           Count{"attention.head_count_kv", "num_key_value_heads", "num_key_value_heads_per_layer"}}) {
    name(row.key, row.own);
    if (!contains(row.own)) continue;
    if (!is_array(row.own)) {
      set(row.key, number(row.own), row.own);
      continue;
    }
    if (const std::uint64_t size = *file_.length(full(row.own)); size != block_count_)
      fail("\"" + one_line(full(row.own), 80) + "\" has " + std::to_string(size) + " elements, and block_count is " +
               std::to_string(block_count_),
           kCorrect);
    const std::vector<std::uint64_t> values = per_layer(row.own);
    set(row.key, first_positive(values), row.own);
    set(row.each, values, row.own);
  }
  if (recurrence == kRwkv) return;
  if (recurrence == kKda && has("num_attention_heads"))
    set("linear_attn_config.num_heads", document_->root["num_attention_heads"].get<std::uint64_t>(),
        "attention.head_count");
  const std::uint64_t heads = is_array("attention.head_count") ? first_positive(per_layer("attention.head_count"))
                                                               : number("attention.head_count");
  struct Width {
    std::string_view own, key;
  };
  for (const Width& row : {Width{"attention.key_length", "head_dim"}, Width{"attention.value_length", "v_head_dim"}}) {
    name(row.key, row.own);
    const std::uint64_t usual = heads == 0 ? 0 : number("embedding_length") / heads;
    if (contains(row.own))
      set(row.key, positive(row.own), row.own);
    else if (usual > 0)
      set(row.key, usual, row.own, Origin::kDerived);
    const std::string window_own = std::string(row.own) + "_swa";
    if (contains("attention.key_length_swa") || contains("attention.value_length_swa"))
      set("swa_" + std::string(row.key), number(window_own, number(row.own, usual)),
          contains(window_own) ? std::string_view(window_own) : row.own);
  }
}

// key_length is the cached width: the latent and its rotated part. key_length_mla is the width of a head's key after
// expansion. Older files only have the expanded widths.
void GgufKeys::translate_latent() {
  const std::uint64_t rank = number("attention.kv_lora_rank");
  if (rank == 0) return;
  const std::uint64_t cached = number("attention.key_length");
  std::uint64_t key = number("attention.key_length_mla");
  std::uint64_t value = number("attention.value_length_mla");
  const bool latent = key > 0 && value > 0;
  const std::uint64_t rotated = latent ? cached - std::min(cached, rank) : number("rope.dimension_count");
  if (latent && (cached < rank || rotated > key))
    fail("\"" + full("attention.key_length") + "\" is " + std::to_string(cached) +
             ", which does not match a latent of " + std::to_string(rank) + " and a rotated key",
         "convert the model again");
  if (!latent) {
    key = cached;
    value = number("attention.value_length");
    // The width of a head is not given, or the widths are the latent's own.
    if (rotated == 0 || rotated >= key || value == 0 || key == rank + rotated) return;
  }
  set("kv_lora_rank", rank, "attention.kv_lora_rank");
  set("qk_rope_head_dim", rotated, latent ? "attention.key_length" : "rope.dimension_count");
  set("qk_nope_head_dim", key - rotated, latent ? "attention.key_length_mla" : "attention.key_length");
  set("v_head_dim", value, latent ? "attention.value_length_mla" : "attention.value_length");
}

Fields GgufKeys::fields() const {
  return Fields::of(document_);
}

}  // namespace kvplan
