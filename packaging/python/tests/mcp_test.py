"""Tests kvplan-mcp with the protocol's own client over standard input and output."""

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
    """The server's tools and its answers to calls."""
    command = os.path.join(os.path.dirname(sys.executable), "kvplan-mcp")

    async def session():
        async with Client(StdioServerParameters(command=command, args=["--root", str(root)] if root else [], env=dict(os.environ))) as client:
            listed = await client.list_tools()
            return {tool.name: tool for tool in listed.tools}, [await client.call_tool(name, given) for name, given in calls]

    async def bounded():
        with anyio.fail_after(60):
            return await session()

    return anyio.run(bounded)


def test_the_tools_and_their_answers(deepseek, qwen):
    given = {"model": deepseek, "engine": "vllm", "gpu": "h200", "gpu_count": 8, "max_model_len": "32k", "detail": "full"}
    tools, (plan, fit, compare, explain, by_dict, users, diff, pick, gpus, models) = ask(
        ("plan", given), ("fit", given), ("compare", {"model": deepseek, "max_model_len": 4096, "detail": "full"}), ("explain", given),
        ("plan", {"model": qwen, "detail": "full"}), ("fit", {"model": "Qwen3-8B", "engine": "vllm", "gpu": "h100-80gb", "users": 20, "detail": "full"}),
        ("diff", {"old": deepseek, "new": qwen, "max_model_len": "4k", "detail": "full"}),
        ("pick", {"gpu": "rtx-3060", "host_memory": "32GiB", "detail": "full"}), ("gpus", {"names": "h100-80gb l4"}),
        ("models", {"names": "qwen3 8b", "detail": "full"}))
    assert set(tools) == {"plan", "fit", "compare", "explain", "diff", "pick", "check_log", "gpus", "models"}
    options = dict(engine="vllm", gpu="h200", gpu_count=8, max_model_len="32k")
    assert plan.structured_content == kvplan.plan(deepseek, **options)
    assert "FITS" in plan.content[0].text
    assert fit.structured_content == kvplan.fit(deepseek, **options)
    assert compare.structured_content == kvplan.compare(deepseek, max_model_len=4096)
    assert "kv_lora_rank" in explain.content[0].text
    assert by_dict.structured_content["model"]["num_layers"] == qwen["num_hidden_layers"]
    assert users.structured_content["users"] == kvplan.fit("Qwen3-8B", engine="vllm", gpu="h100-80gb", users=20)["users"]
    assert diff.structured_content["total"] == kvplan.diff(deepseek, qwen, max_model_len="4k")["total"]
    assert pick.structured_content == kvplan.pick(gpu="rtx-3060", host_memory="32GiB")
    assert "h100-80gb" in gpus.content[0].text and "l4" in gpus.content[0].text and "rtx-4090" not in gpus.content[0].text
    assert "Qwen/Qwen3-8B" in [row["id"] for row in models.structured_content["models"]]


def test_tools_and_answers_are_short(deepseek):
    tools, answers = ask(("plan", {"model": deepseek, "engine": "vllm", "gpu": "h200"}), ("compare", {"model": deepseek, "engine": "vllm", "gpu": "h200"}),
                         ("fit", {"model": deepseek, "engine": "vllm", "gpu": "h200", "users": 100}), ("pick", {"gpu": "h200"}))
    assert len(json.dumps([tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in tools.values()])) < 15_000
    for answer in answers:
        assert not answer.is_error and answer.structured_content is None and len(answer.content[0].text) < 10_000, answer.content
    for tool in tools.values():
        jsonschema.Draft202012Validator.check_schema(tool.input_schema)


