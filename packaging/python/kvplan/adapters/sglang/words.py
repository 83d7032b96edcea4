"""What the engine says where it refuses, on one line; and where a stand-in or a config without its code may have said it."""
import os
import re

# Not rules of memory or of a card: the checkpoint brings code along, or these configs lack a key that a class reads.
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
    """Also where these scripts raised it, and not the engine."""
    ours = os.path.dirname(file_of(error)) == os.path.dirname(os.path.abspath(__file__))
    return ours or isinstance(error, DOUBTFUL_KINDS) or bool(DOUBTFUL_WORDS.search(str(error)))


def file_of(error):
    """The file that raised it."""
    trace = error.__traceback__
    while trace.tb_next:
        trace = trace.tb_next
    return trace.tb_frame.f_code.co_filename
