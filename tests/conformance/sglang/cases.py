"""The cases of a release, in the order of the file: dicts with "kind", "config" (a name), "card", "tp", "given"."""
import os

import common

GIB = 1 << 30
K = 1024
DEFAULTS = "5.23.0"  # transformers, whose class defaults are run

# MiB by nvidia-smi, compute capability, name, GiB that a started process has taken before the weights
CARDS = {"24": (24564, (8, 9), "NVIDIA GeForce RTX 4090", 0.968281), "40": (40960, (8, 0), "NVIDIA A100-SXM4-40GB", 1.12),
         "a100": (81920, (8, 0), "NVIDIA A100-SXM4-80GB", 1.12),
         "48": (46068, (8, 9), "NVIDIA L40S", 1.088281), "80": (81559, (9, 0), "NVIDIA H100 80GB HBM3", 0.967461),
         "141": (143771, (9, 0), "NVIDIA H200", 1.181367), "180": (183359, (10, 0), "NVIDIA B200", 1.211523)}

AT_ONCE = """openai--gpt-oss-20b 1 google--gemma-4-26B-A4B 1 nvidia--Gemma-4-31B-IT-NVFP4 1 XiaomiMiMo--MiMo-V2-Flash 8
meta-llama--Llama-4-Scout-17B-16E-Instruct 4 Qwen--Qwen3.5-27B 1 Qwen--Qwen3.5-35B-A3B 2 nvidia--NVIDIA-Nemotron-3-Nano-30B-A3B-BF16 1
nvidia--NVIDIA-Nemotron-3-Super-120B-A12B-FP8 2 nvidia--Nemotron-H-56B-Base-8K 2 moonshotai--Kimi-K3 8 deepseek-ai--DeepSeek-V3 8
deepseek-ai--DeepSeek-V3.2 8 zai-org--GLM-5.1-FP8 8 deepseek-ai--DeepSeek-V4-Flash 4 moonshotai--Kimi-K2-Instruct 8 Qwen--Qwen3-8B 1
meta-llama--Meta-Llama-3.1-8B 1 nvidia--Llama-3.1-70B-Instruct-FP8 4 mistralai--Mixtral-8x7B-v0.1 2 MiniMaxAI--MiniMax-M2.5 4
Qwen--Qwen3-30B-A3B 1 falcon-h1-1.5b 1 kimi-linear-48b 4""".split()
AT_ONCE_PAGED = """Qwen--Qwen3-8B 1 openai--gpt-oss-20b 1 deepseek-ai--DeepSeek-V3 8""".split()  # pages of 64 on the newest card
LONGEST = 128 * K  # of a model that takes millions of tokens: its table of requests is held in memory here

STARTS = """Qwen--Qwen3-0.6B openai--gpt-oss-20b Qwen--Qwen3-235B-A22B-FP8 MiniMaxAI--MiniMax-M2.5 deepseek-ai--DeepSeek-V3
deepseek-ai--DeepSeek-V3.2 deepseek-ai--DeepSeek-V4-Flash moonshotai--Kimi-K3 Qwen--Qwen3.5-27B google--gemma-4-26B-A4B
meta-llama--Llama-4-Scout-17B-16E-Instruct nvidia--Qwen3-235B-A22B-NVFP4 nvidia--NVIDIA-Nemotron-3-Super-120B-A12B-FP8
nvidia--Llama-3.1-70B-Instruct-FP8""".split()
STARTS_ON = {"80": (1, 3, 8), "180": (1, 8), "40": (1,), "24": (1,)}
BACKENDS = """fa3 fa4 flashinfer triton trtllm_mha torch_native flex_attention""".split()
MLA_BACKENDS = """fa3 flashinfer triton trtllm_mla flashmla cutlass_mla tokenspeed_mla""".split()
WITH_BACKENDS = {"Qwen--Qwen3-0.6B": BACKENDS, "openai--gpt-oss-20b": BACKENDS, "deepseek-ai--DeepSeek-V3": MLA_BACKENDS}
ROOM = 60 * GIB  # for the cache, so that no refusal is one of room


def on(card, kind, config, tp, **more):
    mib, sm, gpu, taken = CARDS[card]
    return {"kind": kind, "config": config, "gpu": gpu, "mib": mib, "sm": list(sm), "card": card, "tp": tp, "context_gib": taken, **more}


def plans():
    """cases.jsonl has the size of the weights that the harness passes to the engine. kvplan planned it from the config when the file was written."""
    for case in common.read_rows(os.path.join(os.path.dirname(os.path.abspath(__file__)), "cases.jsonl")):
        yield on(case.pop("card"), "plan", case.pop("config"), case.pop("tp"), **case)


def at_once(configs):
    asked = [("80", *pair) for pair in zip(AT_ONCE[::2], AT_ONCE[1::2])]
    asked += [("180", *pair) for pair in zip(AT_ONCE_PAGED[::2], AT_ONCE_PAGED[1::2])]
    for card, name, tp in asked:
        if name not in configs:
            continue
        config = configs[name]["config"]
        text = config.get("text_config", config)
        bound = {"context_length": LONGEST} if text.get("max_position_embeddings", 0) > 4 * LONGEST else {}
        for mem in (4 * GIB, 20 * GIB):
            for caching in (False, True):
                given = {**bound, **({} if caching else {"disable_radix_cache": True})}
                yield on(card, "at_once", name, int(tp), mem=mem, given=given, prefix_caching=caching,
                         ask=["8k", "32k", "mix"] + ["shared"] * caching)


def starts():
    for card, ranks in STARTS_ON.items():
        for tp in ranks:
            more = {("80", 1): ["fp8_e5m2"], ("180", 1): ["fp4_e2m1"]}.get((card, tp), [])
            for name in STARTS:
                for dtype in ["auto", "fp8_e4m3", *more]:
                    yield on(card, "start", name, tp, given={"kv_cache_dtype": dtype}, mem=ROOM)
    for card in ("80", "180", "40"):
        for name, backends in WITH_BACKENDS.items():
            for backend in backends:
                yield on(card, "start", name, 1, given={"attention_backend": backend}, mem=ROOM)


def class_defaults():
    """Class defaults, with the name of their class as in a checkpoint."""
    path = os.path.join(common.TRUTHS, f"transformers-{DEFAULTS}.jsonl")
    classes = {row["id"]: row.get("class") for row in common.read_rows(path)[1:] if "id" in row}
    return {name: {"config": {**config, "architectures": [classes[name]], "torch_dtype": "bfloat16"}}
            for name, config in common.defaults(DEFAULTS).items() if classes[name]}


def of_release():
    """(cases, {name: files of its config})"""
    configs = common.configs()
    files = {**configs, **class_defaults()}
    return [case for case in [*plans(), *at_once(configs), *starts()] if case["config"] in files], files
