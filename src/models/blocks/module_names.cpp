// What a family's modules are called where that is not as Llama's, in its files and in its class: lists of modules in a
// quantization config name the one or the other. A row is one way to call all of them; a model_type may have several,
// and a row that changes no word of a module stands for the name that the inventory gave it.
// Source: transformers 5.23, the modules of each class and conversion_mapping.py; vLLM 0.33, the mappers of
// model_executor/models; for classes that neither has, the modelling file of the checkpoints.
#include <algorithm>

#include "kvplan/strings.h"
#include "models/blocks/inventory.h"

namespace kvplan {

namespace {

struct Row {
  std::string_view model_types;
  std::string_view words;  // "ours=theirs", in this order, each on what those before it left
};

// clang-format off
constexpr Row kRows[] = {
    // Experts: Mixtral's w1, w3, w2 are gate, up and down.
    {"mixtral minimax minimax_text_01 minimax_m1 minimax_m2 minimax_m3 minimax_m3_vl_text kimi_linear kimi_k3",
     "experts.*.gate_proj=experts.*.w1 experts.*.up_proj=experts.*.w3 experts.*.down_proj=experts.*.w2"},
    {"mixtral minimax minimax_text_01 minimax_m1 minimax_m2 minimax_m3 minimax_m3_vl_text kimi_linear kimi_k3",
     "block_sparse_moe=mlp"},
    {"minimax_m3 minimax_m3_vl_text", "block_sparse_moe=mlp shared_experts.gate_proj=shared_experts.gate_up_proj "
                                      "shared_experts.up_proj=shared_experts.gate_up_proj"},
    {"phimoe", "mlp=block_sparse_moe experts.*.gate_proj=experts.*.w1 experts.*.up_proj=experts.*.w3 "
               "experts.*.down_proj=experts.*.w2"},
    {"phimoe", "mlp.gate=mlp.router"},
    {"lfm2 lfm2_moe", "self_attn.o_proj=self_attn.out_proj mlp=feed_forward gate_proj=w1 up_proj=w3 down_proj=w2"},
    {"arctic", "mlp.gate_proj=residual_mlp.w1 mlp.up_proj=residual_mlp.w3 mlp.down_proj=residual_mlp.w2 "
               "mlp=block_sparse_moe experts.*.gate_proj=experts.*.w1 experts.*.up_proj=experts.*.w3 "
               "experts.*.down_proj=experts.*.w2"},
    {"dbrx", "layers.*=blocks.* self_attn.qkv_proj=norm_attn_norm.attn.Wqkv self_attn.o_proj=norm_attn_norm.attn.out_proj "
             "ffn.gate=ffn.router.layer experts.*.gate_proj=experts.mlp.w1 experts.*.up_proj=experts.mlp.v1 "
             "experts.*.down_proj=experts.mlp.w2"},
    // Beside a dense MLP: only that is "mlp".
    {"gemma4_text gemma4_unified_text diffusion_gemma_text", "mlp.gate=router.proj mlp.experts=experts"},
    {"gemma4_text gemma4_unified_text diffusion_gemma_text", "mlp.gate=router.proj mlp.experts=moe.experts"},
    {"granitemoe granitemoeshared granitemoehybrid granitemoe_swa",
     "mlp.gate_proj=shared_mlp.input_linear mlp.up_proj=shared_mlp.input_linear mlp.down_proj=shared_mlp.output_linear "
     "block_sparse_moe.gate=block_sparse_moe.router.layer experts.*.gate_proj=input_linear experts.*.up_proj=input_linear "
     "experts.*.down_proj=output_linear"},
    {"granitemoe granitemoeshared granitemoehybrid granitemoe_swa",
     "mlp.gate_proj=shared_mlp.input_linear mlp.up_proj=shared_mlp.input_linear mlp.down_proj=shared_mlp.output_linear "
     "block_sparse_moe.gate=block_sparse_moe.router"},
    {"jetmoe", "mlp.gate=mlp.router.layer experts.*.gate_proj=input_linear experts.*.up_proj=input_linear "
               "experts.*.down_proj=output_linear self_attention.experts.router=self_attention.experts.router.layer "
               "self_attention.experts.output=self_attention.experts.output_linear"},
    {"afmoe", "mlp.gate=mlp.router.gate"},
    {"aria_text", "mlp.gate=mlp.router experts.*.gate_proj=experts.fc1 experts.*.up_proj=experts.fc1 "
                  "experts.*.down_proj=experts.fc2"},
    {"longcat_flash longcat_flash_ngram longcat_next", "mlp.gate=mlp.router.classifier"},
    {"hunyuan_v1_moe hunyuan hunyuan_moe hunyuan_large", "mlp.gate=mlp.gate.wg mlp.shared_experts=mlp.shared_mlp"},
    {"step3p5 step3p7", "moe.shared_experts=share_expert moe.experts.*=moe"},
    {"step3p5 step3p7", "moe.shared_experts=share_expert"},
    {"llama4 llama4_text", "mlp.gate=feed_forward.router mlp.shared_experts=feed_forward.shared_expert mlp=feed_forward"},
    {"qwen2_moe", "shared_experts=shared_expert"},
    {"qwen3_next qwen3_5_text qwen3_5_moe_text qwen4_exp_text",
     "shared_experts=shared_expert linear_attn.in_proj_qkv=linear_attn.in_proj_qkvz "
     "linear_attn.in_proj_z=linear_attn.in_proj_qkvz"},
    {"qwen3_next qwen3_5_text qwen3_5_moe_text qwen4_exp_text",
     "shared_experts=shared_expert linear_attn.in_proj_ba=linear_attn.in_proj_b"},
    {"qwen3_next qwen3_5_text qwen3_5_moe_text qwen4_exp_text",
     "shared_experts=shared_expert linear_attn.in_proj_ba=linear_attn.in_proj_a"},
    // Lists written without every ".weight" say "indexers_proj".
    {"deepseek_v32 glm_moe_dsa", "self_attn.indexer.weights_proj=self_attn.indexers_proj"},
    {"deepseek_v32 glm_moe_dsa", ""},
    {"hy_v4", "mlp.gate_proj=mlp.linear_gate shared_experts.gate_proj=shared_experts.linear_gate "
              "self_attn.gate_proj=self_attn.linear_gate"},
    {"hy_v4", ""},
    {"inkling_text", "self_attn.q_proj=attn.wq_du self_attn.k_proj=attn.wk_dv self_attn.v_proj=attn.wv_dv "
                     "self_attn.o_proj=attn.wo_ud self_attn.r_proj=attn.wr_du mlp.gate_proj=mlp.w13_dn "
                     "mlp.up_proj=mlp.w13_dn mlp.down_proj=mlp.w2_md"},
    {"inkling_text", ""},
    {"deepseek_v4 deepseek_ref",
     "lm_head=head model.embed_tokens=embed experts.*.gate_proj=experts.*.w1 experts.*.up_proj=experts.*.w3 "
     "experts.*.down_proj=experts.*.w2 shared_experts.gate_proj=shared_experts.w1 shared_experts.up_proj=shared_experts.w3 "
     "shared_experts.down_proj=shared_experts.w2"},
    {"deepseek_v4 deepseek_ref",
     "attn.wq_a=self_attn.q_a_proj attn.wq_b=self_attn.q_b_proj attn.wkv=self_attn.kv_proj attn.wo_a=self_attn.o_a_proj "
     "attn.wo_b=self_attn.o_b_proj attn.indexer.wq_b=self_attn.compressor.indexer.q_b_proj "
     "attn.indexer.weights_proj=self_attn.compressor.indexer.scorer.weights_proj "
     "attn.indexer.compressor.wkv=self_attn.compressor.indexer.kv_proj "
     "attn.indexer.compressor.wgate=self_attn.compressor.indexer.gate_proj "
     "attn.compressor.wkv=self_attn.compressor.kv_proj attn.compressor.wgate=self_attn.compressor.gate_proj ffn=mlp"},
    // Mixers that stand in each other's place.
    {"nemotron_h nemotron_h_puzzle", "self_attn=mixer"},
    {"recurrent_gemma", "self_attn=temporal_block mlp=mlp_block"},
    {"bamba falcon_h1", "mlp=feed_forward"},
    {"jamba", "mlp=feed_forward feed_forward.gate=feed_forward.router"},
    // Fused and plain MLPs of other names.
    {"gpt2", "layers.*=h.* self_attn.qkv_proj=attn.c_attn self_attn.o_proj=attn.c_proj mlp.up_proj=mlp.c_fc "
             "mlp.down_proj=mlp.c_proj embed_tokens=wte"},
    {"gpt_bigcode", "layers.*=h.* self_attn.qkv_proj=attn.c_attn self_attn.o_proj=attn.c_proj mlp.up_proj=mlp.c_fc "
                    "mlp.down_proj=mlp.c_proj embed_tokens=wte"},
    {"gpt_neo", "layers.*=h.* self_attn=attn.attention o_proj=out_proj mlp.up_proj=mlp.c_fc mlp.down_proj=mlp.c_proj "
                "embed_tokens=wte"},
    {"gptj codegen", "layers.*=h.* self_attn=attn o_proj=out_proj mlp.up_proj=mlp.fc_in mlp.down_proj=mlp.fc_out "
                     "embed_tokens=wte"},
    {"gpt_neox", "self_attn.qkv_proj=attention.query_key_value self_attn.o_proj=attention.dense "
                 "mlp.up_proj=mlp.dense_h_to_4h mlp.down_proj=mlp.dense_4h_to_h lm_head=embed_out embed_tokens=embed_in"},
    {"gpt_neox", ""},
    {"falcon refinedweb refinedwebmodel bloom",
     "layers.*=h.* self_attn.qkv_proj=self_attention.query_key_value self_attn.o_proj=self_attention.dense "
     "mlp.up_proj=mlp.dense_h_to_4h mlp.down_proj=mlp.dense_4h_to_h embed_tokens=word_embeddings"},
    {"chatglm", "layers.*=encoder.layers.* self_attn.qkv_proj=self_attention.query_key_value "
                "self_attn.o_proj=self_attention.dense mlp.gate_up_proj=mlp.dense_h_to_4h mlp.down_proj=mlp.dense_4h_to_h "
                "lm_head=output_layer embed_tokens=embedding.word_embeddings"},
    {"qwen", "layers.*=h.* self_attn.qkv_proj=attn.c_attn self_attn.o_proj=attn.c_proj mlp.gate_proj=mlp.w2 "
             "mlp.up_proj=mlp.w1 mlp.down_proj=mlp.c_proj embed_tokens=wte"},
    {"baichuan", "self_attn.qkv_proj=self_attn.W_pack"},
    {"internlm2", "self_attn.q_proj=attention.wqkv self_attn.k_proj=attention.wqkv self_attn.v_proj=attention.wqkv "
                  "self_attn.o_proj=attention.wo mlp=feed_forward gate_proj=w1 up_proj=w3 down_proj=w2 lm_head=output "
                  "embed_tokens=tok_embeddings"},
    {"exaone", "layers.*=h.* self_attn=attn.attention o_proj=out_proj mlp.gate_proj=mlp.c_fc_0 mlp.up_proj=mlp.c_fc_1 "
               "mlp.down_proj=mlp.c_proj embed_tokens=wte"},
    {"bailing_moe bailing_moe_v2 bailing_moe_linear bailing_moe_v2_linear bailing_hybrid llada2_moe",
     "self_attn.qkv_proj=attention.query_key_value self_attn.o_proj=attention.dense self_attn=attention "
     "embed_tokens=word_embeddings"},
    {"mpt", "layers.*=blocks.* self_attn.qkv_proj=attn.Wqkv self_attn.o_proj=attn.out_proj mlp=ffn embed_tokens=wte"},
    {"phi", "self_attn.o_proj=self_attn.dense mlp.up_proj=mlp.fc1 mlp.down_proj=mlp.fc2"},
    {"persimmon fuyu", "self_attn.qkv_proj=self_attn.query_key_value self_attn.o_proj=self_attn.dense "
                       "mlp.up_proj=mlp.dense_h_to_4h mlp.down_proj=mlp.dense_4h_to_h"},
    {"starcoder2", "mlp.up_proj=mlp.c_fc mlp.down_proj=mlp.c_proj"},
    {"opt biogpt xglm", "self_attn.o_proj=self_attn.out_proj mlp.up_proj=fc1 mlp.down_proj=fc2"},
};
// clang-format on

// Where `words` stands in a name as whole words.
std::size_t find_words(std::string_view name, std::string_view words) {
  for (std::size_t at = name.find(words); at != std::string_view::npos; at = name.find(words, at + 1)) {
    const std::size_t end = at + words.size();
    if ((at == 0 || name[at - 1] == '.') && (end == name.size() || name[end] == '.')) return at;
  }
  return std::string_view::npos;
}

std::string renamed(std::string name, std::string_view words) {
  for (const std::string_view entry : split(words)) {
    const std::size_t equals = entry.find('=');
    const std::string_view ours = entry.substr(0, equals);
    const std::size_t at = find_words(name, ours);
    if (at != std::string_view::npos) name.replace(at, ours.size(), entry.substr(equals + 1));
  }
  return name;
}

void add(std::vector<std::string>& names, std::string name) {
  if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(std::move(name));
}

// transformers keeps the experts of a layer in two tensors, some files have one for each matrix.
void add_stacked(std::vector<std::string>& names, bool is_mlx) {
  for (std::size_t i = 0, count = names.size(); i < count; ++i) {
    add(names, renamed(names[i], "experts.*.gate_proj=experts.gate_up_proj experts.*.up_proj=experts.gate_up_proj"));
    add(names, renamed(names[i], "experts.*=experts"));
    // mlx-lm's own name alone: elsewhere an expression for dense MLPs would take it for one.
    if (is_mlx) add(names, renamed(names[i], "experts.*=switch_mlp"));
  }
}

// The layers behind the last, which predict further tokens: by their number, or in a block of their own.
std::vector<std::string> names_of_mtp(const std::vector<std::string>& names, std::uint64_t layer) {
  std::vector<std::string> out;
  for (const std::string& name : names) {
    const std::size_t at = name.find("layers.*.");
    if (at == std::string::npos) {
      add(out, name);
      continue;
    }
    const std::string module = name.substr(at + std::string_view("layers.*.").size());
    add(out, "layers." + std::to_string(layer) + "." + module);
    add(out, "mtp.layers.0." + module);
  }
  return out;
}

}  // namespace

void name_modules(ModelSpec& model, std::string_view class_name) {
  std::vector<std::string_view> ways;
  for (const Row& row : kRows)
    if (has_word(row.model_types, class_name)) ways.push_back(row.words);
  for (TensorGroup& group : model.tensors) {
    if (is_tower(group.component)) continue;
    std::vector<std::string> names;
    for (const std::string_view words : ways) add(names, renamed(group.module, words));
    if (names.empty()) names.push_back(group.module);
    if (group.is_expert) add_stacked(names, model.quantization.dialect == "mlx");
    if (group.component == Component::kMtp) names = names_of_mtp(names, model.layers.size());
    if (names.size() > 1 || names.front() != group.module) group.names = std::move(names);
  }
}

}  // namespace kvplan
