#!/usr/bin/env python3
"""Runs in the engine's environment: reads an mlx_lm.server command per line and writes the server's verdict on it to standard output."""
import contextlib
import io
import os
import sys

os.environ.setdefault("HF_HUB_OFFLINE", "1")
sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import isolated  # noqa: E402  (in the folder above)
from mlx_lm import server  # noqa: E402


class Reached(Exception):
    """Raised when the server has accepted the command; it would load models next."""


def reached(*_):
    raise Reached


def answer(case):
    for program, *words in case["commands"]:
        if program != "mlx_lm.server":
            return {"refused": f"{program} is not its program"}
        told = io.StringIO()
        try:
            with contextlib.redirect_stderr(told):
                sys.argv = [program, *words]
                server.main()
        except Reached:
            continue
        except SystemExit:
            return {"refused": told.getvalue().strip().splitlines()[-1]}
    return {"accepted": True}


if __name__ == "__main__":
    server.ModelProvider = reached
    isolated.serve(answer, lambda error: {"not_run": f"{type(error).__name__}: {error}"})
