#!/usr/bin/env python3
"""Published models: adds one to testdata/published, or writes the program's built-in catalogue.

    scripts/published.py add ID CONFIG --source TEXT [--quant FILE] [--license L] [--date YYYY-MM-DD]
                             [--parameters N] [--gguf REPO] [--ollama TAG]
    scripts/published.py table        src/sources/catalogue.txt, from testdata/published

`add` keeps what engines read of a model's config.json and drops the rest: token ids, dropout, sampling defaults.
--source names the public repository, commit and path that CONFIG was read from.

In the table an entry is stored as the difference from the most similar entry: objects are merged, "-" removes a key,
{"*": N, "of": [...]} is a list of N values that repeat, "layers.#.mlp@0-2,5" names a module of four layers, and "$7" is the
key number 7 of the second line.
src/formats/published.cpp reads it.
"""
import argparse
import collections
import datetime
import glob
import json
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FOLDER = os.path.join(ROOT, "testdata", "published")
TABLE = os.path.join(ROOT, "src", "sources", "catalogue.txt")
COLUMNS = ("model", "family", "generation", "tasks", "license", "date", "parameters", "gguf", "ollama")
LEFT_OUT = {"LGAI-EXAONE/EXAONE-4.5-33B"}  # no family reads it yet
LONGEST = 25000  # bytes of an entry; side files that name each layer stay out of the program

# Keys with which no engine plans memory.
NOISE = re.compile(
    r".*(dropout|pdrop|layerdrop|_token_id|_token_ids|_token_index|_loss|_loss_coef|_loss_weight|_lambda)$|"
    r"initializer_.*|.*_init_scale|.*_std|(rms|layer|batch)_?norm_eps.*|norm_eps|.*_norm_eps|.*_epsilon|"
    r"hidden_act.*|activation_function|.*_hidden_act|act_fn|feed_forward_proj_act|"
    r"_name_or_path|transformers_version|auto_map|use_cache|pretraining_tp|tokenizer_class|task_specific_params|label2id|"
    r"torchscript|return_dict.*|output_(attentions|hidden_states|scores|router_logits|past)|problem_type|prefix|finetuning_task|"
    r"(bos|eos|pad|sep|boi|eoi|boa|eoa|unk)_token.*|num_logits_to_keep|(begin_)?suppress_tokens|bad_words_ids|decoder_start.*|forced_.*|"
    r"(min|max)_length|do_sample|early_stopping|num_beams|num_beam_groups|num_return_sequences|temperature|top_[kp]|typical_p|"
    r"(length|repetition|diversity)_penalty|.*no_repeat_ngram_size|exponential_decay.*|remove_invalid_values|pruned_heads|"
    r"tf_legacy_loss|use_bfloat16|chunk_size_feed_forward|gradient_checkpointing|cross_attention_hidden_size|add_cross_attention|"
    r"tie_encoder_decoder|is_encoder_decoder_false|seq_aux|aux_loss.*|router_(aux|z)_.*|.*jitter.*|ep_size|"
    r"beta_(fast|slow)|mscale.*|(low|high)_freq_factor|attention_factor|long_factor|short_factor|rope_local_base_freq|"
    r"final_logit_softcapping|attn_logit_softcapping|query_pre_attn_scalar|attention_(logit_cap|invalid_logits_value)|"
    r"residual_weight|gradient_clipping|rescale.*|image_mean|image_std|producer|kv_cache_scheme_note|unsloth_.*|chat_template.*|"
    r"use_bidirectional_image.*|encoder_no_.*|quantization_config_note|zero_init.*|time_step_.*|hidden_dropout_prob|classifier_dropout")


def reduced(value, key=""):
    if not isinstance(value, dict) or key == "quantization_config":
        return value
    labels = key == "" and any("SequenceClassification" in a for a in value.get("architectures") or [])
    return {
        k: reduced(v, k)
        for k, v in value.items()
        if not NOISE.fullmatch(k) and not (k == "id2label" and not labels) and not (k == "is_encoder_decoder" and not v)
    }


