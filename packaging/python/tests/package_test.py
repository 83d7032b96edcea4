"""Tests `import kvplan`: the program's answers as dicts, and its errors."""

import csv
import io
import json
import os
import pathlib
import subprocess
import sys
from fractions import Fraction

import jsonschema
import pytest

import kvplan
from conftest import ROOT

sys.path.insert(0, str(ROOT / "packaging/python"))
import make_results  # noqa: E402


def program(*words: str) -> dict:
    done = subprocess.run([kvplan.program(), *words, "--json"], stdout=subprocess.PIPE, check=False)
    return json.loads(done.stdout)


def test_published_counts_and_bytes(deepseek):
    plan = kvplan.plan(deepseek, max_model_len="32k")
    # 671,026,419,200 is the sum of the published checkpoint's tensors; (512 + 64) x 2 bytes x 61 layers a token.
    assert plan["model"]["parameters"]["total"] == 671026419200
    assert plan["kv_cache"]["bytes_per_token"] == 576 * 2 * 61
    assert plan["kv_cache"]["logical_bytes"] == 576 * 2 * 61 * 32768


@pytest.mark.parametrize("function, command", [(kvplan.plan, "plan"), (kvplan.fit, "fit"), (kvplan.compare, "compare")])
def test_the_answer_is_the_program_s(function, command, deepseek):
    answer = function(deepseek, engine="vllm", gpu="h200", max_model_len=16384, tensor_parallel_size=8)
    assert answer == program(command, deepseek, "--engine", "vllm", "--gpu", "h200", "--max-model-len", "16384", "-tp", "8")
    jsonschema.validate(answer, kvplan.schema())


def test_a_dict_is_a_model(qwen):
    qwen["num_hidden_layers"] = 7
    plan = kvplan.plan(qwen)
    assert plan["model"]["num_layers"] == 7
    assert plan["model"]["source"] == "-"


def test_a_path_is_a_model(deepseek):
    assert kvplan.plan(pathlib.Path(deepseek)) == kvplan.plan(deepseek)


def test_options_without_a_value_and_their_opposites(deepseek):
    given = dict(engine="vllm", gpu="h200", gpu_count=8, max_model_len="32k")
    assert kvplan.plan(deepseek, enforce_eager=True, **given)["engine_settings"]["cuda_graphs"] == 0
    assert kvplan.plan(deepseek, enforce_eager=None, **given)["engine_settings"]["cuda_graphs"] > 0
    for on in (True, False):
        assert kvplan.plan(deepseek, enable_prefix_caching=on, **given)["engine_settings"]["prefix_caching"] is on


def test_a_list_is_several_values(deepseek):
    rows = kvplan.plan(deepseek, gpu=["h200", "b200"], gpu_count=8)
    assert rows == program(deepseek, "--gpu", "h200,b200", "--gpu-count", "8")


def test_the_types_are_the_schema_s():
    """kvplan/results.py equals the current output of make_results.py."""
    assert (ROOT / "packaging/python/kvplan/results.py").read_text() == make_results.text(kvplan.schema())


@pytest.mark.parametrize("value, word", [(1e9, "1000000000"), (32768.0, "32768"), (0.5, "0.5"), (Fraction(1, 4), "0.25"), (True, None)])
def test_a_number_is_a_number(value, word):
    assert kvplan._program.arguments({"x": value}) == ["--x" if word is None else f"--x={word}"]


def test_several_models(deepseek, qwen):
    fleet = kvplan.plan([deepseek, qwen, "no-such.json"], max_model_len="4k")
    assert isinstance(fleet, kvplan.results.Fleet)
    one, two, wrong = fleet["plans"]
    assert one == kvplan.plan(deepseek, max_model_len="4k") and isinstance(one, kvplan.results.Plan)
    assert two["model"]["num_layers"] == qwen["num_hidden_layers"]
    assert wrong["exit"] == 2 and "no-such.json" in wrong["error"]
    alone = kvplan.plan([deepseek], max_model_len="4k")
    assert alone["plans"] == [one]
    jsonschema.validate(alone, kvplan.schema())
    grid = kvplan.plan([deepseek, qwen], gpu=["h200", "b200"], gpu_count=8)
    assert isinstance(grid, kvplan.results.Grid) and len(grid["rows"]) == 2


