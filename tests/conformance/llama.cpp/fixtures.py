#!/usr/bin/env python3
"""Updates testdata/conformance/llama.cpp-models.jsonl from the files that llama.cpp's own test of architectures writes.

    tests/conformance/llama.cpp/fixtures.py RELEASE [--engines FOLDER]

The test is built from the source of RELEASE's headers (library.py), so it has that source's architectures. This takes half an hour on two busy
cores. The files need 1 GB and are removed. Rows of other models stay as they are.
"""
import argparse
import glob
import json
import os
import shutil
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]
import common  # noqa: E402
import gguf  # noqa: E402
import library  # noqa: E402

MODELS = os.path.join(common.TRUTHS, "llama.cpp-models.jsonl")
PARTS = ("tests/test-llama-archs.cpp", "common/common.cpp", "common/log.cpp", "common/json.cpp")  # of the program, without what it never calls
OFF = ("GGML_NATIVE", "GGML_OPENMP", "GGML_LLAMAFILE", "LLAMA_OPENSSL", "LLAMA_BUILD_COMMON", "LLAMA_BUILD_TESTS",
       "LLAMA_BUILD_TOOLS", "LLAMA_BUILD_EXAMPLES", "LLAMA_BUILD_SERVER")


def built(room, source):
    """The test's program."""
    folder = os.path.join(room.path, "fixtures-build")
    common.say("building the library and its test")
    room.run(["cmake", "-S", source, "-B", folder, "-DCMAKE_BUILD_TYPE=None", "-DCMAKE_CXX_FLAGS=-w", "-DCMAKE_C_FLAGS=-w -O1",
              "-DBUILD_SHARED_LIBS=ON", *(f"-D{name}=OFF" for name in OFF)])
    room.run(["nice", "-n", "5", "cmake", "--build", folder, "-j2", "--target", "llama"])
    out, lib = os.path.join(folder, "test-llama-archs"), os.path.join(folder, "bin")
    include = ["-I" + os.path.join(source, name) for name in ("common", "include", "src", "ggml/include", "ggml/src", "vendor")]
    libraries = [os.path.join(lib, f"lib{name}.so") for name in ("llama", "ggml", "ggml-base", "ggml-cpu")]
    room.run(["c++", "-std=c++17", "-w", "-ffunction-sections", *include, *(os.path.join(source, part) for part in PARTS), "-o", out,
              "-Wl,--gc-sections", "-Wl,-rpath," + lib, "-pthread", *libraries])
    return out


def written(room, program):
    """The rows of the files that the test writes."""
    common.say("writing the fixtures")
    with tempfile.TemporaryDirectory(dir=room.path) as folder:
        room.run([program, "-o", folder + "/"])
        return [gguf.read(path, "fixture:" + os.path.basename(path)[:-len(".gguf")])
                for path in sorted(glob.glob(os.path.join(folder, "*.gguf")))]


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("release", choices=list(library.RELEASES))
    arguments.add_argument("--engines", metavar="FOLDER", default=common.default_folder())
    arguments = arguments.parse_args()
    if not shutil.which("cmake"):
        raise common.Failure("cmake is not installed; install it")
    room = common.Room(arguments.engines, "llama.cpp", arguments.release)
    source = os.path.dirname(library.fetched(room, arguments.release).include[-4])  # of include, src, ggml/include, ggml/src
    fixtures = written(room, built(room, source))
    rows = [row for row in common.read_rows(MODELS) if not row["model"].startswith("fixture:")] + fixtures
    with open(MODELS + ".part", "w") as f:
        f.writelines(json.dumps(row, separators=(",", ":")) + "\n" for row in rows)
    os.replace(MODELS + ".part", MODELS)
    common.say(f"{MODELS}: {len(fixtures)} fixtures")


if __name__ == "__main__":
    try:
        main()
    except common.Failure as failure:
        sys.exit(f"tests/conformance/llama.cpp/fixtures.py: {failure}")
