"""Writes the header of a GGUF file, with a hole in place of the weights."""
import struct

U32, F32, TEXT, ARRAY, I32 = 4, 6, 8, 9, 5
FLOAT32, FLOAT16 = 0, 1  # of tensors


def text(value):
    raw = value.encode()
    return struct.pack("<Q", len(raw)) + raw


def key(name, kind, body):
    return text(name) + struct.pack("<I", kind) + body


def array(name, kind, bodies):
    return key(name, ARRAY, struct.pack("<IQ", kind, len(bodies)) + b"".join(bodies))


def word(number):
    """A token: words of two to eleven letters, a different one for each number."""
    letters = ""
    while number or len(letters) < 2:
        number, digit = divmod(number, 26)
        letters += chr(97 + digit)
    return ("\u2581" if len(letters) % 2 else "") + letters * (1 + len(letters) % 2)


def tensors(layers, vocabulary, width, inner, kv):
    yield "token_embd.weight", (width, vocabulary)
    yield "output_norm.weight", (width,)
    for layer in range(layers):
        for name, shape in (("attn_norm", (width,)), ("attn_q", (width, width)), ("attn_k", (width, kv)),
                            ("attn_v", (width, kv)), ("attn_output", (width, width)), ("ffn_norm", (width,)),
                            ("ffn_gate", (width, inner)), ("ffn_up", (width, inner)), ("ffn_down", (inner, width))):
            yield f"blk.{layer}.{name}.weight", shape


def write(path, vocabulary, layers=32, width=1024, inner=4096, heads=16, heads_kv=4):
    """A llama model with this many tokens, their scores and types, and merges."""
    keys = [key("general.architecture", TEXT, text("llama")), key("general.alignment", U32, struct.pack("<I", 32))]
    for name, value in (("block_count", layers), ("context_length", 131072), ("embedding_length", width),
                        ("feed_forward_length", inner), ("attention.head_count", heads),
                        ("attention.head_count_kv", heads_kv), ("vocab_size", vocabulary),
                        ("rope.dimension_count", width // heads)):
        keys.append(key("llama." + name, U32, struct.pack("<I", value)))
    keys.append(key("llama.attention.layer_norm_rms_epsilon", F32, struct.pack("<f", 1e-5)))
    keys.append(key("tokenizer.ggml.model", TEXT, text("gpt2")))
    keys.append(array("tokenizer.ggml.tokens", TEXT, [text(word(i)) for i in range(vocabulary)]))
    keys.append(array("tokenizer.ggml.scores", F32, [struct.pack("<f", -i) for i in range(vocabulary)]))
    keys.append(array("tokenizer.ggml.token_type", I32, [struct.pack("<i", 1)] * vocabulary))
    keys.append(array("tokenizer.ggml.merges", TEXT, [text(word(i) + " " + word(i + 1)) for i in range(vocabulary)]))

    entries, offset = [], 0
    for name, shape in tensors(layers, vocabulary, width, inner, width * heads_kv // heads):
        kind = FLOAT32 if len(shape) == 1 else FLOAT16
        entries.append(text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, kind, offset))
        elements = shape[0] * (shape[1] if len(shape) > 1 else 1)
        offset += (elements * (4 if kind == FLOAT32 else 2) + 31) // 32 * 32
    head = b"GGUF" + struct.pack("<IQQ", 3, len(entries), len(keys)) + b"".join(keys) + b"".join(entries)
    with open(path, "wb") as file:
        file.write(head)
        file.truncate((len(head) + 31) // 32 * 32 + offset)  # the weights: a hole that takes no disk
    return len(head)