def test_a_launch_command(qwen):
    plan = kvplan.plan(command="vllm serve Qwen/Qwen3-8B --max-model-len 4096 -tp 2", gpu="l4")
    assert plan["request"]["tensor_parallel_size"] == 2 and plan["request"]["max_model_len"] == 4096
    assert plan["model"]["source"] == "Qwen/Qwen3-8B"
    own = kvplan.plan(qwen, command="vllm serve somebody/unknown -tp 2", gpu="l4")
    assert own["model"]["num_layers"] == qwen["num_hidden_layers"] and own["request"]["tensor_parallel_size"] == 2
    with pytest.raises(TypeError):
        kvplan.plan()


def test_differences(deepseek, qwen):
    assert kvplan.diff(deepseek, qwen) == {**program("diff", deepseek, str(ROOT / "testdata/configs/qwen3-0.6b.json"))}
    plans = kvplan.plan(qwen, max_model_len="8k"), kvplan.plan(qwen, max_model_len="16k")
    # 28 layers x 2 x 8 heads x 128 x 2 bytes for each of 8,192 tokens more
    assert kvplan.diff(*plans)["total"]["change_bytes"] == 28 * 2 * 8 * 128 * 2 * 8192


def test_tables():
    assert kvplan.pick(gpu="rtx-3060", host_memory="32GiB") == program("pick", "--gpu", "rtx-3060", "--host-memory", "32GiB")
    assert any(each["id"] == "Qwen/Qwen3-8B" for each in kvplan.models("qwen3", "8b")["models"])
    assert [each["kind"] for each in kvplan.formulas("mla")["kinds"]] == ["mla"]
    assert kvplan.gpus("h100-80gb")["gpus"][0] in kvplan.gpus()["gpus"]
    with pytest.raises(kvplan.KvplanError, match="takes no options"):
        kvplan.models("--output=x")


@pytest.mark.parametrize("command, words", [("plan", []), ("plan", ["--tensor-parallel-size=2", "--num-seqs=3"]), ("compare", []), ("fit", [])])
def test_rows_are_those_of_the_csv(command, words, deepseek):
    words = [command, deepseek, "--engine=vllm", "--gpu=h200", "--max-model-len=16k", *words]
    table = list(csv.DictReader(io.StringIO(subprocess.run([kvplan.program(), *words, "--format=csv"], stdout=subprocess.PIPE, text=True).stdout)))
    rows = kvplan._classed(program(*words)).rows()
    assert len(rows) == len(table)
    for row, other in zip(rows, table):
        for name in row.keys() & other.keys() - {"tokens_per_s", "tokens_per_s_batch"}:  # which the table rounds
            value = row[name]
            assert other[name] == ("" if value is None else str(value).lower() if isinstance(value, bool) else str(value)), name
        assert len(row.keys() & other.keys()) >= 17


def test_rows_are_flat(deepseek, tmp_path):
    answers = [kvplan.plan([deepseek, "no-such.json"], engine="vllm"), kvplan.plan(deepseek, engine=["vllm", "sglang"], gpu=["h200", "l4"]),
               kvplan.fit(deepseek, engine="vllm", gpu=["h200", "b200"], gpu_count=8), kvplan.pick(gpu="l4"), kvplan.models(), kvplan.gpus(),
               kvplan.formulas(), kvplan.diff(deepseek, deepseek, max_model_len="4k"), kvplan.check_log(text=LOG)]
    for answer in answers:
        for row in answer.rows():
            assert row and all(value is None or isinstance(value, (bool, int, float, str)) for value in row.values())
        assert answer._repr_html_().startswith("<table>")
    cells = answers[1].rows()
    assert [(cell["engine"], cell["gpu"]) for cell in cells] == [(engine, gpu) for engine in ("vllm", "sglang") for gpu in ("h200-141gb", "l4")]


def test_a_notebook_shows_text_as_text(qwen, tmp_path):
    path = tmp_path / "<script>.json"
    path.write_text(json.dumps(qwen))
    shown = kvplan.plan(path)._repr_html_()
    assert "&lt;script&gt;" in shown and "<script>" not in shown
    assert "weights GiB</td><td>1.1" in shown


