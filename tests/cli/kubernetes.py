"""Checks that `--format k8s` gives what kubectl would apply: kubernetes.py KVPLAN SOURCE

It compares manifests of every engine and of layouts over several nodes with testdata/kubernetes/schemas.json: kinds, fields, types, names, patterns
and references within a manifest.
"""
import json
import os
import re
import subprocess
import sys

KVPLAN, SOURCE = os.path.abspath(sys.argv[1]), sys.argv[2]
with open(os.path.join(SOURCE, "testdata/kubernetes/schemas.json"), encoding="utf-8") as schemas:
    SCHEMAS = json.load(schemas)


def scalar(text):
    if text.startswith('"'):
        return json.loads(text)
    if re.fullmatch(r"-?[0-9]+", text):
        return int(text)
    # Words that YAML does not read as strings, and characters that need quotes.
    assert text not in ("yes", "no", "on", "off", "null", "~") and not re.search(r"[:#\[\]{}&*!|>'%@`,]", text), text
    return {"true": True, "false": False}.get(text, text)


def block(lines, depth):
    """Parses the map or list that begins with the first line, and removes its lines from the list."""
    if lines[0][1].startswith("- "):
        out = []
        while lines and lines[0][0] == depth and lines[0][1].startswith("- "):
            text = lines[0][1][2:]
            if re.match(r"[\w./-]+:( |$)", text):
                lines[0] = (depth + 2, text)
                out.append(block(lines, depth + 2))
            else:
                lines.pop(0)
                out.append(scalar(text))
        return out
    out = {}
    while lines and lines[0][0] == depth and not lines[0][1].startswith("- "):
        key, _, value = lines.pop(0)[1].partition(":")
        assert key not in out, f"{key} is there twice"
        out[key] = scalar(value.strip()) if value.strip() else block(lines, lines[0][0])
    return out


def documents(text):
    for part in re.split(r"^---$", text, flags=re.MULTILINE):
        lines = [(len(line) - len(line.lstrip()), line.strip()) for line in part.splitlines() if line.strip() and not line.startswith("#")]
        yield block(lines, 0)
        assert not lines, lines[:3]


def check(kind, value, at):
    if isinstance(kind, list):
        assert isinstance(value, list) and value, at
        for number, each in enumerate(value):
            check(kind[0], each, f"{at}[{number}]")
    elif isinstance(kind, dict):
        assert isinstance(value, dict) and value, at
        for key, each in value.items():
            check(kind["*"], each, f"{at}.{key}")
    elif kind in SCHEMAS["types"]:
        fields = {name.rstrip("!"): (of, name.endswith("!")) for name, of in SCHEMAS["types"][kind].items()}
        assert isinstance(value, dict), at
        for name, (_, required) in fields.items():
            assert name in value or not required, f"{at} has no {name}"
        for name, each in value.items():
            assert name in fields, f"{at}: {kind} has no field {name}"
            check(fields[name][0], each, f"{at}.{name}")
    elif kind in SCHEMAS["enums"]:
        assert value in SCHEMAS["enums"][kind], f"{at}: {value}"
    elif kind in ("count", "port"):
        assert isinstance(value, int) and not isinstance(value, bool) and 0 < value < (65536 if kind == "port" else 2**31), f"{at}: {value}"
    elif kind == "boolean":
        assert isinstance(value, bool), at
    elif kind == "port_or_name":
        check("port" if isinstance(value, int) else "port_name", value, at)
    else:
        text = str(value) if kind == "quantity" else value
        assert isinstance(text, str), f"{at}: {value!r}"
        assert kind == "string" or re.fullmatch(SCHEMAS["patterns"][kind], text), f"{at}: {value!r} is no {kind}"


def check_pod(template, claims, serves):
    spec = template["spec"]
    volumes = {volume["name"]: volume for volume in spec["volumes"]}
    container, = spec["containers"]
    assert {mount["name"] for mount in container["volumeMounts"]} == set(volumes)
    assert {mount["mountPath"] for mount in container["volumeMounts"]} == {"/models", "/dev/shm"}
    assert volumes["shm"]["emptyDir"]["medium"] == "Memory"
    assert volumes["models"]["persistentVolumeClaim"]["claimName"] in claims
    assert ("ports" in container) == serves and ("readinessProbe" in container) == serves
    return container


