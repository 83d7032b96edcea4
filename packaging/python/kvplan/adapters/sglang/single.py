"""Runs SGLang's code on one `sglang.launch_server` command for `kvplan verify`, with a simulated GPU.

A case: {"card": {"name", "capability", "memory"}, "words", "environment", "folder" (of config.json), "source" (of the package),
"ranks": {"tensor", "others"}, "free" (GiB before the weights), "weights" (bytes that are told), "fraction"}
"""
import argparse
import contextlib
import importlib
import logging
import os

import described_card
import worker

RENAMED = {"tensor_parallel_size": "tp_size", "data_parallel_size": "dp_size", "expert_parallel_size": "ep_size",
           "pipeline_parallel_size": "pp_size"}
OURS = ("model_path", "tp_size", "trust_remote_code", "tokenizer_path", "nnodes", "node_rank", "dist_init_addr", "host", "port")


def given(words, folder):
    """The server's arguments that the command sets."""
    from sglang.srt.server_args import ServerArgs

    parser = argparse.ArgumentParser(exit_on_error=False)
    ServerArgs.add_cli_args(parser)
    plain, typed = vars(parser.parse_args(["--model-path", folder])), vars(parser.parse_args(words))
    found = {RENAMED.get(name, name): value for name, value in typed.items() if value != plain[name]}
    return {name: value for name, value in found.items() if name not in OURS}


def beside_budget(free, fraction):
    """kvplan's budget for the cache is what remains after the reservation for images (since 0.5.18). Free memory has two decimals."""
    with contextlib.suppress(ImportError):
        from sglang.srt.mem_cache import kv_cache_configurator

        kept = getattr(kv_cache_configurator, "mm_runtime_reservation_gb", None)

        def reserved(**given):
            gib = kept(**given)
            return gib + fraction * (round(free, 2) - round(free + gib / fraction, 2))

        kv_cache_configurator.mm_runtime_reservation_gb = reserved


def row(case):
    os.environ.update(case["environment"])
    facts, mib = case["card"], case["card"]["mib"]
    described_card.CARD.tell(mib, divmod(facts["capability"], 10), facts["name"], mib / 1024)
    described_card.install()
    source = os.path.dirname(importlib.util.find_spec("sglang").submodule_search_locations[0])
    release = importlib.import_module(worker.adapter(source))
    release.import_engine()
    beside_budget(case["free"], case["fraction"])
    import torch
    from sglang.srt.models import registry  # noqa: F401

    torch.set_num_threads(1)
    logging.disable(logging.CRITICAL)
    asked = {"folder": case["folder"], "tp": case["ranks"]["tensor"], "mib": mib, "sm": divmod(facts["capability"], 10), "gpu": facts["name"],
             "context_gib": mib / 1024 - round(case["free"], 2), "weights": case["weights"], "given": given(case["words"], case["folder"])}
    if case["ranks"]["others"]:
        return {**worker.gathered(release.Engine(asked).resolve), "only_arguments": True}
    out = {"given": asked["given"], **worker.marked(worker.plan(release, asked), case["folder"])}
    missing = [name for name in out.pop("unregistered", ()) if has_class(source, name)]
    if missing:
        return {"not_run": f"the module of {missing[0]} needs a package or a card that is not here"}
    if out.get("artefact"):
        return {"not_run": out["refused"]}
    return out


def has_class(source, name):
    """Whether the release has a model of that class. If so, its import failed."""
    folder = os.path.join(source, "sglang", "srt", "models")
    for file in os.listdir(folder):
        if file.endswith(".py"):
            with open(os.path.join(folder, file), encoding="utf-8") as f:
                if f"class {name}(" in f.read():
                    return True
    return False
