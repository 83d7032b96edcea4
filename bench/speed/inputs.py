"""Writes inputs that are too large to store: configs with many layers and long skip lists, GGUF headers."""
import json
import os

import gguf

PLAIN = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336,
    "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256,
    "max_position_embeddings": 131072, "tie_word_embeddings": False, "torch_dtype": "bfloat16",
}
EXPERTS, PARTS = 256, ("gate_proj", "up_proj", "down_proj")


class Inputs:
    def __init__(self, folder):
        self.folder = folder
        os.makedirs(folder, exist_ok=True)

    def path(self, name):
        return os.path.join(self.folder, name)

    def config(self, name, **fields):
        with open(self.path(name), "w") as file:
            json.dump({**PLAIN, **fields}, file)
        return self.path(name)

    def layers(self, count):
        return self.config(f"layers-{count}.json", num_hidden_layers=count)

    def listed_layers(self, count, **fields):
        """Layers with windows and full attention in turns, each of them named."""
        kinds = ["sliding_attention", "full_attention"] * (count // 2)
        name = "-".join(["listed", *fields, str(count)])
        return self.config(name + ".json", model_type="gpt_oss", architectures=["GptOssForCausalLM"],
                           num_hidden_layers=count, layer_types=kinds, sliding_window=128, num_local_experts=32,
                           num_experts_per_tok=4, head_dim=64, **fields)

    def narrow_layers(self, count):
        """The same for 512 layers that fit a GPU. Layers that do not fit would be planned for more and more GPUs."""
        return self.listed_layers(count, hidden_size=512, intermediate_size=512, max_position_embeddings=32768)

    def skip_list(self, base, count):
        """The checkpoint of `base` in fp8, except for the modules of this many experts, each named."""
        names = [f"model.layers.{3 + i // len(PARTS) // EXPERTS}.mlp.experts.{i // len(PARTS) % EXPERTS}.{PARTS[i % 3]}"
                 for i in range(count)]
        with open(base) as file:
            config = json.load(file)
        config["quantization_config"] = {"quant_method": "fp8", "weight_block_size": [128, 128],
                                         "modules_to_not_convert": names}
        path = self.path(f"skips-{count}.json")
        with open(path, "w") as file:
            json.dump(config, file)
        return path

    def named_layers(self, count):
        """This many layers, with one skipped module named in each."""
        names = [f"model.layers.{i}.self_attn.o_proj" for i in range(count)]
        quantization = {"quant_method": "fp8", "weight_block_size": [128, 128], "modules_to_not_convert": names}
        return self.config(f"named-{count}.json", num_hidden_layers=count, quantization_config=quantization)

    def fleet(self, count):
        """This many configs, each with a different width."""
        return [self.config(f"fleet-{i}.json", intermediate_size=8192 + 64 * i)
                for i in range(count)]

    def gguf(self, vocabulary, layers=32):
        """The path of the file, and the length of its header."""
        path = self.path(f"vocabulary-{vocabulary}-{layers}.gguf")
        return path, gguf.write(path, vocabulary, layers)
