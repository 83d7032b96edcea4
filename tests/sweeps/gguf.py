"""GGUF files without data, from the headers that llama.cpp's own models have (testdata/conformance/llama.cpp-models.jsonl)."""
import json
import struct

KINDS = {"u8": (0, "B"), "i8": (1, "b"), "u16": (2, "H"), "i16": (3, "h"), "u32": (4, "I"), "i32": (5, "i"), "f32": (6, "f"),
         "bool": (7, "?"), "str": (8, ""), "u64": (10, "Q"), "i64": (11, "q"), "f64": (12, "d")}
ARRAY = 9
TENSORS = {"f32": (0, 4), "f16": (1, 2)}  # GGUF's number of the type, and bytes of an element
ALIGNMENT = 32


def text(value):
    return struct.pack("<Q", len(value.encode())) + value.encode()


def scalar(kind, value):
    return text(value) if kind == "str" else struct.pack("<" + KINDS[kind][1], float(value) if kind[0] == "f" else value)


def key(name, value):
    """[type, value], or ["i32[]", values, number of repetitions]."""
    kind = value[0]
    if not kind.endswith("[]"):
        return text(name) + struct.pack("<I", KINDS[kind][0]) + scalar(kind, value[1])
    kind, values = kind[:-2], value[1] * (value[2] if len(value) > 2 else 1)
    return text(name) + struct.pack("<IIQ", ARRAY, KINDS[kind][0], len(values)) + b"".join(scalar(kind, each) for each in values)


def layers(runs):
    """ "0-2,5": 0, 1, 2, 5."""
    ends = [[int(end) for end in run.split("-")] for run in runs.split(",")]
    return [i for run in ends for i in range(run[0], run[-1] + 1)]


def write(path, row):
    tensors, at = [], 0
    for name, kind, dims, *runs in row["tensors"]:
        number, size = TENSORS[kind]
        for length in dims:
            size *= length
        for i in layers(runs[0]) if runs else [0]:
            tensors.append(text(name.replace("{i}", str(i))) + struct.pack(f"<I{len(dims)}QIQ", len(dims), *dims, number, at))
            at += -(-size // ALIGNMENT) * ALIGNMENT
    keys = [key(*pair) for pair in row["metadata"].items()]
    header = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(keys)) + b"".join(keys) + b"".join(tensors)
    with open(path, "wb") as file:
        file.write(header + bytes(-len(header) % ALIGNMENT))
        file.truncate(file.tell() + at)


def models(source):
    """The rows of real models, by name. Fixtures are left out."""
    with open(source + "/testdata/conformance/llama.cpp-models.jsonl", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    return {row["model"]: row for row in rows if not row["model"].startswith("fixture:")}
