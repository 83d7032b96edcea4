// Small models, one for each rule of llama.cpp's caches, as GGUF metadata. Widths are chosen so that each part of a
// cache is large enough to show in a log that prints hundredths of a MiB.
const float = (number) => ({float: number});

function model(architecture, keys, vocabulary = 64) {
    const out = {"general.architecture": architecture, "tokenizer.ggml.model": "no_vocab"};
    const common = {vocab_size: vocabulary, context_length: 32768, embedding_length: 256, block_count: 4,
        feed_forward_length: 256, "attention.head_count": 8, "attention.head_count_kv": 4,
        "attention.key_length": 64, "attention.value_length": 64, "attention.layer_norm_rms_epsilon": float(1e-6),
        "rope.dimension_count": 64};
    for (const [key, value] of Object.entries({...common, ...keys}))
        if (value !== null) out[`${architecture}.${key}`] = value;
    return out;
}

// Tensors that the loader does without and the graph does not.
const optional = (name, layers) => layers.map((layer) => `blk.${layer}.${name}`);
const all = [0, 1, 2, 3];

const mla = {"attention.head_count_kv": 1, "attention.key_length": 192, "attention.value_length": 128,
    "attention.kv_lora_rank": 128, "attention.q_lora_rank": 64, "attention.key_length_mla": 96, "attention.value_length_mla": 64,
    "rope.dimension_count": 64, "expert_count": 4, "expert_used_count": 2, "expert_feed_forward_length": 64,
    "expert_shared_count": 1, "leading_dense_block_count": 1, "expert_weights_scale": float(1), "expert_weights_norm": true, "expert_gating_func": 2};

