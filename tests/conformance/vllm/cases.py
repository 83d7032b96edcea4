"""The cases of a release: a list of dicts with "kind", "config" (a name), "card", "tp", "args", "mem"."""
import json

import common

GIB = 1 << 30
K = 1024
DEFAULTS = "5.23.0"  # transformers, whose class defaults are run

# With a million tokens, these models' check takes minutes to search for the longest length.
BOUNDED = ("deepseek-ai--DeepSeek-V4-Flash", "nvidia--DeepSeek-V4-Pro-NVFP4", "deepseek-v4-flash", "MiniMaxAI--MiniMax-M3", "minimax-m3")
DRAFT_KEYS = ("num_nextn_predict_layers", "mtp_num_hidden_layers")
DRAFTED_OTHERWISE = ("XiaomiMiMo--MiMo-V2-Flash",)
STATE_KEYS = ("linear_attention", "mamba", "kda", "hybrid_override_pattern")

# More numbers of ranks than the one with which each config is run.
RANKS = {"Qwen--Qwen3-0.6B": (4, 8), "deepseek-ai--DeepSeek-V3.2": (4, 8), "openai--gpt-oss-20b": (2, 4, 8), "Qwen--Qwen3.5-35B-A3B": (2, 4, 8),
         "Qwen--Qwen3-235B-A22B-FP8": (8,), "deepseek-ai--DeepSeek-V3": (8,), "moonshotai--Kimi-K3": (2,), "zai-org--GLM-5.2": (2,),
         "nvidia--NVIDIA-Nemotron-3-Nano-30B-A3B-BF16": (2, 8), "Qwen--Qwen3-VL-4B-Instruct": (8,), "google--gemma-4-26B-A4B": (8,)}
TIGHT = """deepseek-ai--DeepSeek-V3 nvidia--NVIDIA-Nemotron-3-Nano-30B-A3B-BF16 openai--gpt-oss-20b zai-org--GLM-5.2""".split()
FP8 = """openai--gpt-oss-20b deepseek-ai--DeepSeek-V4-Flash deepseek-ai--DeepSeek-V3 deepseek-ai--DeepSeek-V3.2 nvidia--NVIDIA-Nemotron-3-Nano-30B-A3B-BF16
Qwen--Qwen3-8B Qwen--Qwen3.5-27B google--gemma-4-26B-A4B nvidia--Gemma-4-31B-IT-NVFP4 XiaomiMiMo--MiMo-V2-Flash moonshotai--Kimi-K3
meta-llama--Llama-4-Scout-17B-16E-Instruct zai-org--GLM-5.2 falcon-h1-1.5b kimi-linear-48b""".split()
# One model for each kind of attention, on GPUs that choose other backends.
KINDS = """deepseek-ai--DeepSeek-V3.2 deepseek-ai--DeepSeek-V3 moonshotai--Kimi-K3 nvidia--DeepSeek-V3.1-NVFP4 openai--gpt-oss-20b
zai-org--GLM-5.2 Qwen--Qwen3-8B Qwen--Qwen3.5-35B-A3B google--gemma-4-26B-A4B nvidia--NVIDIA-Nemotron-3-Nano-30B-A3B-BF16
meta-llama--Llama-4-Scout-17B-16E-Instruct nvidia--Gemma-4-31B-IT-NVFP4 XiaomiMiMo--MiMo-V2-Flash deepseek-ai--DeepSeek-V4-Flash""".split()
OTHER_CARDS = ("b200", "a100", "rtx-4090")
SETTINGS = [  # what moves windows, states and blocks
    ("openai--gpt-oss-20b", {"max_num_batched_tokens": 2048}), ("google--gemma-4-26B-A4B", {"max_num_batched_tokens": 2048}),
    ("Qwen--Qwen3.5-27B", {"max_num_batched_tokens": 2048}), ("Qwen--Qwen3-8B", {"block_size": 64}),
    ("openai--gpt-oss-20b", {"block_size": 32}), ("openai--gpt-oss-20b", {"disable_hybrid_kv_cache_manager": True}),
    ("google--gemma-4-26B-A4B", {"disable_hybrid_kv_cache_manager": True}), ("Qwen--Qwen3.5-27B", {"max_num_seqs": 32}),
    ("Qwen--Qwen3-8B", {"enforce_eager": True}), ("nvidia--NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", {"max_num_batched_tokens": 4096})]

AT_ONCE = """openai--gpt-oss-20b 1 google--gemma-4-26B-A4B 1 nvidia--Gemma-4-31B-IT-NVFP4 1 XiaomiMiMo--MiMo-V2-Flash 8
meta-llama--Llama-4-Scout-17B-16E-Instruct 4 Qwen--Qwen3.5-27B 1 Qwen--Qwen3.5-35B-A3B 2 nvidia--NVIDIA-Nemotron-3-Nano-30B-A3B-BF16 1
nvidia--NVIDIA-Nemotron-3-Super-120B-A12B-FP8 2 nvidia--Nemotron-H-56B-Base-8K 2 moonshotai--Kimi-K3 8 deepseek-ai--DeepSeek-V3 8
deepseek-ai--DeepSeek-V3.2 8 zai-org--GLM-5.1-FP8 8 deepseek-ai--DeepSeek-V4-Flash 4 moonshotai--Kimi-K2-Instruct 8 Qwen--Qwen3-8B 1
nvidia--Llama-3.1-70B-Instruct-FP8 4 mistralai--Mixtral-8x7B-v0.1 2 MiniMaxAI--MiniMax-M2.5 4 
Qwen--Qwen3-30B-A3B 1 falcon-h1-1.5b 1 kimi-linear-48b 4 default/jamba 4""".split()
# These run with all numbers of ranks on all GPUs, the others with fewer.
STARTS = """Qwen--Qwen3.5-27B deepseek-ai--DeepSeek-V3.2 meta-llama--Llama-4-Scout-17B-16E-Instruct google--gemma-4-26B-A4B
nvidia--NVIDIA-Nemotron-3-Super-120B-A12B-FP8 nvidia--Nemotron-H-56B-Base-8K""".split()
STARTS_TOO = """Qwen--Qwen3-0.6B openai--gpt-oss-20b deepseek-ai--DeepSeek-V3
deepseek-ai--DeepSeek-V4-Flash moonshotai--Kimi-K3 zai-org--GLM-5.2 nvidia--Gemma-4-31B-IT-NVFP4 nvidia--Qwen3-235B-A22B-NVFP4
XiaomiMiMo--MiMo-V2-Flash MiniMaxAI--MiniMax-M2.5""".split()


