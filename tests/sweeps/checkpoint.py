"""Checkpoints without data: configs, headers and indexes with real shapes, in folders, in a cache of the Hub and on a Hub on loopback."""
import http.server
import json
import os
import re
import shutil
import struct
import threading

COMMIT = "0123456789abcdef0123456789abcdef01234567"
SIZES = {"BF16": 2, "F16": 2, "F32": 4, "U8": 1, "F8_E4M3": 1}
# The name of one tensor of each part, as checkpoints have it. {i} is the layer.
NAMES = {
    "embedding": "model.embed_tokens.weight", "lm_head": "lm_head.weight", "norms": "model.layers.{i}.input_layernorm.weight",
    "attention": "model.layers.{i}.self_attn.o_proj.weight", "mlp": "model.layers.{i}.mlp.up_proj.weight",
    "experts": "model.layers.{i}.mlp.experts.7.up_proj.weight", "router": "model.layers.{i}.mlp.gate.weight",
    "shared_experts": "model.layers.{i}.mlp.shared_experts.up_proj.weight", "state_mixer": "model.layers.{i}.mixer.in_proj.weight",
    "vision_encoder": "vision_tower.patch_conv.weight", "audio_encoder": "audio_tower.conv1.weight", "encoder": "encoder.block.0.weight",
    "projector": "multi_modal_projector.linear_1.weight", "mtp": "mtp.layers.0.eh_proj.weight", "other_weights": "model.extra.weight",
}


def bytes_of(tensors):
    """The bytes of all tensors (name, type, shape)."""
    total = 0
    for _, kind, shape in tensors:
        size = SIZES[kind]
        for length in shape:
            size *= length
        total += size
    return total


def by_parts(plan):
    """Tensors with the same bytes as the parts of a plan without an engine."""
    layers = plan["model"]["num_layers"]
    plain = "F32" if plan["model"]["dtype"] == "float32" else "BF16"
    out = []
    for line in plan["memory"][0]["lines"]:
        if line["part"] != "weights":
            continue
        name = NAMES[line["id"]]
        count = layers if "{i}" in name else 1
        unit = SIZES[plain] * count
        kind = plain if line["bytes"] % unit == 0 else "U8"
        each = line["bytes"] // (SIZES[kind] * count)
        for i in range(count):
            more = line["bytes"] - each * count * SIZES[kind] if i == 0 else 0
            out.append((name.replace("{i}", str(i)), kind, [each + more]))
    return out


def written_out(name, config):
    """All tensors of a model, from the shapes of its modules. Only for some families; None for the others."""
    hidden, vocab, inner = config.get("hidden_size"), config.get("vocab_size"), config.get("intermediate_size")
    heads, groups = config.get("num_attention_heads"), config.get("num_key_value_heads")
    kind = config.get("model_type")
    if kind not in ("llama", "qwen3", "mixtral") or config.get("quantization_config"):
        return None
    head = config.get("head_dim") or hidden // heads
    out = [("model.embed_tokens.weight", [vocab, hidden]), ("model.norm.weight", [hidden]), ("lm_head.weight", [vocab, hidden])]
    for i in range(config["num_hidden_layers"]):
        at = f"model.layers.{i}."
        out += [(at + "self_attn.q_proj.weight", [heads * head, hidden]), (at + "self_attn.k_proj.weight", [groups * head, hidden]),
                (at + "self_attn.v_proj.weight", [groups * head, hidden]), (at + "self_attn.o_proj.weight", [hidden, heads * head]),
                (at + "input_layernorm.weight", [hidden]), (at + "post_attention_layernorm.weight", [hidden])]
        if kind == "qwen3":
            out += [(at + "self_attn.q_norm.weight", [head]), (at + "self_attn.k_norm.weight", [head])]
        if kind == "mixtral":
            out.append((at + "block_sparse_moe.gate.weight", [config["num_local_experts"], hidden]))
            for e in range(config["num_local_experts"]):
                of = at + f"block_sparse_moe.experts.{e}."
                out += [(of + "w1.weight", [inner, hidden]), (of + "w2.weight", [hidden, inner]), (of + "w3.weight", [inner, hidden])]
        else:
            out += [(at + "mlp.gate_proj.weight", [inner, hidden]), (at + "mlp.up_proj.weight", [inner, hidden]),
                    (at + "mlp.down_proj.weight", [hidden, inner])]
    return [(tensor, "BF16", shape) for tensor, shape in out]