export const models = {
    "llama": model("llama", {}),
    "qwen3": model("qwen3", {}),
    "phi3": model("phi3", {"attention.sliding_window": 512, "attention.key_length": null, "attention.value_length": null,
        "embedding_length": 512, "rope.scaling.original_context_length": 32768}),
    "gemma2": model("gemma2", {"attention.sliding_window": 512, "attn_logit_softcapping": float(50),
        "final_logit_softcapping": float(30)}),
    "gemma3": model("gemma3", {"block_count": 6, "attention.sliding_window": 512}),
    "gemma3n": model("gemma3n", {"block_count": 24, "attention.sliding_window": 512, "attention.shared_kv_layers": 4,
        "embedding_length_per_layer_input": 32, "altup.num_inputs": 4,
        "attention.sliding_window_pattern": Array.from({length: 24}, (_, i) => i % 5 !== 4)}),
    "gpt-oss": model("gpt-oss", {"attention.sliding_window": 128, "expert_count": 4, "expert_used_count": 2,
        "expert_feed_forward_length": 64, "rope.scaling.original_context_length": 4096}),
    "cohere2": model("cohere2", {"attention.sliding_window": 512, "embedding_length": 512, "logit_scale": float(0.25),
        "attention.layer_norm_epsilon": float(1e-5)}),
    "olmo2": model("olmo2", {"attention.sliding_window": 512, "attention.head_count_kv": 8, "embedding_length": 512,
        "attention.key_length": null, "attention.value_length": null}),
    "deepseek2": model("deepseek2", mla),
    "deci": model("deci", {"feed_forward_length": [256, 256, 0, 128], "attention.head_count": [8, 0, 8, 8],
        "attention.head_count_kv": [4, 0, 2, 1]}),
    "mamba": model("mamba", {"attention.head_count": 0, "attention.head_count_kv": null, "attention.key_length": null,
        "attention.value_length": null, "rope.dimension_count": null, "feed_forward_length": 0, "ssm.conv_kernel": 4,
        "embedding_length": 1024, "ssm.inner_size": 2048, "ssm.state_size": 16, "ssm.time_step_rank": 16}),
    "mamba2": model("mamba2", {"attention.head_count": 0, "attention.head_count_kv": null, "attention.key_length": null,
        "attention.value_length": null, "rope.dimension_count": null, "feed_forward_length": 0, "ssm.conv_kernel": 4,
        "ssm.inner_size": 512, "ssm.state_size": 64, "ssm.time_step_rank": 8, "ssm.group_count": 2}),
    "jamba": model("jamba", {"attention.key_length": null, "attention.value_length": null, "attention.head_count_kv": [0, 4, 0, 4], "ssm.conv_kernel": 4, "embedding_length": 1024, "ssm.inner_size": 2048,
        "ssm.state_size": 16, "ssm.time_step_rank": 16, "expert_count": 0, "expert_used_count": 0}),
    "granitehybrid": model("granitehybrid", {"attention.head_count_kv": [0, 4, 0, 4], "ssm.conv_kernel": 4,
        "ssm.inner_size": 512, "ssm.state_size": 64, "ssm.time_step_rank": 8, "ssm.group_count": 1,
        "logit_scale": float(1), "residual_scale": float(1), "embedding_scale": float(1), "attention.scale": float(1)}),
    "falcon-h1": model("falcon-h1", {"ssm.conv_kernel": 4, "ssm.inner_size": 512, "ssm.state_size": 64,
        "ssm.time_step_rank": 8, "ssm.group_count": 1}),
    "qwen3next": model("qwen3next", {"full_attention_interval": 4, "expert_count": 4, "expert_used_count": 2,
        "expert_feed_forward_length": 64, "expert_shared_feed_forward_length": 64, "ssm.conv_kernel": 4,
        "ssm.inner_size": 512, "ssm.state_size": 64, "ssm.time_step_rank": 8, "ssm.group_count": 4}),
    "lfm2": model("lfm2", {"attention.head_count_kv": [0, 4, 0, 4], "shortconv.l_cache": 3, "embedding_length": 2048,
        "attention.head_count": 32, "attention.key_length": null, "attention.value_length": null}),
    "rwkv6": model("rwkv6", {"attention.head_count": 0, "attention.head_count_kv": null, "attention.key_length": null,
        "attention.value_length": null, "rope.dimension_count": null, "attention.layer_norm_epsilon": float(1e-5),
        "wkv.head_size": 64, "time_mix_extra_dim": 16, "time_decay_extra_dim": 16, "rescale_every_n_layers": 6}),
    "gemma4": model("gemma4", {"block_count": 6, "attention.sliding_window": 512, "attention.shared_kv_layers": 2,
        "attention.key_length": 128, "attention.value_length": 128, "attention.key_length_swa": 64,
        "attention.value_length_swa": 64, "rope.dimension_count": 128, "rope.dimension_count_swa": 64,
        "embedding_length_per_layer_input": 32, "attention.sliding_window_pattern": [true, true, true, false, true, false]}),
    "mimo2": model("mimo2", {"attention.head_count_kv": [2, 4, 4, 2], "attention.key_length": 96,
        "attention.sliding_window": 128, "attention.sliding_window_pattern": [false, true, true, false], "expert_count": 4,
        "expert_used_count": 2, "expert_feed_forward_length": 64, "expert_gating_func": 2}),
    "nemotron_h": model("nemotron_h", {"feed_forward_length": [0, 256, 0, 256], "attention.head_count_kv": [0, 0, 4, 0],
        "attention.layer_norm_epsilon": float(1e-5), "ssm.conv_kernel": 4, "ssm.inner_size": 512, "ssm.state_size": 64,
        "ssm.time_step_rank": 8, "ssm.group_count": 2}),
    "plamo2": model("plamo2", {"attention.head_count_kv": [0, 4, 0, 4], "ssm.conv_kernel": 4, "ssm.inner_size": 512,
        "ssm.state_size": 64, "ssm.time_step_rank": 8, "ssm.group_count": 0}),
    "kimi-linear": model("kimi-linear", {...mla, "attention.q_lora_rank": null, "attention.head_count_kv": [0, 0, 0, 1],
        "ssm.conv_kernel": 4, "kda.head_dim": 64}),
    "minimax-01": model("minimax-01", {"full_attention_interval": 2, "expert_count": 4, "expert_used_count": 2,
        "residual_scale": float(1)}),
    "minimax-m3": model("minimax-m3", {"leading_dense_block_count": 1, "expert_count": 4, "expert_used_count": 2,
        "expert_feed_forward_length": 64, "expert_shared_count": 1, "expert_gating_func": 2,
        "attention.indexer.head_count": 4, "attention.indexer.key_length": 128, "attention.indexer.top_k": 16,
        "attention.indexer.block_size": 128, "attention.indexer.local_blocks": 1}),
    "qwen35": model("qwen35", {"full_attention_interval": 4, "ssm.conv_kernel": 4, "ssm.inner_size": 512,
        "ssm.state_size": 64, "ssm.time_step_rank": 8, "ssm.group_count": 4, "rope.dimension_sections": [11, 11, 10, 0]}),
    "deepseek32": model("deepseek32", {...mla, "attention.indexer.head_count": 4, "attention.indexer.key_length": 128,
        "attention.indexer.top_k": 16}),
    "glm-dsa": model("glm-dsa", {...mla, "attention.indexer.head_count": 4, "attention.indexer.key_length": 128,
        "attention.indexer.top_k": 16, "attention.indexer.types": [true, false, true, false]}),
    "deepseek4": model("deepseek4", {"attention.head_count_kv": 1, "attention.key_length": 128, "attention.value_length": 128,
        "attention.q_lora_rank": 64, "attention.sliding_window": 128, "expert_count": 4, "expert_used_count": 2,
        "expert_feed_forward_length": 64, "expert_shared_count": 1, "expert_weights_scale": float(1.5),
        "expert_weights_norm": true, "expert_gating_func": 4, "swiglu_clamp_exp": float(10),
        "attention.indexer.head_count": 4, "attention.indexer.key_length": 64, "attention.indexer.top_k": 16,
        "attention.output_group_count": 2, "attention.output_lora_rank": 64,
        "attention.compress_rope_freq_base": float(160000), "hyper_connection.count": 4,
        "hyper_connection.sinkhorn_iterations": 2, "hyper_connection.epsilon": float(1e-6), "hash_layer_count": 0,
        "attention.compress_ratios": [0, 4, 128, 4]}),
    "exaone4": model("exaone4", {"block_count": 64, "attention.sliding_window": 512, "embedding_length": 512}),
    "llama4": model("llama4", {"expert_count": 2, "expert_used_count": 1, "expert_feed_forward_length": 64,
        "interleave_moe_layer_step": 1}),
};

