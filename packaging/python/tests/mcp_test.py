"""python -m kvplan.mcp, asked by the protocol's own client over standard input and output."""

import json
import sys

import jsonschema
import pytest

anyio = pytest.importorskip("anyio")
pytest.importorskip("mcp")

from mcp.client.client import Client  # noqa: E402
from mcp.client.stdio import StdioServerParameters  # noqa: E402

import kvplan  # noqa: E402
from conftest import ROOT  # noqa: E402
from package_test import LOG  # noqa: E402


def ask(*calls):
    """The server's tools, and its answers to the calls."""
    async def session():
        async with Client(StdioServerParameters(command=sys.executable, args=["-m", "kvplan.mcp"])) as client:
            listed = await client.list_tools()
            return {tool.name: tool for tool in listed.tools}, [await client.call_tool(name, given) for name, given in calls]

    async def bounded():
        with anyio.fail_after(60):
            return await session()

    return anyio.run(bounded)


def test_the_tools_and_their_answers(deepseek, qwen):
    given = {"model": deepseek, "engine": "vllm", "gpu": "h200", "gpu_count": 8, "max_model_len": "32k"}
    tools, (plan, fit, compare, explain, by_dict) = ask(
        ("plan", given), ("fit", given), ("compare", {"model": deepseek, "max_model_len": 4096}), ("explain", given),
        ("plan", {"model": qwen}))
    assert set(tools) == {"plan", "fit", "compare", "explain", "check_log"}
    options = dict(engine="vllm", gpu="h200", gpu_count=8, max_model_len="32k")
    assert plan.structured_content == kvplan.plan(deepseek, **options)
    assert "FITS" in plan.content[0].text
    assert fit.structured_content == kvplan.fit(deepseek, **options)
    assert compare.structured_content == kvplan.compare(deepseek, max_model_len=4096)
    assert "kv_lora_rank" in explain.content[0].text
    assert by_dict.structured_content["model"]["num_layers"] == qwen["num_hidden_layers"]


def test_the_schemas_say_what_is_answered(deepseek):
    tools, (plan, check) = ask(("plan", {"model": deepseek}), ("check_log", {"text": LOG}))
    for name, result in (("plan", plan), ("check_log", check)):
        assert not result.is_error, result.content
        jsonschema.Draft202012Validator.check_schema(tools[name].output_schema)
        jsonschema.validate(result.structured_content, tools[name].output_schema)
    broken = json.loads(json.dumps(plan.structured_content))
    del broken["kv_cache"]["logical_bytes"]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(broken, tools["plan"].output_schema)


WRONG = (
    ("plan", {"model": "no-such.json"}, "no-such.json: cannot be opened"),
    ("plan", {"model": "x.json", "output": "/tmp/x"}, "output"),
    ("plan", {}, "model"),
    ("plan", {"model": "x.json", "num_seqs": "many"}, "num_seqs"),
    ("plan", {"model": "@/etc/passwd"}, "a list of models"),
    ("plan", {"model": "x.json", "draft": "@/etc/passwd"}, "a list of models"),
    ("plan", {"model": "a\0b"}, "cannot be asked"),
    ("plan", {"model": "a" * 1_000_000}, "cannot be asked"),
    ("plan", {"model": ["a\nb\u202e"] * 100_000}, "is not of type"),
    ("fit", {"model": str(ROOT / "testdata/configs/qwen3-0.6b.json"), "gpu": "h100-80gb", "gpu_count": 2048}, "MiB of JSON"),
    ("check_log", {}, "text"),
    ("forget", {}, "check_log"),
)


def test_what_is_wrong_is_one_line():
    _, results = ask(*((name, given) for name, given, _ in WRONG))
    for (name, given, words), result in zip(WRONG, results):
        assert result.is_error, (name, given)
        text = result.content[0].text
        assert words in text and text.isprintable() and len(text) <= 1000
