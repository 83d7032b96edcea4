#!/usr/bin/env python3
"""What PyTorch allocates for the K and V of a plain attention model: a JSON of bytes, or exit code 1 if PyTorch is not installed.

    compare_torch.py config.json TOKENS SEQUENCES DEVICE

The shapes come from the config alone, not from kvplan: [sequences, heads, tokens, head_dim] for K and V of each layer, in
16 bit, as transformers' DynamicCache stores them. If transformers is installed, its own class stores them.
"""
import json
import sys

try:
    import torch
except ImportError:
    sys.exit("no torch here")

config = json.load(open(sys.argv[1], encoding="utf-8"))
tokens, sequences, device = int(sys.argv[2]), int(sys.argv[3]), sys.argv[4].replace("hip", "cuda")
if config.get("model_type") not in ("llama", "mistral", "mixtral", "qwen2", "qwen3"):
    sys.exit("its cache is not K and V of every layer")
heads = config["num_attention_heads"]
shape = (sequences, config.get("num_key_value_heads", heads), tokens,
         config.get("head_dim") or config["hidden_size"] // heads)
torch.cuda.set_device(device)
torch.zeros(1, device=device)
before, reserved = torch.cuda.memory_allocated(), torch.cuda.memory_reserved()
try:
    from transformers import DynamicCache
    cache = DynamicCache()
except ImportError:
    cache = None
held = []
for layer in range(config["num_hidden_layers"]):
    key = torch.zeros(shape, dtype=torch.bfloat16, device=device)
    value = torch.zeros(shape, dtype=torch.bfloat16, device=device)
    if cache is None:
        held.append((key, value))
    else:
        cache.update(key, value, layer)
        del key, value  # it keeps copies: the last layer's would count twice
torch.cuda.synchronize()
print(json.dumps({"allocated": torch.cuda.memory_allocated() - before, "reserved": torch.cuda.memory_reserved() - reserved,
                  "by": "transformers DynamicCache" if cache is not None else "torch.zeros",
                  "torch": torch.__version__}))
