"""Tests `kvplan verify`: with a stub in place of an engine that answers, fails or dies, and with a real engine if one is installed."""

import glob
import json
import os
import pathlib
import subprocess
import sys
import time

import pytest

import kvplan
from conftest import ROOT
from kvplan import _engine
from kvplan._records import report, said
from kvplan.verify import main

QWEN = str(ROOT / "testdata/configs/qwen3-0.6b.json")
# vLLM 0.33.0's own figures for Qwen3-0.6B with 72,916,412,236 bytes (tests/conformance, adapter `single`).
ANSWER = {
    "arch": "Qwen3ForCausalLM", "max_model_len": 40960, "max_num_batched_tokens": 8192, "max_num_seqs": 1024, "graphs": [512, 51],
    "prefix_caching": True, "weights": {"parameters": 1192099840, "buffers": 10486432, "plain": 0}, "specs": [{"layers": 28}],
    "plans": [{"mem": 72782190408, "tokens": 634608, "blocks": 39663, "concurrency": 15.493359375, "block_bytes": 1835008,
               "groups": [["FullAttentionSpec", 28, 16, 65536]]}], "peak_bytes": 1}
GIVEN = ["--engine", "vllm", "--gpu", "h100-80gb"]


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """The folder in which verify makes its own; it must be empty afterwards."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


@pytest.fixture
def ask(tmp_path, temporary, capsys):
    """Runs verify with a stub that runs `script` in place of the engine; returns (exit code, output, error lines)."""

    def asked(script, *words, release="0.33.0"):
        stub = tmp_path / "python"
        said = json.dumps({"release": release, "base": ""})
        stub.write_text(f"#!/bin/sh\nif [ \"$1\" = -c ]; then echo '{said}'; exit; fi\n{script}\n")
        stub.chmod(0o755)
        code = main([*(words or [QWEN, *GIVEN]), "--python", str(stub)])
        out, errors = capsys.readouterr()
        assert list(temporary.iterdir()) == []
        return code, out, errors.splitlines()

    return asked


def says(**more):
    return f"cat >/dev/null; echo '{json.dumps({**ANSWER, **more})}'"


def test_agrees(ask):
    code, out, errors = ask(says())
    assert (code, errors) == (0, [])
    assert out.splitlines()[0] == "vLLM 0.33.0 agrees with the plan (14 figures)"
    code, out, _ = ask(says(), QWEN, *GIVEN, "--json")
    answer = json.loads(out)
    assert answer["agrees"] and len(answer["figures"]) == 14 and answer["meaning"] == []


def test_a_model_of_the_catalogue(ask, tmp_path, monkeypatch):
    """This machine has no file of the model, so the engine gets the catalogue's config."""
    for name in ("HF_HOME", "KVPLAN_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    kept = tmp_path / "config.json"
    script = f"{sys.executable} -c 'import json, sys; open(\"{kept}\", \"w\").write(open(json.load(sys.stdin)[\"folder\"] + \"/config.json\").read())'; "
    code, out, errors = ask(script + says(), "Qwen3-0.6B", *GIVEN)
    assert (code, errors, out.splitlines()[0]) == (0, [], "vLLM 0.33.0 agrees with the plan (14 figures)")
    config = json.loads(kept.read_text())
    assert (config["model_type"], config["hidden_size"]) == ("qwen3", 1024)


def test_what_the_catalogue_leaves_out_is_there(ask, tmp_path):
    """Its configs lack factors of RoPE, which change no memory, and without which the engines do not start."""
    kept = tmp_path / "config.json"
    ask(f"cp \"$HOME/../model/config.json\" {kept}; " + says(), "openai/gpt-oss-20b", *GIVEN)
    scaling = json.loads(kept.read_text())["rope_scaling"]
    assert (scaling["factor"], scaling["beta_fast"], scaling["beta_slow"]) == (32.0, 32.0, 1.0)


def test_the_processor_s_config_is_there_and_no_code(ask, tmp_path):
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "config.json").write_text(pathlib.Path(QWEN).read_text())
    for name in ("preprocessor_config.json", "modeling.py", "tokenizer.json"):
        (folder / name).write_text("{}")
    assert ask(f"ls \"$HOME/../model\" >{tmp_path}/files; " + says(), str(folder), *GIVEN)[0] == 0
    assert (tmp_path / "files").read_text().split() == ["config.json", "preprocessor_config.json"]