def test_what_does_not_fit_is_an_answer(deepseek):
    plan = kvplan.plan(deepseek, gpu_memory=24 * 2**30)
    assert plan["verdict"]["status"] == "does_not_fit"


@pytest.mark.parametrize("model, options, code, words", [
    ("no-such.json", {}, 2, "no-such.json: cannot be opened"),
    ("--help", {}, 2, "cannot be opened"),
    ({"model_type": "nobody-knows", "num_hidden_layers": 2, "hidden_size": 64, "num_attention_heads": 4, "kv_chunk_size": 8}, {},
     3, "kv_chunk_size"),
    ("org/name", {}, 4, "org/name"),
    ({}, {"kv_cache_dtype": "float3"}, 2, "float3"),
    ({}, {"kv_cache_dtpe": "fp8"}, 2, "--kv-cache-dtype"),
])
def test_no_answer_is_an_error_with_the_program_s_line(model, options, code, words):
    with pytest.raises(kvplan.KvplanError) as caught:
        kvplan.plan(model, **options)
    error = caught.value
    assert error.exit_code == code
    assert error.line == str(error) and error.line.startswith("kvplan: ") and "\n" not in error.line
    assert words in error.line


def test_no_answer_for_several_cards_is_an_error_too():
    with pytest.raises(kvplan.KvplanError, match="kvplan: no-such.json: cannot be opened") as caught:
        kvplan.plan("no-such.json", gpu=["l4", "h100"])
    assert caught.value.exit_code == 2
    assert kvplan.plan(["no-such.json"] * 2)["plans"][1]["exit"] == 2


@pytest.mark.parametrize("name", ["@models", "models.txt", "@models.txt"])
def test_a_list_is_refused(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for one in ("models", "models.txt"):
        (tmp_path / one).write_text("secret/line\n")
    with pytest.raises(kvplan.KvplanError, match="a list of models is for the command line") as caught:
        kvplan.plan(name)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("name", ["format", "json", "output", "color"])
def test_the_form_is_fixed(name, deepseek):
    with pytest.raises(TypeError, match=name):
        kvplan.plan(deepseek, **{name: "x"})


# The message of vLLM (v1/core/kv_cache_utils.py) for too little memory.
LOG = ("(EngineCore_0 pid=7) ERROR 11-20 10:00:00 [core.py:700] ValueError: No available memory for the cache blocks. "
       "Try increasing `gpu_memory_utilization` when initializing the engine.\n")


def test_check_log(tmp_path, qwen):
    path = tmp_path / "vllm.log"
    path.write_text(LOG)
    from_path = kvplan.check_log(path)
    assert from_path["engine"] == "vllm"
    assert from_path["diagnosis"]["verdict"] == "did_not_start"
    assert kvplan.check_log(text=LOG)["diagnosis"] == from_path["diagnosis"]
    with_model = kvplan.check_log(text=LOG, model=qwen)
    assert with_model["diagnosis"]["verdict"] == "did_not_start"
    jsonschema.validate(with_model, kvplan.schema())
    with pytest.raises(TypeError):
        kvplan.check_log()
    with pytest.raises(TypeError):
        kvplan.check_log(path, text=LOG)


def test_explain_is_text(deepseek):
    assert "kv_lora_rank" in kvplan.explain(deepseek, max_model_len="32k")


def test_the_catalogue_has_the_card_s_memory():
    cards = {card["name"]: card for card in kvplan.gpus()["gpus"]}
    assert 79 * 2**30 < cards["h100-80gb"]["memory_bytes"] <= 80 * 2**30


def test_python_m_kvplan(deepseek):
    done = [subprocess.run([*start, deepseek], stdout=subprocess.PIPE, check=True).stdout
            for start in ([kvplan.program()], [sys.executable, "-m", "kvplan"])]
    assert done[0] == done[1]
    assert subprocess.run([sys.executable, "-m", "kvplan", "no.json"], stderr=subprocess.DEVNULL, check=False).returncode == 2


def test_the_version_is_the_program_s():
    said = subprocess.run([kvplan.program(), "--version"], stdout=subprocess.PIPE, check=True, text=True).stdout
    assert said.split()[-1] == kvplan.__version__


def test_it_is_the_program_of_this_environment():
    assert os.path.dirname(kvplan.program()) == os.path.dirname(sys.executable)
