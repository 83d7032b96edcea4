"""Prints the options of the release's parser as JSON. Runs in the engine's environment.

    options.py SOURCE > options.json
"""
import argparse
import json
import logging
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE), sys.argv[1]]
import described_card  # noqa: E402  (beside this file)
import parser_options  # noqa: E402  (in the folder above)


def main():
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    described_card.CARD.tell(81559, (9, 0), "NVIDIA H100 80GB HBM3", 79.0)
    described_card.install()
    logging.disable(logging.CRITICAL)
    from sglang.srt.server_args import ServerArgs

    parser = argparse.ArgumentParser()
    ServerArgs.add_cli_args(parser)
    options = parser_options.of(parser, {"str": "text", "loads": "json"}, with_defaults=False)
    json.dump(options, answers)


if __name__ == "__main__":
    main()