def test_llama_cpp(ask, tmp_path, monkeypatch):
    """The figures of build 11739 for this header (llama-cpp-py-sync 0.11739, on a CPU)."""
    monkeypatch.syspath_prepend(str(ROOT / "tests/conformance/llama.cpp"))
    import gguf

    model = tmp_path / "model.gguf"
    rows = (ROOT / "testdata/conformance/llama.cpp-models.jsonl").read_text().splitlines()
    gguf.write(next(row for row in map(json.loads, rows) if row["model"] == "qwen3-0.6b"), str(model))
    given = [str(model), "--engine", "llama.cpp", "--gpu", "rtx-3090", "--max-model-len", "4k", "--num-seqs", "2"]
    row = {"parameters": 596049920, "n_ctx": 8192, "n_batch": 2048, "n_ubatch": 512, "cache_mib": [896.0], "sequences": 2, "peak_bytes": 48922624}
    code, out, errors = ask(f"cat >{tmp_path}/case; echo '{json.dumps(row)}'", *given, release="0.11739")
    assert (code, errors, out.splitlines()[0]) == (0, [], "llama.cpp 0.11739 agrees with the plan (6 figures)")
    case = json.loads((tmp_path / "case").read_text())
    assert case["model"] == str(model) and case["words"] == ["-m", str(model), "-c", "8192", "-np", "2"]
    code, out, _ = ask(f"cat >/dev/null; echo '{json.dumps({**row, 'cache_mib': [448.0, 5.0]})}'", *given, release="0.3.36")
    assert code == 1 and "KV cache, MiB  896.0000   453.0000  +97.79 %" in out and "KV cache takes 0.43 GiB less" in out
    assert ask(says(), QWEN, "--engine", "llama.cpp")[2] == ["kvplan: verify: llama.cpp reads a GGUF file; name one on this machine"]


def test_differs(ask):
    code, out, _ = ask(says(plans=[{**ANSWER["plans"][0], "tokens": 317304, "concurrency": 0.5}]))
    assert code == 1
    assert "differs from the plan in 2 of 14 figures" in out
    assert "tokens       634,608  317,304  +100.00 %" in out
    assert "the verdict changes: it does not fit." in out


def test_refusals(ask):
    tp3 = [QWEN, *GIVEN, "-tp", "3"]
    words = "Total number of attention heads (16) must be divisible by tensor parallel size (3)."
    refused = f"cat >/dev/null; echo '{json.dumps({'refused': words, 'peak_bytes': 1})}'"
    assert ask(refused, *tp3)[:2][0] == 0
    assert words in ask(refused, *tp3)[1]
    code, out, _ = ask(refused)
    assert code == 1 and f"vLLM does not start, which the plan does not say: {words}" in out


def test_what_would_cure_a_refusal_is_left_out(ask, tmp_path):
    """--format args has the overrides for a longer context; the engine is asked what the plan was."""
    kept = tmp_path / "case.json"
    words = "User-specified max_model_len (81920) is greater than the derived max_model_len"
    script = f"cat >{kept}; echo '{json.dumps({'refused': words, 'peak_bytes': 1})}'"
    assert ask(script, QWEN, *GIVEN, "--max-model-len", "81920")[0] == 0
    case = json.loads(kept.read_text())
    assert "--hf-overrides" not in case["words"] and case["environment"] == {} and "81920" in case["words"]


