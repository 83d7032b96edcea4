"""options_taken.py PARSER.so ASK.so: {option: how many values it takes}, of all that llama-server's own parser takes.

Every string of PARSER.so that could be an option is put to the parser in it (ASK.so is options.cpp, compiled). Run with the
Python of the environment that PARSER.so is installed in, if it is a module of Python.
"""
import ctypes
import json
import re
import sys

NAMES = ("_Z20common_params_to_mapiPPc13llama_exampleRSt3mapI10common_argSsSt4lessIS3_ESaISt4pairIKS3_SsEEE",
         "_Z20common_params_to_mapiPPc13llama_exampleRSt3mapI10common_argNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE"
         "St4lessIS3_ESaISt4pairIKS3_S9_EEE")
OF_THE_SERVER_ALONE = b"--slot-save-path"
PROGRAMS = range(64)
NOT_TAKEN = -1


def main():
    parser_path, ask_path = sys.argv[1:]
    library = ctypes.PyDLL(parser_path, mode=ctypes.RTLD_GLOBAL)
    parser = next(ctypes.cast(getattr(library, name), ctypes.c_void_p) for name in NAMES if hasattr(library, name))
    ask = ctypes.CDLL(ask_path).values_of_option
    servers = [program for program in PROGRAMS if ask(parser, program, OF_THE_SERVER_ALONE) != NOT_TAKEN]
    if len(servers) != 1:
        sys.exit(f"{len(servers)} programs take {OF_THE_SERVER_ALONE.decode()}: which is the server is not known")
    with open(parser_path, "rb") as f:
        words = {m[1] for m in re.finditer(rb"(?=(--?[A-Za-z0-9][A-Za-z0-9._-]*)\0)", f.read())}
    taken = {word.decode(): ask(parser, servers[0], word) for word in sorted(words)}
    taken = {word: values for word, values in taken.items() if values != NOT_TAKEN}
    unclear = [word for word, values in taken.items() if values < 0]
    if unclear:
        sys.exit("the parser said something else of " + ", ".join(unclear))
    print(json.dumps(taken))


if __name__ == "__main__":
    main()
