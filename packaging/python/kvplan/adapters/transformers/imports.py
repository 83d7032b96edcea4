"""How the library is imported: no network, no warnings, one thread; torchvision without its compiled operators
where they do not load."""
import contextlib
import os
import sys
import warnings

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "critical")
os.environ.setdefault("OMP_NUM_THREADS", "1")
warnings.filterwarnings("ignore")

import torch  # noqa: E402

try:
    import torchvision  # noqa: E402,F401
except Exception:  # built for another torch, or not there: its import asks for these operators, and timm takes only norms from it
    for name in [name for name in sys.modules if name.split(".")[0] == "torchvision"]:
        del sys.modules[name]
    OPERATORS = torch.library.Library("torchvision", "DEF")
    for name in ("nms", "qnms"):
        OPERATORS.define(name + "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")

AUTOCAST = torch.autocast


def autocast(device_type, *args, **how):
    """Rotary embeddings of 4.57 switch autocast off for their tensors' device. torch refuses the meta device."""
    return contextlib.nullcontext() if device_type == "meta" else AUTOCAST(device_type, *args, **how)


torch.autocast = autocast
