#!/usr/bin/env python3
"""Writes which models each engine's own code was run with, from the executed rows in testdata/conformance.

    python3 scripts/executed_models.py            writes src/engines/executed.txt
    python3 scripts/executed_models.py --check    fails if that file does not agree with the rows

A line has an engine and words: model_types (of whole files and of their decoders) and classes. A row counts if it has figures. A row that could not
be run, may come from a stub, or was refused says nothing about memory. For llama.cpp a word is an architecture of a GGUF, or Hugging Face's name of
it.
"""
import glob
import json
import os
import re
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
FOLDER = os.path.join(ROOT, "testdata", "conformance")
OUT = os.path.join(ROOT, "src", "engines", "executed.txt")
TEXT_KEYS = ("text_config", "thinker_config", "llm_config", "language_config")
WIDTH = 118


def lines_of(path):
    with open(path) as file:
        return [json.loads(line) for line in file if line.strip()]


def all_configs():
    out = {}
    for path in sorted(glob.glob(os.path.join(FOLDER, "transformers-*.jsonl"))):
        for row in lines_of(path):
            if isinstance(row.get("config"), dict) and "id" in row:
                out[row["id"]] = row["config"]
    for row in lines_of(os.path.join(FOLDER, "configs.jsonl")):
        out[row["name"]] = row["config"]
    for path in glob.glob(os.path.join(ROOT, "testdata", "configs", "*.json")):
        with open(path) as file:
            out.setdefault(os.path.basename(path)[:-5], json.load(file))
    return out


def words_of_config(config, row):
    found = [config.get("model_type"), row.get("arch"), row.get("class")] + (config.get("architectures") or [])[:1]
    nested = [config[key] for key in TEXT_KEYS if isinstance(config.get(key), dict)][:1]
    found += [text.get("model_type") for text in nested]
    return {word for word in found if word}


def names_of_archs():
    """Hugging Face's names of GGUF architectures, "gptneox=gpt_neox llama=llama/mistral", from their table."""
    with open(os.path.join(ROOT, "src", "models", "gguf_archs.cpp")) as file:
        table = file.read()
    return {arch: names.split("/") for arch, names in re.findall(r"([\w.-]+)=([\w./-]+)", table)}


def executed():
    configs, archs, out = all_configs(), names_of_archs(), {}
    for path in sorted(glob.glob(os.path.join(FOLDER, "*.jsonl"))):
        rows = lines_of(path)
        if "ran_with" not in rows[0]:
            continue
        words = out.setdefault(rows[0]["engine"], set())
        for row in rows[1:]:
            if any(row.get(key) for key in ("not_run", "artefact", "refused")):
                continue
            if rows[0]["engine"] == "llama.cpp":
                arch = ggufs().get(row.get("model"))
                words.update(([arch] + archs.get(arch, [])) if arch else [])
            elif "config" in row:
                config = row["config"] if isinstance(row["config"], dict) else configs[row["config"]]
                words.update(words_of_config(config, row))
    return out


def ggufs(known={}):
    if not known:
        for row in lines_of(os.path.join(FOLDER, "llama.cpp-models.jsonl")):
            known[row["model"]] = row["metadata"]["general.architecture"][1]
    return known


def text():
    out = ["# Models that each engine's own code was run with (scripts/executed_models.py)"]
    for engine, words in sorted(executed().items()):
        line = engine
        for word in sorted(words):
            if len(line) + 1 + len(word) > WIDTH:
                out.append(line)
                line = engine
            line += " " + word
        out.append(line)
    return "\n".join(out) + "\n"


def main():
    made = text()
    if "--check" in sys.argv[1:]:
        with open(OUT) as file:
            if file.read() != made:
                sys.exit("src/engines/executed.txt is not what testdata/conformance says; run scripts/executed_models.py")
        return
    with open(OUT, "w") as file:
        file.write(made)


main()
