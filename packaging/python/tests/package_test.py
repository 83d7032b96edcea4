"""import kvplan: the answers of the program, as dicts, and its errors."""

import json
import os
import pathlib
import subprocess
import sys

import jsonschema
import pytest

import kvplan


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


# The words of vLLM (v1/core/kv_cache_utils.py) where the memory is used up.
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
