// Other names for the same quantity; the first key that is there wins. Source: attribute maps of transformers' config
// classes, remote-code configs on the Hub, vLLM's model_arch_config_convertor.py.
#include "formats/fields.h"

#include <array>

#include "kvplan/strings.h"

namespace kvplan {

namespace {

struct AliasRow {
  std::string_view key;
  std::string_view others;
};

constexpr std::array kAliases{
    AliasRow{"num_hidden_layers",
             "n_layer n_layers num_layers decoder_layers num_decoder_layers decoder_num_hidden_layers "
             "num_transformer_layers "
             "num_blocks layers"},
    AliasRow{"num_attention_heads",
             "n_head n_heads num_heads decoder_attention_heads decoder_num_attention_heads num_decoder_attention_heads "
             "attention_heads"},
    AliasRow{"num_key_value_heads",
             "num_kv_heads n_head_kv n_kv_heads multi_query_group_num num_multi_query_heads num_attention_groups "
             "num_query_groups "
             "decoder_num_key_value_heads"},
    AliasRow{"head_dim", "attention_head_dim kv_channels d_kv hidden_size_per_head head_size dim_head"},
    AliasRow{"hidden_size", "d_model n_embd n_embed model_dim dim hidden_dim emb_dim embed_dim embedding_dim"},
    AliasRow{"intermediate_size",
             "ffn_dim n_inner ffn_hidden_size d_ff decoder_ffn_dim ff_intermediate_size block_ff_dim mlp_hidden_size"},
    AliasRow{"vocab_size", "padded_vocab_size n_words n_token tgt_vocab_size"},
    AliasRow{"max_position_embeddings",
             "n_positions max_seq_len seq_length max_target_positions max_sequence_length max_seq_length seq_len "
             "context_length model_max_length n_ctx"},
    AliasRow{"sliding_window", "sliding_window_size attention_window_size window_size"},
    AliasRow{"attention_sink_size", "num_sink_tokens num_attention_sinks sink_size"},
    AliasRow{"conv_kernel_size", "sconv_kernel_size"},
    AliasRow{"first_k_dense_replace", "dense_mlp_idx"},
    AliasRow{"num_experts",
             "num_local_experts n_routed_experts moe_num_experts num_routed_experts moe_num_primary_experts"},
    AliasRow{"num_experts_per_tok",
             "num_experts_per_token moe_topk moe_top_k moe_k top_k_experts num_activated_experts "
             "moe_num_active_primary_experts"},
    AliasRow{"moe_intermediate_size", "moe_ffn_hidden_size"},
    AliasRow{"kv_lora_rank", "attention_kv_lora_dim"},
    AliasRow{"q_lora_rank", "attention_q_lora_dim"},
    AliasRow{"qk_nope_head_dim", "attention_qk_dim"},
    AliasRow{"qk_rope_head_dim", "attention_qk_rope_dim"},
    AliasRow{"v_head_dim", "attention_v_dim"},
    AliasRow{"dtype", "torch_dtype"},
    AliasRow{"state_size", "ssm_state_size mamba_d_state d_state"},
    AliasRow{"conv_kernel", "mamba_d_conv d_conv"},
    AliasRow{"expand", "mamba_expand"},
    AliasRow{"mamba_num_heads", "mamba_n_heads n_mamba_heads"},
    AliasRow{"mamba_head_dim", "mamba_d_head mamba_headdim"},
    AliasRow{"n_groups", "mamba_n_groups mamba_ngroups"},
    AliasRow{"dt_rank", "time_step_rank mamba_dt_rank"},
    AliasRow{"mamba_ssm_dtype", "mamba_ssm_cache_dtype"},
    AliasRow{"num_nextn_predict_layers", "mtp_num_hidden_layers num_mtp_modules num_mtp_layers"},
    AliasRow{"layer_types", "layers_block_type"},
    AliasRow{"n_shared_experts", "num_shared_experts moe_num_shared_experts num_shared_expert"},
};

}  // namespace

std::string_view aliases_of(std::string_view key) {
  for (const AliasRow& row : kAliases)
    if (row.key == key) return row.others;
  return "";
}

std::string_view alias_group(std::string_view key) {
  for (const AliasRow& row : kAliases)
    if (row.key == key || has_word(row.others, key)) return row.key;
  return "";
}

}  // namespace kvplan
