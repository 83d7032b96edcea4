"""GGUF headers as rows of testdata/conformance/llama.cpp-models.jsonl, and those rows as files without data.

    gguf.py [PREFIX=]FOLDER ... > rows.jsonl      the headers of a folder's *.gguf; a name is PREFIX:FILE

A row: `model`; `metadata` {key: [type, value]}, where ["i32[]", [0], 32] is one value 32 times; `tensors`
[name with {i} for the layer, type, dims, layers]. The vocabulary is left out; vocab_size has its length.
"""
import json
import os
import re
import struct
import sys

KINDS = ("u8", "i8", "u16", "i16", "u32", "i32", "f32", "bool", "str", "arr", "u64", "i64", "f64")
FORMS = {"u8": "B", "i8": "b", "u16": "H", "i16": "h", "u32": "I", "i32": "i", "f32": "f", "bool": "?", "u64": "Q",
         "i64": "q", "f64": "d"}
# name: (number, elements of a block, bytes of a block)
TYPES = {"f32": (0, 1, 4), "f16": (1, 1, 2), "q4_0": (2, 32, 18), "q4_1": (3, 32, 20), "q5_0": (6, 32, 22),
         "q5_1": (7, 32, 24), "q8_0": (8, 32, 34), "q2_K": (10, 256, 84), "q3_K": (11, 256, 110), "q4_K": (12, 256, 144),
         "q5_K": (13, 256, 176), "q6_K": (14, 256, 210), "i32": (26, 1, 4), "i64": (27, 1, 8), "bf16": (30, 1, 2),
         "mxfp4": (39, 32, 17)}
NAMES = {number: name for name, (number, _, _) in TYPES.items()}
ALIGNMENT = 32
TOKENIZER = "tokenizer."
NO_VOCABULARY = {"tokenizer.ggml.token_type_count"}  # a size of the model, in spite of its name


def padded(size):
    return -(-size // ALIGNMENT) * ALIGNMENT


# --- a row as a file

def text(words):
    raw = words.encode()
    return struct.pack("<Q", len(raw)) + raw


def scalar(kind, value):
    return text(value) if kind == "str" else struct.pack("<" + FORMS[kind], value)


def value_bytes(kind, value, times=1):
    if not kind.endswith("[]"):
        return struct.pack("<I", KINDS.index(kind)) + scalar(kind, value)
    of = kind[:-2]
    head = struct.pack("<IIQ", KINDS.index("arr"), KINDS.index(of), len(value) * times)
    return head + b"".join(scalar(of, v) for v in value) * times


def unfolded(tensors):
    """(name, type, dims) of each tensor."""
    for name, kind, dims, *layers in tensors:
        if not layers:
            yield name, kind, dims
            continue
        for run in layers[0].split(","):
            low, _, high = run.partition("-")
            for i in range(int(low), int(high or low) + 1):
                yield name.replace("{i}", str(i)), kind, dims


def write(row, path):
    """The header, and a hole in place of the tensors."""
    infos, offset = [], 0
    for name, kind, dims in unfolded(row["tensors"]):
        number, block, size = TYPES[kind]
        infos.append(text(name) + struct.pack(f"<I{len(dims)}QIQ", len(dims), *dims, number, offset))
        elements = 1
        for d in dims:
            elements *= d
        offset += padded(elements // block * size)
    head = b"GGUF" + struct.pack("<IQQ", 3, len(infos), len(row["metadata"]))
    head += b"".join(text(key) + value_bytes(*value) for key, value in row["metadata"].items()) + b"".join(infos)
    with open(path, "wb") as f:
        f.write(head)
        f.truncate(padded(len(head)) + offset)


# --- a file as a row

class Reader:
    def __init__(self, file):
        self.file = file

    def take(self, form):
        return struct.unpack("<" + form, self.file.read(struct.calcsize("<" + form)))

    def text(self):
        return self.file.read(self.take("Q")[0]).decode()

    def value(self, kind):
        if kind == "str":
            return self.text()
        v = self.take(FORMS[kind])[0]
        if kind == "f32" and v == v and abs(v) != float("inf"):
            return shortest(v)
        return v

    def metadata(self, count):
        out = {}
        for _ in range(count):
            key, kind = self.text(), KINDS[self.take("I")[0]]
            if kind == "arr":
                of, n = self.take("IQ")
                values = [self.value(KINDS[of]) for _ in range(n)]
                same = n > 4 and all(v == values[0] for v in values)
                out[key] = [KINDS[of] + "[]", values[:1], n] if same else [KINDS[of] + "[]", values]
            else:
                out[key] = [kind, self.value(kind)]
        return out

    def tensor(self):
        name, n = self.text(), self.take("I")[0]
        dims = list(self.take("Q" * n))
        number, _ = self.take("IQ")
        return name, NAMES[number], dims


def shortest(value):
    """The shortest decimal number that gives the same 32-bit float."""
    raw = struct.pack("<f", value)
    return next(x for n in range(1, 10) if struct.pack("<f", x := float(f"{value:.{n}g}")) == raw)


def folded(tensors):
    """Merges tensors that differ only in the layer: [[name, type, dims, layers]]."""
    groups = {}
    for name, kind, dims in tensors:
        m = re.match(r"(blk|enc\.blk|dec\.blk)\.(\d+)\.(.*)", name)
        key = (f"{m[1]}.{{i}}.{m[3]}" if m else name, kind, tuple(dims))
        groups.setdefault(key, []).append(int(m[2]) if m else None)
    return [[name, kind, list(dims)] + ([] if layers == [None] else [runs(sorted(layers))])
            for (name, kind, dims), layers in groups.items()]


def runs(numbers):
    """[0, 1, 2, 5] as "0-2,5"."""
    out = []
    for i in numbers:
        if out and i == out[-1][1] + 1:
            out[-1][1] = i
        else:
            out.append([i, i])
    return ",".join(f"{a}-{b}" if b > a else str(a) for a, b in out)


def without_vocabulary(metadata):
    """The library accepts a model without a tokenizer. The length of the real vocabulary is kept in vocab_size."""
    tokens = metadata.get("tokenizer.ggml.tokens")
    if tokens is None:
        return metadata
    out = {key: value for key, value in metadata.items() if not key.startswith(TOKENIZER) or key in NO_VOCABULARY}
    out[metadata["general.architecture"][1] + ".vocab_size"] = ["u32", len(tokens[1]) * (tokens[2:] or [1])[0]]
    return {**out, "tokenizer.ggml.model": ["str", "no_vocab"]}


def read(path, name):
    with open(path, "rb") as f:
        if f.read(4) != b"GGUF":
            raise SystemExit(path + " is no GGUF")
        reader = Reader(f)
        _, count, keys = reader.take("IQQ")
        metadata = reader.metadata(keys)
        tensors = [reader.tensor() for _ in range(count)]
    return {"model": name, "metadata": without_vocabulary(metadata), "tensors": folded(tensors)}


def main():
    for word in sys.argv[1:]:
        prefix, _, folder = word.rpartition("=")
        for file in sorted(os.listdir(folder)):
            if file.endswith(".gguf"):
                name = (prefix + ":" if prefix else "") + file[:-len(".gguf")]
                print(json.dumps(read(os.path.join(folder, file), name), separators=(",", ":")))


if __name__ == "__main__":
    main()
