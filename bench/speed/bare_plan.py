"""What somebody might write instead of kvplan: it parses a config, multiplies and prints. It is the smallest program that makes a plan.

usage: bare_plan.py CONFIG...            a config.json each
       bare_plan.py http://HOST/ORG/NAME  the same of a Hub: the config and the index of the weights
       bare_plan.py FILE.gguf            from a GGUF header

It knows one kind of attention, no engine and no quantization. bench/run compares its answer for the plain config with kvplan's. Run it without the
site module, which is Python's fastest start.
"""
import json
import sys


def first(value):
    """The value of a field that some configs give for each layer."""
    return value[0] if isinstance(value, list) else value


def plan(config, weights=None):
    config = config.get("text_config", config)
    layers = config.get("num_hidden_layers", 1)
    width = config.get("hidden_size") or 1
    inner = first(config.get("intermediate_size")) or 4 * width
    heads = config.get("num_attention_heads") or 1
    kv = config.get("num_key_value_heads") or heads
    head = config.get("head_dim") or width // heads
    vocabulary = config.get("vocab_size", 1)
    context = config.get("max_position_embeddings", 131072)
    embeddings = vocabulary * width * (1 if config.get("tie_word_embeddings") else 2)
    layer = 2 * width * heads * head + 2 * width * kv * head + 3 * width * inner + 2 * width
    parameters = embeddings + layers * layer + width
    token = 2 * kv * head * 2
    kinds = config.get("layer_types") or ["full_attention"] * layers
    full = kinds.count("full_attention")
    window = (len(kinds) - full) * (config.get("sliding_window") or 0)
    skipped = set((config.get("quantization_config") or {}).get("modules_to_not_convert") or [])
    contexts = {}
    tokens = 4096
    while tokens <= context:
        contexts[tokens] = (tokens * full + window) * token
        tokens *= 2
    weights = weights or 2 * parameters
    kv_bytes = (context * full + window) * token
    return {"parameters": parameters, "weights_bytes": weights, "skipped_modules": len(skipped),
            "kv_bytes_per_token": full * token, "kv_bytes": kv_bytes, "total_bytes": weights + kv_bytes,
            "contexts": contexts}


def from_hub(address):
    from urllib.request import urlopen
    with urlopen(address + "/resolve/main/config.json") as answer:
        config = json.load(answer)
    with urlopen(address + "/resolve/main/model.safetensors.index.json") as answer:
        weights = json.load(answer)["metadata"]["total_size"]
    return plan(config, weights)


def from_gguf(path):
    """The scalars of the header. Of arrays only the length matters, so strings are skipped."""
    from struct import calcsize, unpack_from
    sizes = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
    with open(path, "rb") as file:
        data = file.read(64 << 20)
    at = 8
    num_tensors, num_keys = unpack_from("<QQ", data, at)
    at += 16

    def string(at):
        size = unpack_from("<Q", data, at)[0]
        return data[at + 8:at + 8 + size], at + 8 + size

    values = {}
    for _ in range(num_keys):
        name, at = string(at)
        kind = unpack_from("<I", data, at)[0]
        at += 4
        if kind == 8:
            values[name.decode()], at = string(at)
        elif kind == 9:
            kind, count = unpack_from("<IQ", data, at)
            at += 12
            if kind == 8:
                for _ in range(count):
                    at += 8 + unpack_from("<Q", data, at)[0]
            else:
                at += count * calcsize("<" + sizes[kind])
        else:
            values[name.decode()] = unpack_from("<" + sizes[kind], data, at)[0]
            at += calcsize("<" + sizes[kind])
    weights = 0
    for _ in range(num_tensors):
        _, at = string(at)
        dims = unpack_from("<I", data, at)[0]
        shape = unpack_from(f"<{dims}Q", data, at + 4)
        kind = unpack_from("<I", data, at + 4 + 8 * dims)[0]
        at += 4 + 8 * dims + 12
        elements = 4 if kind == 0 else 2
        for dim in shape:
            elements *= dim
        weights += elements
    return plan({"num_hidden_layers": values["llama.block_count"], "hidden_size": values["llama.embedding_length"],
                 "num_attention_heads": values["llama.attention.head_count"],
                 "num_key_value_heads": values["llama.attention.head_count_kv"],
                 "max_position_embeddings": values["llama.context_length"]}, weights)


for name in sys.argv[1:]:
    if name.startswith("http://"):
        answer = from_hub(name)
    elif name.endswith(".gguf"):
        answer = from_gguf(name)
    else:
        with open(name) as config:
            answer = plan(json.load(config))
    print(json.dumps(answer))
