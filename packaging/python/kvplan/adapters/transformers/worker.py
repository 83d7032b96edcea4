#!/usr/bin/env python3
"""Runs in the engine's environment: reads one job per line from standard input and writes its row as a line. Each model has its own process,
forked from one that has imported the library and run a small model."""
import os
import sys

sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import imports  # noqa: F401  (first)
import torch
import transformers
from class_defaults import CONFIG_MAPPING, CONFIG_MAPPING_NAMES, class_name, default, encoder_only, over
from filled import filled
from isolated import serve
from measured import build, measured, words

MEMORY = 12 << 30  # bytes of address space of a model's process; meta tensors take none
STATIC = {  # class defaults whose static cache is run too: one of each kind of layer
    "llama", "gemma2", "gemma3_text", "gemma4_text", "gpt_oss", "mistral", "cohere2", "llama4_text", "deepseek_v3", "glm_moe_dsa",
    "qwen3", "qwen3_moe", "qwen3_next", "qwen3_5_text", "olmo_hybrid", "minimax", "lfm2", "falcon_h1", "jamba", "bloom"}


def row_of(job):
    """The case's description, then its figures or the reason why there are none."""
    row = {}
    try:
        config, real = config_of(job, row)
        row.update(measured(config, row["class"], real, real or job["model_type"] in STATIC))
    except NoClass as e:
        row["not_run"] = str(e)
    except Exception as e:
        row["not_run"] = words(e)
    return row


class NoClass(Exception):
    pass


def config_of(job, row):
    """The config object of a case. The row gets its class and, for a default config, the config's keys."""
    kind, model_type = job["id"].split("/")[0], job["model_type"]
    if kind == "real":
        given = job["config"]
        model_type = given.get("model_type")
        if model_type not in CONFIG_MAPPING_NAMES:
            raise NoClass(f"the library has no class for model type {model_type}")
        wanted = (given.get("architectures") or [None])[0]
        row["class"] = wanted if wanted and hasattr(transformers, wanted) else class_name(model_type)
        return CONFIG_MAPPING[model_type].from_dict(given), True
    row["class"] = class_name(model_type)
    row["config"] = over(default(model_type), job.get("variant", {}))
    config = CONFIG_MAPPING[model_type].from_dict(row["config"])
    if encoder_only(config):
        row["encoder_only"] = True
    return config, kind == "variant"


def warm_up():
    """Imports modules that every model's process would import again."""
    config = CONFIG_MAPPING["gemma2"](hidden_size=64, num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=1,
                                      head_dim=32, intermediate_size=64, vocab_size=64)
    list(filled(build(config, "Gemma2ForCausalLM"), config, [2, 4]))
    for name in ("MixtralForCausalLM", "Qwen3NextForCausalLM", "LlavaForConditionalGeneration", "SiglipVisionModel"):
        getattr(transformers, name)


def main():
    torch.set_num_threads(1)
    warm_up()
    serve(row_of, lambda error: {"not_run": words(error)}, MEMORY)


if __name__ == "__main__":
    main()
