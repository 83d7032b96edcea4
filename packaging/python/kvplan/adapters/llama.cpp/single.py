"""Runs llama.cpp's library on one `llama-server` command for `kvplan verify`. Nothing is allocated and no weight is read (`no_alloc`, the mode of
the library's own `--fit`).

A case: {"model": a GGUF file, "words" of the command}
"""
import argparse
import re

import library

TYPES = {"f32": 0, "f16": 1, "q4_0": 2, "q4_1": 3, "q5_0": 6, "q5_1": 7, "q8_0": 8, "iq4_nl": 20, "bf16": 30}  # ggml_type
FLASH_ATTENTION = {"auto": -1, "off": 0, "on": 1}
CACHE = re.compile(r"^llama_(?:kv_cache|memory|\w+_state)\w*:(?:.*,)? +size = +([\d.]+) MiB")
NOT_ABOUT_THE_MODEL = re.compile(r"^(?:llama_model_load_from_file_impl|llama_init_from_model|common_\w+): failed to (?:load|initialize)")


def options(words):
    parser = argparse.ArgumentParser(allow_abbrev=False, add_help=False)
    for names, kind, value in ((("-c", "--ctx-size"), int, 0), (("-np", "--parallel"), int, 1), (("-b", "--batch-size"), int, 2048),
                               (("-ub", "--ubatch-size"), int, 512), (("-ctk", "--cache-type-k"), str, "f16"),
                               (("-ctv", "--cache-type-v"), str, "f16"), (("-fa", "--flash-attn"), str, "auto")):
        parser.add_argument(*names, type=kind, default=value, dest=names[1])
    for names in (("-kvu", "--kv-unified"), ("--swa-full",)):
        parser.add_argument(*names, action="store_true", dest=names[-1])
    return vars(parser.parse_known_args(words)[0])


def row(case):
    llama, given = library.Library(), options(case["words"])
    model = llama.model(case["model"])
    if not model:
        return {"refused": refusal(llama.said)}
    llama.said.clear()
    context = llama.context(model, {
        "n_ctx": given["--ctx-size"], "n_seq_max": given["--parallel"], "n_batch": given["--batch-size"], "n_ubatch": given["--ubatch-size"],
        "n_outputs_max": given["--parallel"], "type_k": TYPES[given["--cache-type-k"]], "type_v": TYPES[given["--cache-type-v"]],
        "flash_attn_type": FLASH_ATTENTION[given["--flash-attn"]], "kv_unified": given["--kv-unified"], "swa_full": given["--swa-full"]})
    if not context:
        return {"refused": refusal(llama.said)}
    sizes = [float(size) for line in llama.said for size in CACHE.findall(line)]
    return {"parameters": llama.number("llama_model_n_params", model), "n_ctx": llama.number("llama_n_ctx", context),
            "n_batch": llama.number("llama_n_batch", context), "n_ubatch": llama.number("llama_n_ubatch", context), "cache_mib": sizes,
            "sequences": 1 if given["--kv-unified"] else given["--parallel"]}


def refusal(said):
    """The last line that says why."""
    lines = [line.strip() for line in said if line.strip() and not NOT_ABOUT_THE_MODEL.match(line)]
    return re.sub(r"(/[\w.+-]+){2,}/?", "PATH", lines[-1])[:300] if lines else "the library did not say why"
