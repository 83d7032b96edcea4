"""Answers cases for one card, in the environment of a release: a line of JSON in, a line of rows out.

    worker.py SOURCE RELEASE CARD FLASHINFER(0|1) CACHE_FOLDER < cases > rows
"""
import gc
import json
import os
import re
import sys
import traceback

import card

# What vLLM says where it will not serve a model. Of other errors this copy of a config, a stub or the transformers at hand may be the
# cause (a class default is in the form of a newer one than an old release takes); of an assertion too, but for RULES.
REFUSALS = (ValueError, NotImplementedError, AssertionError)
RULES = re.compile(r"divi|support")
ELSEWHERE = re.compile(r"does not recognize this architecture|trust_remote_code|custom code|[Uu]nrecognized configuration class"
                       r"|failed to be inspected|kernel \w|meta tensor|device meta|No module named|not installed|Can't load"
                       r"|requires the following fields in hf_quant_config|rope_type=axial|No model architectures are specified")


def failed(error):
    import plan
    words = plan.clean(f"{type(error).__name__}: {error}")
    told = isinstance(error, REFUSALS) and not ELSEWHERE.search(str(error))
    if not told:
        return {"not_run": words}
    doubtful = isinstance(error, AssertionError) and not RULES.search(words)
    return {"refused": words, **({"artefact": True} if doubtful else {})}


def answer(case):
    import plan
    if case["kind"] == "options":
        import options
        return [options.row()]
    if case["kind"] == "launch":
        import launch
        return [launch.row(case)]
    if case["kind"] == "at_once":
        import at_once
        return list(at_once.rows(case))
    row, config, _ = plan.run(case)
    if case["kind"] == "plan":
        return [row]
    refused = [p["refused"] for p in row["plans"] if "refused" in p]
    if refused:
        return [{"refused": refused[0]}]
    doubt = {"artefact": True} if plan.unasked(config) else {}
    return [{"starts": True, "cache_dtype": row["cache_dtype"], "backends": row["backends"], **doubt}]


def main():
    source, release, name, flashinfer, cache = sys.argv[1:]
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what the engine prints is not ours
    card.play(source, release, name, flashinfer == "1", cache)
    import plan
    plan.register_configs()
    gc.disable()  # vLLM's modules are a million objects: looked through between cases, and those of the imports never
    gc.freeze()
    for line in sys.stdin:
        case = json.loads(line)
        try:
            rows = answer(case)
        except Exception as error:
            traceback.print_exc()
            rows = [failed(error)]
        out.write(json.dumps(rows, default=str) + "\n")
        out.flush()
        gc.collect()


if __name__ == "__main__":
    main()
