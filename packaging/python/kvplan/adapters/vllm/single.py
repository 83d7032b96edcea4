"""Runs vLLM's code on one `vllm serve` command for `kvplan verify`, with a simulated GPU.

A case: {"release", "card": {"name", "capability", "memory"}, "words", "environment", "folder" (of config.json), "cache" (a
folder), "ranks": {"tensor", "others"}, "mem": [bytes for the cache, ...]}
"""
import os

import card


def described(facts):
    """A GPU by its name, capability and memory. Its other properties are those of the nearest known GPU."""
    near = min(card.CARDS.values(), key=lambda row: (abs(10 * (row[1][0] * 10 + row[1][1]) - 10 * facts["capability"]), abs(row[2] - facts["memory"])))
    return (facts["name"], divmod(facts["capability"], 10), facts["memory"], *near[3:])


def row(case):
    os.environ.update(case["environment"])
    card.play(None, case["release"], described(case["card"]), True, case["cache"])
    import torch

    torch.set_num_threads(1)
    import launch
    import plan
    import worker

    fixed = {"load_format": "dummy", "trust_remote_code": False, "swap_space": 0, "model": case["folder"], "tokenizer": case["folder"]}
    if case["ranks"]["tensor"] > 1:
        fixed["distributed_executor_backend"] = "mp"
    try:
        config = launch.engine_config(case["words"], **fixed)
        if case["ranks"]["others"]:
            return {**plan.settled(config), "only_arguments": True}
        out, _, _ = plan.planned(config, case["ranks"]["tensor"], case["mem"])
        if out.get("artefact"):
            return {"not_run": f"its class {config.model_config.hf_config.architectures[0]} cannot be imported in this environment"}
        return {**out, "prefix_caching": bool(config.cache_config.enable_prefix_caching)}
    except Exception as error:
        if os.environ.get("KVPLAN_VERIFY_TRACE"):
            raise
        failed = worker.failed(error)
        if "not_run" in failed:
            raise
        return failed if "artefact" not in failed else {"not_run": failed["refused"]}
