"""Checked by mypy --strict (packaging/python/test), not run: the types that the package gives to a user."""

from pathlib import Path
from typing import Dict, List, Optional

import kvplan
from kvplan import results

plan = kvplan.plan("org/name", engine="vllm", gpu="h100-80gb", max_model_len=1e5, enforce_eager=True)
status: str = plan["verdict"]["status"]
reserved: int = plan["kv_cache"]["reserved_bytes"]
first: results.GpuMemory = plan["memory"][0]
longest: Optional[int] = None if plan["capacity"] is None else plan["capacity"]["max_model_len"]
rows: List[Dict[str, object]] = [dict(row) for row in plan.rows()]
plan["verdikt"]  # type: ignore[call-overload]
plan["verdict"]["state"]  # type: ignore[typeddict-item]
if plan["verdict"]["status"] == "fit":  # type: ignore[comparison-overlap]
    pass

fleet: results.Fleet = kvplan.plan(["org/name", "org/other"], engine="vllm")
paths: results.Fleet = kvplan.plan([Path("a.json"), Path("b.json")])
names: List[str] = [each["model"]["name"] for each in fleet["plans"] if isinstance(each, results.Plan)]
grid: results.Grid = kvplan.plan("org/name", gpu=["l4", "h100"])
command: results.Plan = kvplan.plan(command="vllm serve org/name")
gpus: Optional[int] = None
users = kvplan.fit("org/name", gpu="h100", users=20)["users"]
if users is not None:
    gpus = users["gpus"]
headline: str = kvplan.diff("org/name", plan)["headline"]
starts: List[List[str]] = [each["command"] for each in kvplan.pick(gpu="rtx-3060", host_memory="32GiB")["picks"]]
known: List[str] = [each["id"] for each in kvplan.models("qwen3")["models"]]
verdict: str = kvplan.check_log("vllm.log")["diagnosis"]["verdict"]
kinds: List[str] = [each["formula"] for each in kvplan.formulas("mla")["kinds"]]
memory: List[int] = [each["memory_bytes"] for each in kvplan.gpus("h100")["gpus"]]
