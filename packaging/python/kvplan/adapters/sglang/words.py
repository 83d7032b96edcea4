"""The engine's refusal on one line, and whether a substitute package or a config without its code may have caused it."""
import os
import re

# These errors are not about memory or the GPU: the checkpoint brings its own code, or the config lacks a key that a
# class reads.
DOUBTFUL_WORDS = re.compile(r"does not recognize this architecture|Cannot find model module|Cannot find 'quant_algo'"
                            r"|Unknown RoPE scaling type|Unknown quantization method: \.|layer_types must be a list|stub"
                            r"|Unrecognized configuration class|Unsupported TP style"
                            r"|Torch not compiled with CUDA|Cannot access accelerator|NVML")
DOUBTFUL_KINDS = (AttributeError, ImportError, KeyError, NameError, TypeError, NotImplementedError)
LONGEST = 300


def of(error):
    text = re.sub(r"(/[\w.+-]+){2,}/?", "PATH", f"{type(error).__name__}: {error}")
    text = re.sub(r"0x[0-9a-f]{6,}", "ADDRESS", text)
    return re.sub(r"\s+", " ", text).strip()[:LONGEST]


def is_doubtful(error):
    """Also true if these scripts raised the error, not the engine."""
    ours = os.path.dirname(file_of(error)) == os.path.dirname(os.path.abspath(__file__))
    return ours or isinstance(error, DOUBTFUL_KINDS) or bool(DOUBTFUL_WORDS.search(str(error)))


def file_of(error):
    """The file that raised the error."""
    trace = error.__traceback__
    while trace.tb_next:
        trace = trace.tb_next
    return trace.tb_frame.f_code.co_filename