def write(path, entry):
    lines = [f' {json.dumps(k)}: {json.dumps(v)}' for k, v in entry.items() if k != "config"]
    config = entry["config"]
    lines.append(' "config": {\n' + ",\n".join(f"  {json.dumps(k)}: {json.dumps(v)}" for k, v in config.items()) + "}")
    with open(path, "w") as file:
        file.write("{\n" + ",\n".join(lines) + "\n}\n")


def add(args):
    with open(args.config) as file:
        config = json.load(file)
    entry = {"id": args.id, "source": args.source}
    for name in ("license", "date", "parameters", "gguf", "ollama"):
        if getattr(args, name):
            entry[name] = getattr(args, name)
    if args.quant:
        with open(args.quant) as file:
            entry["hf_quant_config"] = json.load(file)
    entry["config"] = reduced(config)
    write(os.path.join(FOLDER, args.id.replace("/", "--") + ".json"), entry)


# The model's name: its family, its generation, and the rest. The first row that matches decides.
FAMILIES = [
    r"(DeepSeek)-(R1-Distill|R1|V\d\.?\d*(?:-Lite)?)",
    r"(DeepSeek)-()",
    r"(Kimi|MiniMax)-(\w+(?:\.\d+)?)",
    r"(Nemotron|NVIDIA-Nemotron|Llama-3_3-Nemotron)-(\d(?:\.\d)?|H|Super)",
    r"(Llama)-(?:Meta-)?(\d(?:\.\d)?)",
    r"(Qwen|gemma|GLM|Phi|EXAONE|LFM|Olmo|Step|SmolLM|Yi|starcoder|bge|Falcon-H|Mixtral|MiMo|Molmo|Jamba|Voxtral|phi|glm|granite)-?(?:V|v|m|)(\d(?:\.\d)?n?(?![\dbx]))?",
    r"(gpt-oss|whisper|mamba|Hunyuan|OLMoE|TinyLlama|zephyr|Ministral|Devstral(?:-Small)?|Mistral(?:-Small|-Large|-Nemo)?|[A-Za-z]+)-?()",
]


def named(entry):
    """The model's name without types, its family and generation, and its task."""
    name = entry["id"].split("/")[1]
    model = re.sub(r"^(NVIDIA|Meta)-|-(NVFP4|FP8(-dynamic|-Static-PerTensor)?|BF16|AWQ|GPTQ-Int\d|hf)$", "", name, flags=re.I)
    model = re.sub(r"-(NVFP4|FP8)$", "", model)
    for row in FAMILIES:
        if match := re.match(row, model, flags=re.I):
            family = match[1].removeprefix("NVIDIA-").lower()
            generation = (match[2] or "").lower()
            break
    config = entry["config"]
    low = name.lower()
    if re.search(r"embed|^bge-(?!reranker)|gte|minilm", low):
        tasks = "embedding"
    elif "rerank" in low:
        tasks = "reranking"
    elif config.get("model_type") in ("whisper", "voxtral"):
        tasks = "speech"
    elif re.search(r"coder|devstral|starcoder|codellama|kimi-k2.7-code", low):
        tasks = "code"
    else:
        tasks = "chat"
        if config.get("vision_config") or "-vl-" in low:
            tasks += " vision"
    return model, family, generation, tasks


def ranges(numbers):
    """[0, 1, 2, 5] as "0-2,5"."""
    out = []
    for n in sorted(numbers):
        if out and n == out[-1][1] + 1:
            out[-1][1] = n
        else:
            out.append([n, n])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in out)


def by_layer(names):
    """Names of modules. Names that only differ by the layer's number are joined."""
    layers = {}
    for name in names:
        match = re.match(r"(.*?layers\.)(\d+)(?=\D|$)(.*)", name)
        key = f"{match[1]}#{match[3]}" if match else name
        layers.setdefault(key, []).append(int(match[2]) if match else None)
    return {key if numbers == [None] else f"{key}@{ranges(numbers)}" if len(numbers) > 1 else key.replace("#", str(numbers[0])): None for key, numbers in layers.items()}