def test_a_launch_command_is_planned(qwen):
    line = "docker run --gpus all vllm/vllm-openai:v0.20.0 --model Qwen/Qwen3-8B \\\n --max-model-len 4096 -tp 2"
    _, (plan, own, ollama, draft) = ask(
        ("plan", {"command": line, "gpu": "l4", "detail": "full"}), ("plan", {"command": line, "model": qwen, "gpu": "l4", "detail": "full"}),
        ("plan", {"command": "ollama run qwen3:8b", "gpu": "l4"}),
        ("plan", {"command": """vllm serve Qwen/Qwen3-8B --speculative-config '{"model": "Qwen/Qwen3-0.6B", "num_speculative_tokens": 2}'""",
                  "gpu": "l4", "detail": "full"}))
    assert plan.structured_content == kvplan.plan(command=line.replace("\\\n", ""), gpu="l4")
    assert plan.structured_content["request"]["engine_version"] == "0.20.0"
    assert own.structured_content["model"]["num_layers"] == qwen["num_hidden_layers"]
    assert "ollama" in ollama.content[0].text
    assert draft.structured_content["request"]["draft"] == "Qwen/Qwen3-0.6B"


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
    ("plan", {"model": {}, "gpu": "a\0b"}, "the request failed"),
    ("plan", {"model": {}, "gpu": "a" * 1_000_000}, "the request failed"),
    ("plan", {"model": ["a\nb\u202e"] * 100_000}, "is not of type"),
    ("fit", {"model": str(ROOT / "testdata/configs/qwen3-0.6b.json"), "gpu": "h100-80gb", "gpu_count": 2048, "detail": "full"}, "larger than 4 MiB"),
    ("check_log", {}, "text"),
    ("plan", {"command": "vllm serve /etc/passwd"}, "a path"),
    ("plan", {"command": "vllm serve Qwen/Qwen3-8B --max-model-len 10k; cat x"}, "is not read here"),
    ("plan", {"command": "make all"}, "no engine command"),
    ("plan", {"command": "vllm serve 'x"}, "No closing quotation"),
    ("plan", {"command": "x" * 100_000}, "longer than"),
    ("plan", {"command": "  "}, "it is empty"),
    ("diff", {"old": {}}, "new"),
    ("gpus", {"names": "--help"}, "names"),
    ("models", {"names": "no-such-model"}, "no-such-model"),
    ("forget", {}, "check_log"),
)


def test_what_is_wrong_is_one_line():
    _, results = ask(*((name, given) for name, given, _ in WRONG))
    for (name, given, words), result in zip(WRONG, results):
        assert result.is_error, (name, given)
        text = result.content[0].text
        assert words in text and text.isprintable() and len(text) <= 1000


def test_names_as_people_type_them(monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    typed = ("qwen3 8b", "hf.co/Qwen/Qwen3-8B", "https://ollama.com/library/qwen3:8b", "unsloth/Qwen3-8B-GGUF:Q8_0")
    _, answers = ask(*(("plan", {"model": name, "gpu": "l4"}) for name in (*typed, "Qwen3-235B")))
    for answer in answers[:-1]:
        assert not answer.is_error and "8.19B parameters" in answer.content[0].text, answer.content
    assert answers[-1].is_error and "did you mean qwen3-235b-a22b" in answers[-1].content[0].text


def test_without_a_root_no_file_is_read(deepseek):
    _, (by_path, by_log, by_dict) = ask(("plan", {"model": deepseek}), ("check_log", {"log": deepseek}), ("plan", {"model": json.loads(open(deepseek).read())}),
                                        root=None)
    for result in (by_path, by_log):
        assert result.is_error and "this server reads no files" in result.content[0].text
    assert not by_dict.is_error


def test_the_example_s_configuration_starts_it():
    server = json.loads((ROOT / "examples/mcp/client.json").read_text())["mcpServers"]["kvplan"]
    command = os.path.join(os.path.dirname(sys.executable), server["command"])

    async def session():
        async with Client(StdioServerParameters(command=command, args=server["args"], env={**os.environ, **server["env"]})) as client:
            return await client.call_tool("pick", {"gpu": "rtx-3060"})

    assert "qwen" in anyio.run(session).content[0].text.lower()
