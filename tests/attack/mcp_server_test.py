"""Hostile clients of kvplan-mcp: packaging/python/test runs this where the wheel is installed.

Each server has a folder `files` that it may read, with links out of it, beside a folder `private` that it may not.
"""

import http.server
import json
import os
import pathlib
import queue
import shlex
import shutil
import subprocess
import sys
import threading
import time

import pytest

pytest.importorskip("mcp")

ROOT = pathlib.Path(__file__).resolve().parents[2]
SECRET = "SECRET-4711"
CONFIG = json.loads((ROOT / "testdata/configs/qwen3-0.6b.json").read_text())
SERVER = shutil.which("kvplan-mcp", path=os.path.dirname(sys.executable))
SHORT = "import kvplan.mcp as m; m.SECONDS = 2.0; m.main()"  # with limits that a test can wait for


class Server:
    def __init__(self, folder, *words, command=None, read=True, **environment):
        env = {**os.environ, "HOME": str(folder), "TMPDIR": str(folder), "MY_SECRET": SECRET, "HF_HUB_OFFLINE": "1", **environment}
        self.process = subprocess.Popen([*(command or [SERVER]), *map(str, words)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, cwd=folder, env=env)
        self.count, self.kept, self.answers = 0, {}, queue.Queue()
        if read:
            threading.Thread(target=self._read, daemon=True).start()
        self.post("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo={"name": "x", "version": "1"})
        if read:
            assert "result" in self.wait(self.count, 30)
        self.send(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')

    def _read(self):
        for line in self.process.stdout:
            self.answers.put(json.loads(line))

    def send(self, line):
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def post(self, method, **params):
        self.count += 1
        self.send(json.dumps({"jsonrpc": "2.0", "id": self.count, "method": method, "params": params}).encode())
        return self.count

    def call(self, tool, **given):
        return self.post("tools/call", name=tool, arguments=given)

    def wait(self, number, seconds=20):
        until = time.monotonic() + seconds
        while number not in self.kept:
            message = self.answers.get(timeout=max(until - time.monotonic(), 0.01))
            self.kept[message.get("id")] = message
        return self.kept.pop(number)

    def ask(self, tool, seconds=20, **given):
        """The text of the result, and whether it is an answer."""
        message = self.wait(self.call(tool, **given), seconds)
        if "error" in message:
            return json.dumps(message), False
        return json.dumps(message), not message["result"].get("isError")

    def honest(self, seconds=20):
        text, is_answer = self.ask("plan", seconds, model=CONFIG)
        assert is_answer, text

    def stop(self):
        self.process.kill()
        self.process.wait()


@pytest.fixture
def start(tmp_path):
    servers = []

    def begin(*words, **given):
        servers.append(Server(tmp_path, *words, **given))
        return servers[-1]

    yield begin
    for server in servers:
        server.stop()


@pytest.fixture
def place(tmp_path):
    files, private = tmp_path / "files", tmp_path / "private"
    for folder in (files / "model", files / "linked", files / "pipes", files / "many", private / "model"):
        folder.mkdir(parents=True)
    secrets = {"secret.txt": f"password = {SECRET}\nadmin/{SECRET}\n", "secret.json": json.dumps({"token": SECRET, "hidden_size": SECRET}),
               "config.json": json.dumps({**CONFIG, "hidden_size": SECRET}), "type.json": json.dumps({"model_type": SECRET, "num_layers": SECRET}),
               "plain": SECRET, "secret.gguf": "GGUF" + SECRET * 9, "x.log": f"ERROR token={SECRET}\nTraceback\nRuntimeError: {SECRET}\n",
               ".env": f"TOKEN={SECRET}\n", "list": f"a/{SECRET}\n"}
    for folder in (files, private, private / "model", files / "many"):
        for name, text in secrets.items():
            (folder / name).write_text(text)
    for folder in (files, files / "model", files / "linked", files / "many", private):
        (folder / "good.json").write_text(json.dumps(CONFIG))
    (files / "model" / "config.json").write_text(json.dumps(CONFIG))
    for name in ("file.json", "list.txt", "x.log", "config.json"):
        (files / "linked" / name).symlink_to(private / "secret.json")
    (files / "out").symlink_to(private)
    (files / "up").symlink_to("..")
    (files / "root").symlink_to("/")
    (files / "self.json").symlink_to("self.json")
    os.mkfifo(files / "pipes" / "pipe.json")
    return files


def names(files):
    """Every way of naming a file that is worth trying."""
    private = files.parent / "private"
    out = ["/proc/self/environ", f"/proc/{os.getpid()}/environ", "/dev/stdin", "/dev/fd/0", "-", "--help", f"--config={private}/secret.json", "",
           ".", "..", "~", "~/private/secret.json", "a\0b", "x" * 100_000, f"file://{private}/secret.json", "ollama:secret", "lmstudio:a/b",
           f"llama.cpp:../{private}/secret", f"ollama:../../..{private}/secret.gguf", "http://127.0.0.1:1/a/b", "hf.co/a/b", "out/secret.json",
           "up/private/secret.json", "root/etc/passwd", "self.json", "pipes/pipe.json", "pipes", "linked", "linked/good.json", "./linked/good.json",
           "many", "private/model", "files/secret", f"a/b@../..{private}", f"a/b:../..{private}", "../private/good.json", "model/../../private/good.json",
           f"//localhost{private}/secret.json", f"\\\\localhost{private}\\secret.json", "good.json/../secret.json", f"{files}-other/x.json"]
    for name in ("secret.txt", "secret.json", "type.json", "config.json", "plain", "secret.gguf", "x.log", ".env", "list", "model"):
        for path in (private / name, files / name):
            relative = os.path.relpath(path, files)
            out += [f"{sign}{spelling}" for spelling in (str(path), relative, "./" + relative, name, "files/" + relative) for sign in ("", "@", " @", "@@")
                    if path.name != "model" or spelling != str(files / name)]
    return sorted({name for name in out if name not in ("model", "./model", "./good.json")})


def commands(name):
    """Launch commands that name a file wherever kvplan reads one."""
    quoted = shlex.quote(name)
    split = "".join(f'"{letter}"' for letter in name[:3]) + shlex.quote(name[3:])
    return [f"vllm serve {quoted}", f"vllm serve {split}", f"A={quoted}; vllm serve $A", f"sh -c {shlex.quote('vllm serve ' + quoted)}", f"llama-server -m {quoted}",
            f"llama-server -hf org/name --lora {quoted} --mmproj={quoted}", f"vllm serve org/name --speculative-config {json.dumps(json.dumps({'model': name}))}",
            f"vllm serve org/name --speculative-config '{json.dumps({'model': name})}'", f"ollama run {quoted}", name]


@pytest.mark.parametrize("with_root", [False, True])
def test_no_file_is_quoted(start, place, with_root):
    server = start(*(["--root", place] if with_root else []), OLLAMA_MODELS=str(place.parent / "private"))
    if with_root:
        for name in ("good.json", "./good.json", str(place / "good.json"), "model", "./model", "model/config.json"):
            text, is_answer = server.ask("plan", model=name)
            if name in ("good.json", "./good.json", str(place / "good.json")):  # beside links out of the root
                assert not is_answer and "leads out" in text, text
            else:
                assert is_answer, (name, text)
    numbers = {}
    for place_of_name, name in enumerate(names(place)[:: 1 if with_root else 4]):
        given = [("plan", {"model": name}), ("plan", {"model": CONFIG, "draft": name}), ("check_log", {"log": name})]
        if len(name) < 300 and "\0" not in name and place_of_name % 4 == 0:
            given += [("fit", {"model": name}), ("check_log", {"text": "x", "model": name}), ("plan", {"model": CONFIG, "gpu": name}),
                      ("plan", {"model": CONFIG, "weights": name}), ("plan", {"model": CONFIG, "engine": f"vllm@{name}"}),
                      ("diff", {"old": CONFIG, "new": name}), ("gpus", {"names": name}), ("models", {"names": name})]
            given += [("plan", {"command": line}) for line in commands(name)]
        for tool, arguments in given:
            numbers[server.call(tool, **arguments)] = (tool, name)
            if len(numbers) % 8 == 0:  # more at once are refused
                for number in list(numbers):
                    check(server.wait(number), *numbers.pop(number), place)
    for number, question in numbers.items():
        check(server.wait(number), *question, place)
    server.honest()


def check(message, tool, name, place):
    text = json.dumps(message).replace(json.dumps(name)[1:-1], "")
    is_error = message.get("result", {}).get("isError") or "error" in message
    # A log below the root is read, and its cause is quoted. Nothing else that this test names is a model or a log.
    is_log = tool == "check_log" and "\0" not in name and os.path.realpath(place / name) == str((place / "x.log").resolve())
    assert SECRET not in text or (is_log and not is_error), (tool, name, text)
    assert tool in ("check_log", "gpus", "models") or is_error, (tool, name, text)  # tables are found or not, and hold nothing of a file


def test_outside_is_said_as_what_is_not_there(start, place):
    server = start("--root", place)
    for there, absent in ((place.parent / "private/secret.json", place.parent / "private/absent.json"), ("../private", "../absent"), ("/etc/passwd", "/etc/absent")):
        said = [server.ask("plan", model=str(name))[0].replace(str(name), "NAME").split('"id"')[1].split(",", 1)[1] for name in (there, absent)]
        assert said[0] == said[1]


def test_what_is_wrong_with_the_options_is_said_of_files_too(start, place):
    server = start("--root", place)
    assert "float3" in server.ask("plan", model="./model", kv_cache_dtype="float3")[0]
    (place / "model" / "config.json").write_text(json.dumps({"model_type": SECRET}))
    assert "a terminal" in server.ask("plan", model="./model")[0]


def test_several_plans_of_which_one_fails(start, place):
    """An error message may quote the file. So errors for files in the folder are hidden, but errors for a config that the client sent are shown."""
    server = start("--root", place)
    folder = place / "several"
    folder.mkdir()
    for name in ("a", "b"):
        (folder / f"{name}.json").write_text(json.dumps(CONFIG))
    text, is_answer = server.ask("plan", model="./several")
    assert is_answer and "a.json" in text
    (folder / "c.json").write_text(json.dumps({**CONFIG, "hidden_size": SECRET}))
    text, is_answer = server.ask("plan", model="./several")
    assert not is_answer and SECRET not in text
    for engine in ("vllm,sglang", "vllm,mlx"):
        assert server.ask("plan", model=CONFIG, engine=engine, gpu="h100-80gb,l4", kv_cache_dtype="fp8")[1]


class Hub(http.server.BaseHTTPRequestHandler):
    asked = []
    silent = False

    def do_GET(self):
        Hub.asked.append(self.path)
        if Hub.silent:
            time.sleep(30)
        self.send_error(404)

    def log_message(self, *_):
        pass


@pytest.fixture
def hub():
    Hub.asked, Hub.silent = [], False
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield {"HF_ENDPOINT": f"http://127.0.0.1:{server.server_port}", "HF_HUB_OFFLINE": "0"}
    server.shutdown()


def test_the_lines_of_a_list_are_not_looked_up(start, place, hub):
    server = start("--root", place, **hub)
    for name in ("secret.txt", "@secret.txt", "list", "@list", str(place / "secret.txt"), "@" + str(place / "secret.txt"), "many"):
        assert not server.ask("plan", model=name)[1]
        assert not server.ask("plan", model=CONFIG, draft=name)[1]
    assert Hub.asked == []
    server.ask("plan", model="org/name")
    assert any("/org/name/" in path for path in Hub.asked)


def running(word):
    """The command lines of kvplan that contain `word`."""
    out = []
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            line = (folder / "cmdline").read_bytes()
        except OSError:
            continue
        if word.encode() in line and b"kvplan-mcp" not in line:
            out.append(line)
    return out


def gone(word):
    return any(not running(word) or time.sleep(0.1) for _ in range(50))


def test_a_question_ends_in_time(start, hub):
    Hub.silent = True
    server = start(command=[sys.executable, "-c", SHORT], **hub)
    began = time.monotonic()
    for number in [server.call("plan", model=f"slow/one-{n}") for n in range(12)]:
        assert "no answer within" in json.dumps(server.wait(number))
    assert time.monotonic() - began < 8
    server.honest()
    number = server.call("plan", model="slow/cancelled")
    time.sleep(0.5)
    assert running("slow/cancelled")
    server.send(json.dumps({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}}).encode())
    assert gone("slow/")


def test_many_questions_are_refused_at_once(start, hub):
    Hub.silent = True
    server = start(command=[sys.executable, "-c", SHORT], **hub)
    numbers = [server.call("plan", model=f"slow/many-{n}") for n in range(60)]
    said = [json.dumps(server.wait(number)) for number in numbers]
    assert sum("still open" in text for text in said) >= 40
    server.honest()
    server.process.stdin.close()
    assert server.process.wait(10) == 0
    assert gone("slow/")


def test_silent_pipes_hold_nobody(start, place):
    server = start("--root", place)
    writer = os.open(place / "pipes" / "pipe.json", os.O_RDWR)
    for _ in range(45):
        server.call("plan", model="./pipes/pipe.json")
        server.call("check_log", log="./pipes/pipe.json")
    server.honest(10)
    os.close(writer)


def memory(process):
    """In MiB."""
    status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    return max([0] + [int(line.split()[1]) >> 10 for line in status.splitlines() if line.startswith("VmRSS")])


def test_large_messages_do_not_pile_up(start):
    server = start()
    numbers, most = [], 0

    def flood():
        for _ in range(15):
            numbers.append(server.call("check_log", text="x" * (20 << 20)))

    thread = threading.Thread(target=flood)
    thread.start()
    while thread.is_alive():
        most = max(most, memory(server.process))
        time.sleep(0.05)
    for number in numbers:
        server.wait(number, 60)
    assert most < 400, f"{most} MiB"


def test_a_client_that_stops_reading(start):
    server = start(command=[sys.executable, "-c", SHORT], read=False)

    def flood():
        try:
            for _ in range(2000):
                server.post("tools/list")
        except OSError:
            pass

    threading.Thread(target=flood, daemon=True).start()
    most, until = 0, time.monotonic() + 20
    while server.process.poll() is None and time.monotonic() < until:
        most = max(most, memory(server.process))
        time.sleep(0.1)
    assert server.process.poll() == 1
    assert most < 300, f"{most} MiB"


def test_messages_that_are_none(start):
    server = start()
    for _ in range(3000):  # standard error is a pipe that nobody reads here
        server.send(b'{"jsonrpc": "2.0", "id": 7, "method": 5, "params": "' + b"x" * 100 + b'"}')
    for line in (b"", b"{", b"[]", b"\xff\xfe", b'{"id":{"id":1},"id":2}', b'{"jsonrpc":"2.0","id":1,"result":{}}', b"[" * 100_000, b"x" * (30 << 20)):
        server.send(line)
    for config in ({"a": "\ud800"}, json.loads("[" * 300 + "]" * 300)):
        assert "error" in server.wait(server.call("plan", model={"x": config}))
    server.honest()


def test_answers_are_bounded(start, place):
    server = start("--root", place)
    for model in (CONFIG, "./model"):
        text, is_answer = server.ask("fit", 60, model=model, gpu="h100-80gb", gpu_count=2048, engine="vllm", detail="full")
        assert not is_answer and "MiB" in text


MODULES = ("anyio", "mcp", "mcp_types", "jsonschema", "json", "re", "typing", "argparse", "logging", "tempfile", "subprocess", "shutil", "csv", "email",
           "zipfile", "random", "sitecustomize", "usercustomize")


@pytest.mark.parametrize("command", [[SERVER], [sys.executable, "-m", "kvplan.mcp"], [sys.executable, "-m", "kvplan"]])
def test_the_folder_it_starts_in_is_not_run(tmp_path, command):
    proof = tmp_path / "PWNED"
    shutil.copy(ROOT / "testdata/configs/qwen3-0.6b.json", tmp_path / "config.json")
    for name in MODULES:
        (tmp_path / f"{name}.py").write_text(f"open({str(proof)!r}, 'a').write({name + ' '!r})\n")
    if command == [SERVER]:  # beyond what -m can be guarded against
        for name in ("functools", "threading", "runpy", "pkgutil", "importlib", "kvplan", "os", "sys", "io"):
            (tmp_path / f"{name}.py").write_text(f"open({str(proof)!r}, 'a').write({name + ' '!r})\n")
    done = subprocess.run(command + ["config.json"] * (command[-1] == "kvplan"), cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True)
    assert not proof.exists(), proof.read_text()
    assert done.returncode == 0, done.stderr