def packed(value):
    if isinstance(value, dict) and sum("layers." in k for k in value) > 5:
        groups = {}
        for key, each in value.items():
            groups.setdefault(compact(each), []).append(key)
        return {name: json.loads(text) for text, names in groups.items() for name in by_layer(names)}
    if isinstance(value, dict):
        return {k: packed(v) for k, v in value.items()}
    if isinstance(value, list) and sum(isinstance(v, str) and "layers." in v for v in value) > 5:
        return list(by_layer(value))
    if isinstance(value, list) and len(value) > 5:
        for period in range(1, 11):
            if len(value) >= 2 * period and all(v == value[i % period] for i, v in enumerate(value)):
                return {"*": len(value), "of": value[:period]}
    return value


def difference(old, new):
    out = {}
    for key in old:
        if key not in new:
            out[key] = "-"
    for key, value in new.items():
        if key not in old:
            out[key] = value
        elif old[key] != value:
            both = isinstance(old[key], dict) and isinstance(value, dict)
            out[key] = difference(old[key], value) if both and "*" not in value and "*" not in old[key] else value
    return out


def usual_keys(lines):
    """Keys that get a number, the most frequent first."""
    counts = collections.Counter(key for line in lines for key in re.findall(r'"([A-Za-z_0-9]+)":', line))
    worth = {key: n * (len(key) - 3) - len(key) for key, n in counts.items()}
    return sorted((key for key in worth if worth[key] > 8), key=lambda key: (-counts[key], key))


def compact(value):
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def table(_):
    entries = []
    for path in sorted(glob.glob(os.path.join(FOLDER, "*.json"))):
        with open(path) as file:
            entries.append(json.load(file))
    entries = [entry for entry in entries if entry["id"] not in LEFT_OUT]
    entries.sort(key=lambda e: (e["config"].get("model_type", ""), "hf_quant_config" in e or "quantization_config" in e["config"], e["id"]))
    written, lines, left_out = [], [], []
    for entry in entries:
        content = {"config": packed(entry["config"])}
        if "hf_quant_config" in entry:
            content["hf_quant_config"] = packed(entry["hf_quant_config"])
        best, base = compact(content), "-"
        for index, (other, depth) in enumerate(written):
            text = compact(difference(other, content))
            if depth < 6 and len(text) + 8 < len(best):
                best, base = text, str(index)
        if len(best) > LONGEST:
            left_out.append((entry["id"], len(best)))
            continue
        written.append((content, 0 if base == "-" else written[int(base)][1] + 1))
        facts = [*named(entry), entry.get("license", ""), entry.get("date", ""), str(entry.get("parameters", "")), entry.get("gguf", ""), entry.get("ollama", "")]
        # Values that the program can compute itself are left out.
        name = entry["id"].split("/")[1]
        if facts[0] == name:
            facts[0] = ""
        if entry.get("gguf") == f"unsloth/{name}-GGUF":
            facts[COLUMNS.index("gguf")] = "="
        lines.append("|".join([entry["id"], *facts, base, best]))
    keys = usual_keys(lines)
    numbers = {key: number for number, key in enumerate(keys)}
    lines = [re.sub(r'"([A-Za-z_0-9]+)":', lambda m: f'"${numbers[m[1]]}":' if m[1] in numbers else m[0], line) for line in lines]
    body = " ".join(keys) + "\n" + "\n".join(lines) + "\n"
    head = [str(datetime.date.today())]
    if os.path.exists(TABLE):
        with open(TABLE) as file:
            old, _, kept = file.read().partition("\n")
        if kept == body:
            head = old.split("|")
    with open(TABLE, "w") as file:
        file.write(f"{head[0]}|written by scripts/published.py table: id|{'|'.join(COLUMNS)}|like entry N|differences\n" + body)
    print(f"{len(lines)} models, {os.path.getsize(TABLE)} bytes; left out for their length: {left_out}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    adder = commands.add_parser("add")
    adder.add_argument("id")
    adder.add_argument("config")
    for name in ("source", "quant", "license", "date", "gguf", "ollama"):
        adder.add_argument("--" + name, required=name == "source")
    adder.add_argument("--parameters", type=int)
    adder.set_defaults(run=add)
    commands.add_parser("table").set_defaults(run=table)
    args = parser.parse_args()
    args.run(args)


if __name__ == "__main__":
    sys.exit(main())