// To have beside what the loader asks for.
export const tensors = {
    "phi3": optional("attn_qkv.weight", all),
    "granitehybrid": optional("ssm_conv1d.bias", [0, 2]),
    "falcon-h1": [...optional("ssm_conv1d.bias", all), ...optional("ssm_norm.weight", all)],
    "qwen3next": [...optional("attn_qkv.weight", [0, 1, 2]), ...optional("attn_gate.weight", [0, 1, 2])],
    "nemotron_h": optional("ssm_conv1d.bias", [0]),
    "qwen35": [...optional("attn_qkv.weight", [0, 1, 2]), ...optional("attn_gate.weight", [0, 1, 2])],
    "minimax-01": optional("ffn_gate_exps.weight", all),
    "glm-dsa": ["indexer.k_norm.weight", "indexer.k_norm.bias", "indexer.proj.weight", "indexer.attn_k.weight",
        "indexer.attn_q_b.weight"].flatMap((each) => optional(each, [0, 2])),
    "rwkv6": optional("time_mix_lerp_fused.weight", all),
};

// n_batch is n_ubatch too; sequences have streams of their own.
export const contexts = [
    {n_ctx: 4096, n_seq: 1, n_batch: 512, type: "f16", flash_attention: true, swa_full: false},
    {n_ctx: 5000, n_seq: 3, n_batch: 768, type: "f16", flash_attention: true, swa_full: false},
    {n_ctx: 16384, n_seq: 2, n_batch: 128, type: "f16", flash_attention: false, swa_full: false},
    {n_ctx: 8192, n_seq: 1, n_batch: 2048, type: "q8_0", flash_attention: true, swa_full: true},
];