def write_safetensors(path, tensors):
    """Writes a header, and a hole in place of the data."""
    header, at = {}, 0
    for name, kind, shape in tensors:
        size = bytes_of([(name, kind, shape)])
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        file.truncate(8 + len(text) + at)


def shard_name(index, count):
    return f"model-{index + 1:05}-of-{count:05}.safetensors"


def write_index(folder, tensors, total, count=3):
    names = {name: shard_name(i * count // len(tensors), count) for i, (name, _, _) in enumerate(tensors)}
    with open(folder + "/model.safetensors.index.json", "w", encoding="utf-8") as file:
        json.dump({"metadata": {"total_size": total}, "weight_map": names}, file)


def write_shards(folder, tensors, which=None, count=3):
    for index in range(count):
        if which is None or index in which:
            write_safetensors(folder + "/" + shard_name(index, count),
                              [t for i, t in enumerate(tensors) if i * count // len(tensors) == index])


class Store:
    """Checkpoints in folders, and the same files in a cache of the Hub and on a Hub."""

    def __init__(self, root, hub_cache):
        self.root = root
        self.hub_cache = hub_cache
        os.makedirs(root, exist_ok=True)

    def folder(self, name, config, *, quant=None, index=None, shards=None, single=None):
        """Creates a folder with a config and the given files: (tensors, total) or tensors."""
        path = f"{self.root}/{name}"
        os.makedirs(path)
        with open(path + "/config.json", "w", encoding="utf-8") as file:
            file.write(config)
        if quant is not None:
            with open(path + "/hf_quant_config.json", "w", encoding="utf-8") as file:
                file.write(quant)
        if index is not None:
            write_index(path, *index)
        if shards is not None:
            write_shards(path, *shards)
        if single is not None:
            write_safetensors(path + "/model.safetensors", single)
        return path

    def cached(self, folder, name):
        """Puts a folder's files into a cache of the Hub, and returns their id there."""
        repo = f"{self.hub_cache}/models--cached--{name}"
        os.makedirs(repo + "/refs")
        with open(repo + "/refs/main", "w", encoding="utf-8") as file:
            file.write(COMMIT)
        os.makedirs(repo + "/snapshots")
        os.symlink(folder, f"{repo}/snapshots/{COMMIT}")
        return "cached/" + name

    def clear(self):
        shutil.rmtree(self.root)
        os.makedirs(self.root)
        shutil.rmtree(self.hub_cache, ignore_errors=True)


class Hub:
    """A Hub on loopback that serves the folders of a store as hub/NAME."""

    def __init__(self, root):
        hub = self

        class Answers(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = 1 << 16

            def log_message(self, *_):
                pass

            def refuse(self, code):
                self.send_response(404)
                self.send_header("X-Error-Code", code)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def do_GET(self):
                hub.requests += 1
                found = re.fullmatch(r"/hub/([^/]+)/resolve/[^/]+/([^/]+)", self.path)
                path = f"{root}/{found[1]}/{found[2]}" if found else ""
                if not found or not os.path.exists(path):
                    self.refuse("EntryNotFound" if found and os.path.isdir(f"{root}/{found[1]}") else "RepoNotFound")
                    return
                size = os.path.getsize(path)
                part = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range") or "")
                first, last = (int(part[1]), min(int(part[2]), size - 1)) if part else (0, size - 1)
                with open(path, "rb") as file:
                    file.seek(first)
                    body = file.read(last - first + 1)
                self.send_response(206 if part else 200)
                if part:
                    self.send_header("Content-Range", f"bytes {first}-{last}/{size}")
                self.send_header("X-Repo-Commit", COMMIT)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        self.requests = 0
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()
