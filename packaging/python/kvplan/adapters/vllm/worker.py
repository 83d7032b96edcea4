"""Answers cases for one card, in the environment of a release, each in a fork (isolated.py).

    worker.py SOURCE RELEASE CARD FLASHINFER(0|1) CACHE_FOLDER < cases > rows
"""
import contextlib
import gc
import importlib
import os
import pkgutil
import re
import sys

sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import card  # noqa: E402
import isolated  # noqa: E402  (in the folder above)

# The exceptions with which vLLM refuses a model. A NotImplementedError comes from a stub, or from a function that this copy of
# vLLM lacks. Other errors may come from a stub, or from a config or a transformers release that does not match. That also
# applies to assertions, except for those that match RULES.
REFUSALS = (ValueError, AssertionError)
RULES = re.compile(r"divi|support")
ELSEWHERE = re.compile(r"does not recognize this architecture|trust_remote_code|custom code|[Uu]nrecognized configuration class"
                       r"|failed to be inspected|kernel \w|meta tensor|device meta|No module named|not installed|Can't load"
                       r"|requires the following fields in hf_quant_config|rope_type=axial|No model architectures are specified"
                       r"|swap space")  # more than this machine has


def raised_here(error):
    """Whether these scripts raised the error, not the engine."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next:
        trace = trace.tb_next
    return trace is not None and os.path.dirname(trace.tb_frame.f_code.co_filename) == os.path.dirname(os.path.abspath(__file__))


def failed(error):
    import plan
    words = plan.clean(f"{type(error).__name__}: {error}")
    told = isinstance(error, REFUSALS) and not ELSEWHERE.search(str(error)) and not raised_here(error)
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
    doubt = {"artefact": True} if plan.unasked(config) or "artefact" in row else {}
    return [{"starts": True, "cache_dtype": row["cache_dtype"], "backends": row["backends"], **doubt}]


def import_engine():
    """Imports every model's module once: the cases run in forks of this process. Modules that cannot be imported report it in their cases."""
    import plan
    import vllm.model_executor.models as models

    plan.register_configs()
    for module in pkgutil.iter_modules(models.__path__):
        with contextlib.suppress(Exception):
            importlib.import_module(f"{models.__name__}.{module.name}")


def main():
    source, release, name, flashinfer, cache = sys.argv[1:]
    card.play(source, release, name, flashinfer == "1", cache)
    import_engine()
    import torch

    torch.set_num_threads(1)
    gc.disable()  # a million objects of the imports: no fork looks through them
    gc.freeze()
    isolated.serve(answer, lambda error: [failed(error)])


if __name__ == "__main__":
    main()
