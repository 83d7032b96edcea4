"""The options that the release's own parser takes, as JSON: runs in the engine's environment.

    options.py SOURCE > options.json
"""
import argparse
import json
import logging
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, sys.argv[1]]
import described_card  # noqa: E402  (beside this file)


def kind_of(action):
    if isinstance(action, argparse.BooleanOptionalAction):
        return "switch with --no-"
    if action.nargs == 0:
        return "switch"
    if action.type is None:
        return "text"
    return {"str": "text", "loads": "json"}.get(getattr(action.type, "__name__", ""), getattr(action.type, "__name__", "text"))


def of(parser):
    out = {}
    for action in parser._actions:
        if not action.option_strings or isinstance(action, argparse._HelpAction):
            continue
        row = {"kind": kind_of(action)}
        if action.option_strings[1:]:
            row["also"] = action.option_strings[1:]
        if action.nargs not in (None, 0):
            row["values"] = str(action.nargs)
        if action.choices is not None:
            row["choices"] = [str(choice) for choice in action.choices]
        out[action.option_strings[0]] = row
    return out


def main():
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    described_card.CARD.tell(81559, (9, 0), "NVIDIA H100 80GB HBM3", 79.0)
    described_card.install()
    logging.disable(logging.CRITICAL)
    from sglang.srt.server_args import ServerArgs

    parser = argparse.ArgumentParser()
    ServerArgs.add_cli_args(parser)
    lines = (f"{json.dumps(name)}:{json.dumps(row, separators=(',', ':'))}" for name, row in of(parser).items())
    print("{" + ",\n".join(lines) + "}", file=answers)


if __name__ == "__main__":
    main()
