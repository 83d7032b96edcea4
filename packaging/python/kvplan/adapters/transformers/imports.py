"""How the library is imported: no network, no warnings, one thread; torchvision without its compiled operators."""
import os
import warnings

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "critical")
os.environ.setdefault("OMP_NUM_THREADS", "1")
warnings.filterwarnings("ignore")

import torch  # noqa: E402

# torchvision is built for a torch with CUDA and ends its import where these are unknown. timm takes only norms from it.
OPERATORS = torch.library.Library("torchvision", "DEF")
for name in ("nms", "qnms"):
    OPERATORS.define(name + "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