def of_plan(name, tp=1, mem=(20,), card="h100", **args):
    return {"kind": "plan", "config": name, "card": card, "tp": tp, "args": args, "mem": [m * GIB for m in mem]}


def is_real(name):
    return "--" in name


def has(entry, keys):
    text = json.dumps(entry["config"])
    return any(f'"{key}"' in text or f"{key}_" in text for key in keys)


def has_draft(name, entry):
    text = entry["config"].get("text_config", entry["config"])
    return name in DRAFTED_OTHERWISE or any(text.get(key) for key in DRAFT_KEYS)


def plans(configs):
    for name in configs:
        yield of_plan(name, mem=(4, 20, 60), **({"max_model_len": 32 * K} if name in BOUNDED else {}))
    for i, name in enumerate(filter(is_real, configs)):
        for tp in sorted({(2, 4, 8)[i % 3], *RANKS.get(name, ())}):
            yield of_plan(name, tp, (10,), max_model_len=16 * K)
    for name in TIGHT:
        yield of_plan(name, mem=(3, 20), max_model_len=32 * K)
    for name in FP8:
        yield of_plan(name, max_model_len=32 * K, kv_cache_dtype="fp8")
    for name, entry in configs.items():
        if is_real(name) and has_draft(name, entry):
            yield of_plan(name, max_model_len=32 * K, speculative_config={"method": "mtp", "num_speculative_tokens": 2})
    for name, entry in configs.items():
        if has(entry, STATE_KEYS):
            yield of_plan(name, 2, max_model_len=8 * K, enable_prefix_caching=False)
            yield of_plan(name, 2, max_model_len=8 * K, enable_prefix_caching=True)
    for name, args in SETTINGS:
        yield of_plan(name, max_model_len=32 * K, **args)
    for card in OTHER_CARDS:
        for name in KINDS:
            if "V4" in name and card != "b200":
                continue  # its kernels are for 9.0 and 10.0 alone, and the model does not ask
            yield of_plan(name, card=card, max_model_len=32 * K)
            if card == "rtx-4090" or name in ("Qwen--Qwen3-8B", "openai--gpt-oss-20b", "deepseek-ai--DeepSeek-V3.2"):
                yield of_plan(name, card=card, max_model_len=32 * K, kv_cache_dtype="fp8")


def of_defaults(defaults):
    for name, entry in defaults.items():
        text = entry["config"].get("text_config") or entry["config"]
        bound = [text[key] for key in ("max_position_embeddings", "n_positions", "max_seq_len", "n_ctx", "seq_length", "max_target_positions",
                                       "model_max_length") if isinstance(text.get(key), int)]
        yield of_plan(name, max_model_len=min([4 * K, *bound]))


def at_once():
    for name, tp in zip(AT_ONCE[::2], AT_ONCE[1::2]):
        for caching in (False, True):
            yield {"kind": "at_once", "config": name, "card": "h100", "tp": int(tp), "mem": [4 * GIB, 20 * GIB],
                   "args": {"max_model_len": 8 * K if "8K" in name else 32 * K, "enable_prefix_caching": caching}}


def starts():
    """60 GiB for the cache, so that no case is refused for lack of memory."""
    for card in ("h100", *OTHER_CARDS):
        for tp in (1, 2, 3, 8, 16):
            for name in STARTS + (STARTS_TOO if tp in (1, 8) or (card == "h100" and tp == 3) else []):
                for dtype in ("auto", "fp8"):
                    args = {"max_model_len": 8 * K, "kv_cache_dtype": dtype, **({"nnodes": 2} if tp > 8 else {})}
                    yield {"kind": "start", "config": name, "card": card, "tp": tp, "args": args, "mem": [60 * GIB]}


def class_defaults(known):
    """The class defaults whose class the release has."""
    path = f"{common.TRUTHS}/transformers-{DEFAULTS}.jsonl"
    configs = common.defaults(DEFAULTS)
    classes = {row["id"]: row["class"] for row in common.read_rows(path) if row.get("id") in configs and row.get("class") in known}
    return {name: {"config": {**configs[name], "architectures": [classes[name]], "torch_dtype": "bfloat16"}} for name in classes}


def with_producer(entry):
    """vLLM recognises a hf_quant_config.json by its producer, which some copies lack."""
    if "hf_quant_config" not in entry:
        return entry
    return {**entry, "hf_quant_config": {"producer": {"name": "modelopt"}, **entry["hf_quant_config"]}}


def of_release(known):
    """(cases in the order of the file, {name: files of its config})"""
    configs = {name: with_producer(entry) for name, entry in common.configs().items()}
    defaults = class_defaults(known)
    files = {**configs, **defaults}
    cases = [*plans(configs), *of_defaults(defaults), *at_once(), *starts()]
    return [*(case for case in cases if case["config"] in files), {"kind": "options", "config": None, "card": "h100"}], files
