"""kvplan-mcp, asked by the protocol's own client over standard input and output."""

import json
import os
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


def ask(*calls, root=ROOT / "testdata"):
    """The server's tools, and its answers to the calls."""
    command = os.path.join(os.path.dirname(sys.executable), "kvplan-mcp")

    async def session():
        async with Client(StdioServerParameters(command=command, args=["--root", str(root)] if root else [])) as client:
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
    ("plan", {"model": "no-such.json"}, "no-such.json: no file or folder below the server's root"),
    ("plan", {"model": {"model_type": "nobody-knows"}}, "no model_type that kvplan knows"),
    ("plan", {"model": "configs/qwen3-0.6b.json", "kv_cache_dtype": "float3"}, "float3"),
    ("plan", {"model": str(ROOT / "README.md")}, "no file or folder below the server's root"),
    ("plan", {"model": "ollama:llama3"}, "no name of the Hub"),
    ("plan", {"model": "x.json", "output": "/tmp/x"}, "output"),
    ("plan", {}, "model"),
    ("plan", {"model": "x.json", "num_seqs": "many"}, "num_seqs"),
    ("plan", {"model": "@/etc/passwd"}, "a list of models"),
    ("plan", {"model": "models.txt"}, "a list of models"),
    ("plan", {"model": {}, "draft": "@/etc/passwd"}, "a list of models"),
    ("plan", {"model": "a\0b"}, "no file or folder"),
    ("plan", {"model": "a" * 1_000_000}, "no file or folder"),
    ("plan", {"model": {}, "gpu": "a\0b"}, "cannot be asked"),
    ("plan", {"model": {}, "gpu": "a" * 1_000_000}, "cannot be asked"),
    ("plan", {"model": ["a\nb\u202e"] * 100_000}, "is not of type"),
    ("fit", {"model": str(ROOT / "testdata/configs/qwen3-0.6b.json"), "gpu": "h100-80gb", "gpu_count": 2048}, "larger than 4 MiB"),
    ("check_log", {}, "text"),
    ("forget", {}, "check_log"),
)


def test_what_is_wrong_is_one_line():
    _, results = ask(*((name, given) for name, given, _ in WRONG))
    for (name, given, words), result in zip(WRONG, results):
        assert result.is_error, (name, given)
        text = result.content[0].text
        assert words in text and text.isprintable() and len(text) <= 1000


def test_without_a_root_no_file_is_read(deepseek):
    _, (by_path, by_log, by_dict) = ask(("plan", {"model": deepseek}), ("check_log", {"log": deepseek}), ("plan", {"model": json.loads(open(deepseek).read())}),
                                        root=None)
    for result in (by_path, by_log):
        assert result.is_error and "this server reads no files" in result.content[0].text
    assert not by_dict.is_error
