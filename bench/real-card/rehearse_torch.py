#!/usr/bin/env python3
"""Repeats kvplan's rehearsal of a start with PyTorch's own allocator. Prints JSON; exit code 1 if it fails or differs.

    rehearse_torch.py REHEARSAL.json [DEVICE]

REHEARSAL.json is the output of `kvplan measure MODEL --engine E --json`. Each step's blocks are allocated as tensors of bytes, in the step's order
and in addition to earlier steps. The output has what PyTorch reserves and what kvplan requested. If kvplan's rules for the allocator are wrong,
they differ by more than 2 MiB per block. DEVICE: cuda:0 (default), or cpu, which only shows the sums.
"""
import json
import sys


def main():
    try:
        import torch
    except ImportError:
        sys.exit("no torch here")
    with open(sys.argv[1], encoding="utf-8") as file:
        rehearsal = json.load(file)["measurement"]["rehearsal"]
    if rehearsal is None:
        sys.exit("nothing was rehearsed")
    device = sys.argv[2] if len(sys.argv) > 2 else "cuda:0"
    on_card = device != "cpu"
    if on_card and not torch.cuda.is_available():
        sys.exit("PyTorch sees no card")
    held, steps, differs = [], [], False
    for step in rehearsal["steps"]:
        before = torch.cuda.memory_reserved(device) if on_card else 0
        bytes_held = 0
        try:
            for size in step["sizes"]:
                for _ in range(size["count"]):
                    held.append(torch.empty(size["bytes"], dtype=torch.uint8, device=device))
                    bytes_held += size["bytes"]
        except RuntimeError as error:  # torch.cuda.OutOfMemoryError is one
            steps.append({"what": step["what"], "asked_bytes": step["asked_bytes"], "held_bytes": bytes_held, "stopped": str(error).splitlines()[0]})
            differs = True
            break
        reserved = torch.cuda.memory_reserved(device) - before if on_card else bytes_held
        steps.append({"what": step["what"], "asked_bytes": step["asked_bytes"], "reserved_bytes": reserved})
        differs = differs or abs(reserved - step["asked_bytes"]) > (step["blocks"] + 10) << 21
    print(json.dumps({"torch": torch.__version__, "device": device, "steps": steps}, indent=1))
    sys.exit(1 if differs else 0)


if __name__ == "__main__":
    main()
