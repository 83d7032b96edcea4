#!/usr/bin/env python3
"""Writes testdata/conformance/options-llama.cpp-RELEASE.json: the options that llama-server's own parser takes.

    tests/conformance/llama.cpp/options.py RELEASE [--engines FOLDER]

The parser is run (options_taken.py) from a package that has it: v0.5.0 from npm's node-llama-cpp, b11549 from
PyPI's xllamacpp, whose llama-server runs inside of Python. A build that is in no package (b11739) cannot be run.
"""
import argparse
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]
import common  # noqa: E402
import library  # noqa: E402

RELEASES = {"v0.5.0": library.RELEASES["v0.5.0"], "b11549": {"xllamacpp": "2026.10.11549"}}


def parser_of(room, packages):
    """The library with the parser, the folder where it finds other libraries, and how its strings are compiled."""
    if "node-llama-cpp" in packages:
        lib = library.libraries_from_npm(room, packages["node-llama-cpp"])
        return os.path.join(lib, "libllama-common.so"), lib, []
    wheel = room.unpacked(f"xllamacpp=={packages['xllamacpp']}")
    return os.path.join(wheel, "xllamacpp", "xllamacpp.abi3.so"), wheel, ["-D_GLIBCXX_USE_CXX11_ABI=0"]


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("release", choices=list(RELEASES))
    arguments.add_argument("--engines", metavar="FOLDER", default=common.default_folder())
    arguments = arguments.parse_args()
    room = common.Room(arguments.engines, "llama.cpp", arguments.release)
    packages = RELEASES[arguments.release]
    parser, folder, flags = parser_of(room, packages)
    ask = os.path.join(room.path, "liboptions.so")
    room.run(["c++", "-std=c++17", "-O1", "-shared", "-fPIC", *flags, os.path.join(HERE, "options.cpp"), "-o", ask])
    taken = room.run([room.python, os.path.join(HERE, "options_taken.py"), parser, ask],
                     env={**os.environ, "LD_LIBRARY_PATH": folder})
    out = os.path.join(common.TRUTHS, f"options-llama.cpp-{arguments.release}.json")
    with open(out, "w") as f:
        json.dump({"engine": "llama.cpp", "release": arguments.release, "ran_with": packages, "options": json.loads(taken)},
                  f, indent=0)
        f.write("\n")
    common.say(f"{out}: {len(json.loads(taken))} options")


if __name__ == "__main__":
    try:
        main()
    except common.Failure as failure:
        sys.exit(f"tests/conformance/llama.cpp/options.py: {failure}")