def manifest(words):
    """The checked documents by kind, the container that serves, and the workers' container."""
    done = subprocess.run([KVPLAN, *words, "--format", "k8s"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=SOURCE, encoding="utf-8",
                          env={**os.environ, "HF_HUB_OFFLINE": "1"})
    assert done.returncode in (0, 1) and done.stdout, (words, done.stderr)
    kinds = {}
    for document in documents(done.stdout):
        kind = SCHEMAS["kinds"][f"{document['apiVersion']} {document['kind']}"]
        check(kind, document, kind)
        kinds[kind] = document
    claims = {kinds["PersistentVolumeClaim"]["metadata"]["name"]}
    service = kinds["Service"]["spec"]
    if "Deployment" in kinds:
        spec = kinds["Deployment"]["spec"]
        template, worker = spec["template"], None
        assert spec["selector"]["matchLabels"].items() <= template["metadata"]["labels"].items()
    else:
        spec = kinds["LeaderWorkerSet"]["spec"]["leaderWorkerTemplate"]
        template = spec["leaderTemplate"]
        worker = check_pod(spec["workerTemplate"], claims, False)
        # The controller creates a Service with the set's name.
        assert kinds["Service"]["metadata"]["name"] != kinds["LeaderWorkerSet"]["metadata"]["name"]
        assert not service["selector"].items() <= spec["workerTemplate"]["metadata"]["labels"].items()
    assert service["selector"].items() <= template["metadata"]["labels"].items()
    container = check_pod(template, claims, True)
    assert service["ports"][0]["targetPort"] == container["ports"][0]["name"]
    assert container["readinessProbe"]["httpGet"]["port"] == container["ports"][0]["containerPort"]
    return kinds, container, worker


def variables(container):
    return {each["name"]: each.get("value", each.get("valueFrom")) for each in container["env"]}


def main():
    # Ports, health checks and model folders as in each engine's documentation and container.
    for engine, port, health, store in (("vllm", 8000, "/health", "HF_HOME"), ("sglang", 30000, "/health", "HF_HOME"),
                                        ("llama.cpp", 8080, "/health", "LLAMA_CACHE"), ("ollama", 11434, "/", "OLLAMA_MODELS"),
                                        ("tensorrt-llm", 8000, "/health", "HF_HOME")):
        kinds, container, _ = manifest(["Qwen3-8B", "--engine", engine, "--gpu", "h100-80gb", "--max-model-len", "8k"])
        assert container["ports"][0]["containerPort"] == port and container["readinessProbe"]["httpGet"]["path"] == health, engine
        assert variables(container)[store] == "/models" and ("HF_TOKEN" in variables(container)) == (engine != "ollama")
        assert container["resources"]["limits"] == {"nvidia.com/gpu": 1}
        # The images of vLLM, llama.cpp and ollama listen on every address. The others only listen inside the Pod.
        assert (container["command"][-2:] == ["--host", "0.0.0.0"]) == (engine in ("sglang", "tensorrt-llm")), container["command"]
        if engine != "llama.cpp":
            # 8.19 billion numbers of two bytes, plus a fifth.
            assert kinds["PersistentVolumeClaim"]["spec"]["resources"]["requests"]["storage"] == "20Gi"

    _, local, _ = manifest(["testdata/configs/qwen3-0.6b.json", "--engine", "vllm", "--gpu", "h100-80gb", "--gpu-count", "2", "-tp", "2"])
    assert local["command"][:3] == ["vllm", "serve", "/models/qwen3-0.6b"] and local["resources"]["limits"]["nvidia.com/gpu"] == 2
    _, gguf, _ = manifest(["testdata/configs/qwen3-0.6b.json", "--engine", "llama.cpp", "--gpu", "l4"])
    assert gguf["command"][:3] == ["/app/llama-server", "-m", "/models/qwen3-0.6b.gguf"]

    deepseek = ["DeepSeek-V3", "--gpu", "h200", "--max-model-len", "8k", "--engine"]
    kinds, leader, worker = manifest([*deepseek, "vllm", "-tp", "8", "-pp", "3"])
    assert kinds["LeaderWorkerSet"]["spec"]["leaderWorkerTemplate"]["size"] == 3
    assert kinds["PersistentVolumeClaim"]["spec"]["accessModes"] == ["ReadWriteMany"]
    for container, rank in ((leader, "0"), (worker, "$(LWS_WORKER_INDEX)")):
        words = container["command"]
        assert words[words.index("--node-rank") + 1] == rank and words[words.index("--master-addr") + 1] == "$(LWS_LEADER_ADDRESS)"
        assert words[words.index("--nnodes") + 1] == "3"
    assert "--headless" in worker["command"] and "--headless" not in leader["command"]
    _, leader, worker = manifest([*deepseek, "sglang", "-tp", "16"])
    assert worker["command"][-1] == "$(LWS_LEADER_ADDRESS):20000" and leader["command"][-2:] == ["--host", "0.0.0.0"]
    # The number of a worker's first copy is a multiple of the worker's index, computed by the shell.
    _, _, worker = manifest([*deepseek, "vllm", "-dp", "24", "--enable-expert-parallel"])
    assert worker["command"][:2] == ["sh", "-c"] and "--data-parallel-start-rank $$(( $(LWS_WORKER_INDEX) * 8 ))" in worker["command"][2]
    uneven = subprocess.run([KVPLAN, *deepseek, "vllm", "-dp", "20", "--enable-expert-parallel", "--format", "k8s"], capture_output=True,
                            cwd=SOURCE, text=True)
    assert uneven.returncode == 2 and "use --format args" in uneven.stderr
    other = subprocess.run([KVPLAN, "Qwen3-8B", "--engine", "vllm", "--gpu", "mi300x", "--format", "k8s"], capture_output=True, cwd=SOURCE, text=True)
    assert other.returncode == 2 and "NVIDIA" in other.stderr

    # A name that Kubernetes would expand, or that the container does not define.
    folder = os.path.join(os.environ.get("TMPDIR", "/tmp"), f"kvplan-k8s-{os.getpid()}")
    os.makedirs(folder)
    path = os.path.join(folder, "$(HF_TOKEN) A_b.json")
    try:
        os.symlink(os.path.abspath(os.path.join(SOURCE, "testdata/configs/qwen3-0.6b.json")), path)
        kinds, odd, _ = manifest([path, "--engine", "vllm", "--gpu", "l4"])
        assert odd["command"][2] == "/models/$$(HF_TOKEN) A_b" and kinds["Deployment"]["metadata"]["name"] == "vllm-hf-token-a-b"
    finally:
        os.unlink(path)
        os.rmdir(folder)


main()
