"""options_taken.py PARSER.so ASK.so: prints {option: number of values} of all options that llama-server's own parser accepts. It passes every
string in PARSER.so that could be an option to the parser (ASK.so is options.cpp, compiled). If PARSER.so is a module of Python, run this with
the Python of its environment."""
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