def test_the_engine_gets_the_command_and_none_of_the_user_s(ask, tmp_path, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    seen = tmp_path / "seen"
    code, _, _ = ask(f"env >{seen}.env; ls \"$HOME/../model\" >{seen}.files; tee {seen}.case >/dev/null; echo '{json.dumps(ANSWER)}'")
    case, environment = json.loads(pathlib.Path(f"{seen}.case").read_text()), pathlib.Path(f"{seen}.env").read_text()
    assert case["words"] == [case["folder"], "--max-model-len", "40960"]
    assert case["card"]["capability"] == 90 and case["mem"] == [72782190408, 64 * 72782190408]
    assert "hf_secret" not in environment and f"HOME={tmp_path}/temporary/" in environment and "HF_HUB_OFFLINE=1" in environment
    assert pathlib.Path(f"{seen}.files").read_text().split() == ["config.json"]


@pytest.mark.parametrize("script, words", [
    ("kill -9 $$", "vLLM's process was killed by signal 9"),
    ("echo 'ModuleNotFoundError: No module named torch' >&2; exit 1", "ended with 1 and no answer: ModuleNotFoundError: No module named torch"),
    ("cat >/dev/null; echo '{\"not_run\": \"the model needs code of its repository, which verify never runs\"}'", "needs code of its repository"),
    ("cat >/dev/null; echo '{\"broken\": \"no package torch\"}'", "the environment of vLLM 0.33.0 is broken: no package torch; install it for "),
    ("cat >/dev/null; echo '{\"missed\": \"AttributeError: no such name (plan.py:40)\"}'", "please report it"),
])
def test_no_answer_is_one_line(ask, script, words):
    code, out, errors = ask(script)
    assert (code, out, len(errors)) == (5, "", 1)
    assert errors[0].startswith("kvplan: verify: ") and words in errors[0]


def test_what_hangs_is_ended_with_what_it_started(ask, tmp_path, monkeypatch):
    monkeypatch.setattr(_engine, "LONGEST", 1.0)
    code, _, errors = ask(f"sleep 600 & echo $! >{tmp_path}/child; wait")
    assert code == 5 and "no answer within 1 seconds" in errors[0]
    child = int((tmp_path / "child").read_text())
    state = pathlib.Path(f"/proc/{child}/stat")
    assert not state.exists() or state.read_text().split()[2] == "Z"


def test_ended_itself_it_leaves_nothing(tmp_path):
    (tmp_path / "t").mkdir()
    stub = tmp_path / "python"
    stub.write_text("#!/bin/sh\nif [ \"$1\" = -c ]; then echo '{\"release\": \"0.33.0\", \"base\": \"\"}'; exit; fi\n"
                    f"echo $$ >{tmp_path}/child; exec sleep 600\n")
    stub.chmod(0o755)
    asking = subprocess.Popen([sys.executable, "-m", "kvplan.verify", QWEN, *GIVEN, "--python", str(stub)], env={**os.environ, "TMPDIR": str(tmp_path / "t")})
    while not (tmp_path / "child").exists() or not (tmp_path / "child").read_text():
        assert asking.poll() is None
        time.sleep(0.1)
    asking.terminate()
    assert asking.wait() == 130
    assert list((tmp_path / "t").iterdir()) == []
    assert not pathlib.Path(f"/proc/{(tmp_path / 'child').read_text().strip()}").exists()


def test_no_engine(capsys, temporary):
    for words, said in (([QWEN, *GIVEN], "vLLM is not installed for "), ([QWEN, "--engine", "ollama"], "ollama cannot be asked"),
                        ([QWEN, *GIVEN, "--python", "/no/python"], "--python /no/python: No such file or directory")):
        assert main(words) == 5
        out, errors = capsys.readouterr()
        assert out == "" and errors.count("\n") == 1 and said in errors


def test_bad_input_is_the_program_s_line(ask, capsys):
    assert ask(says(), "no.json", *GIVEN)[0] == 2
    assert main([]) == 2
    assert "no MODEL given" in capsys.readouterr()[1]


def test_another_release_is_not_asked(ask):
    code, _, errors = ask(says(), QWEN, "--engine", "vllm@0.30")
    assert code == 5 and "0.33.0 is installed, not 0.30" in errors[0]


def test_a_calibration_changes_later_plans(ask, tmp_path):
    """A release that kvplan does not know, with blocks of 1.5 times the tokens and twice the bytes, and one GiB more of weights."""
    file = str(tmp_path / "calibration.json")
    weights = {**ANSWER["weights"], "plain": 1 << 30}
    size = {"mem": 72782190408, "tokens": int(19831 / 1707 * 40960), "blocks": 19831, "concurrency": 19831 / 1707, "block_bytes": 3670016, "groups": [["FullAttentionSpec", 28, 24, 131072]]}
    code, out, _ = ask(says(weights=weights, graphs=[512, 67], plans=[size]), QWEN, *GIVEN, "--save-calibration", file, release="0.99.0")
    assert code == 1
    given = dict(engine="vllm@0.99.0", gpu="h100-80gb")
    plain, plan = kvplan.plan(QWEN, calibration="none", **given), kvplan.plan(QWEN, calibration=file, **given)
    assert plan["memory"][0]["weights_bytes"] - plain["memory"][0]["weights_bytes"] == pytest.approx(1 << 30, abs=1 << 16)
    assert plan["capacity"]["num_blocks"] == plan["capacity"]["kv_cache_memory_bytes"] // 3670016
    assert plan["capacity"]["tokens"] == plan["capacity"]["num_blocks"] * 40960 // 1707
    assert (plan["kv_cache"]["block_size"], plan["engine_settings"]["cuda_graph_sizes"]) == (24, 67)
    assert [line["basis"] for line in plan["memory"][0]["lines"] if line["part"] == "weights"][0] == "calibrated"
    assert "verify" in json.loads(pathlib.Path(file).read_text())["calibration"][0]["source"]
    assert any("kvplan verify" in note["message"] for note in plan["notes"])
    # For another release or length, kvplan uses none of it.
    for other in (dict(given, engine="vllm@0.98"), dict(given, max_model_len=8192)):
        assert kvplan.plan(QWEN, calibration=file, **other)["calibration"] is None


def test_what_is_stored_of_answers():
    # SGLang 0.5.23's figures for Qwen3-0.6B. With states, a part of the budget is not for tokens.
    row = {"cells": {"_cell_size": 114688}, "args": {"page_size": 1}, "pool": {"max_total_num_tokens": 600280}}
    assert said("sglang", row, False, 600280 * 114688 + 5) == "token_bytes=114688"
    assert said("sglang", row, False, 700000 * 114688) == ""
    # vLLM's blocks are those of the second budget if one sequence does not fit in the first.
    row = {**ANSWER, "plans": [{"mem": 1 << 30, "needed_gib": 4.38}, *ANSWER["plans"]]}
    assert said("vllm", row, False, 1 << 30) == "block_bytes=1835008,request_blocks=2560,block_tokens=16,graph_sizes=51,prefix_caching=1"


UNKNOWN = "The checkpoint you are trying to load has model type `a_b` but Transformers does not recognize this architecture"


@pytest.mark.parametrize("raised, kind, words", [
    (f"exec({f'raise ValueError({UNKNOWN!r})'!r})", "not_run", "its transformers does not know model type a_b"),
    ("exec('raise RuntimeError(\"Failed to load the processor: set `trust_remote_code=True`\")')", "not_run", "files of a processor"),
    ("exec('raise ValueError(\"set `trust_remote_code=True`\")')", "not_run", "needs code of its repository"),
    ("None.vocab", "not_run", "'NoneType' object has no attribute 'vocab'"),
    ("ask.gone", "missed", "has no attribute 'gone'")])
def test_errors_of_the_engine(raised, kind, words):
    code = ("import ask, json, sys, types; sys.modules['single'] = types.SimpleNamespace(row=lambda case: eval(sys.argv[1])); "
            "print(json.dumps(ask.answer_of('vllm', {'folder': ''})), file=ask.ANSWERS)")
    done = subprocess.run([sys.executable, "-c", code, raised], cwd=_engine.ADAPTERS, capture_output=True, text=True, check=True)
    assert words in json.loads(done.stdout)[kind]


def test_a_report_is_a_row_of_conformance(ask, tmp_path):
    config = {**json.loads(pathlib.Path(QWEN).read_text()), "_name_or_path": "/home/somebody/model"}
    (tmp_path / "config.json").write_text(json.dumps(config))
    file = tmp_path / "report.jsonl"
    assert ask(says(), str(tmp_path / "config.json"), *GIVEN, "--max-model-len", "8k", "--report", str(file))[0] == 1
    head, row = map(json.loads, file.read_text().splitlines())
    assert head == {"engine": "vllm", "release": "0.33.0", "ran_with": {"vllm": "0.33.0"}}
    assert row["kind"] == "plan" and row["args"] == {"max_model_len": 8192} and row["card"] == "h100-80gb"
    assert "somebody" not in file.read_text() and str(tmp_path) not in file.read_text()
    words = ["/home/somebody/model", "--chat-template", "/home/somebody/chat", "--max-num-seqs", "8"]
    plan = {"request": {"gpu": "l40s", "tensor_parallel_size": 1}, "model": {"name": "a"}}
    assert json.loads(report("vllm", "0.33.0", plan, {}, words, {}).splitlines()[1])["args"] == {"max_num_seqs": 8}
    for engine in ("sglang", "llama.cpp"):
        assert "somebody" not in report(engine, "1", plan, {}, words, {"given": {"chat_template": "/home/somebody/chat"}})


def test_the_program_hands_over(tmp_path):
    for start in ([kvplan.program(), "verify"], [sys.executable, "-m", "kvplan", "verify"], [sys.executable, "-m", "kvplan.verify"]):
        done = subprocess.run([*start, QWEN, *GIVEN], stderr=subprocess.PIPE, text=True, check=False)
        assert done.returncode == 5 and "vLLM is not installed for " in done.stderr, (start, done.stderr)


def test_the_engine_s_process_has_no_network():
    code = "import ask, socket; ask.seal(); socket.create_connection(('127.0.0.1', 9), 1)"
    done = subprocess.run([sys.executable, "-c", code], cwd=_engine.ADAPTERS, stderr=subprocess.PIPE, text=True, check=False)
    assert "without a network" in done.stderr


def test_a_real_engine(capsys, temporary):
    found = glob.glob(os.path.join(os.environ.get("KVPLAN_ENGINES", ""), "environments", "*", "bin", "python"))
    for python in found:
        try:
            release = _engine.find("transformers", python).release
        except _engine.NothingToAsk:
            continue
        if not release.startswith("5."):
            continue
        assert main([QWEN, "--engine", "transformers", "--max-model-len", "1k", "--python", python]) == 0
        assert f"transformers {release} agrees with the plan (4 figures)" in capsys.readouterr()[0]
        assert list(temporary.iterdir()) == []
        return
    pytest.skip("no real engine was asked: KVPLAN_ENGINES names no folder with an environment that has transformers")


# A stub of torch with the parts that the adapter imports. It remembers which operators were defined.
TORCH = """
class Library:
    def __init__(self, namespace, kind): pass
    def define(self, schema): known.append(schema.split("(")[0])
known = []
library = type("", (), {"Library": Library})
autocast = None
"""


@pytest.mark.parametrize("torchvision, defined", [("", []), ("raise RuntimeError('operator torchvision::nms does not exist')", ["nms", "qnms"]),
                                                  (None, ["nms", "qnms"])])
def test_torchvision_s_operators_are_not_defined_twice(tmp_path, torchvision, defined):
    """Most environments have a matching torchvision. If it loads, defining its operators again would end the process."""
    (tmp_path / "torch.py").write_text(TORCH)
    if torchvision is not None:
        (tmp_path / "torchvision.py").write_text(torchvision)
    code = "import sys; sys.path[:0] = sys.argv[1:]; import imports, torch; print(torch.known)"
    folders = [str(tmp_path), str(ROOT / "packaging/python/kvplan/adapters/transformers")]
    done = subprocess.run([sys.executable, "-S", "-c", code, *folders], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(defined)
