"""The names that a release of transformers declares: lists read from the source of its wheel, without running it."""
import ast
import re

import source as read

EXPECTED = {"types": ("llama", "mamba"), "generating classes": ("LlamaForCausalLM",), "caches": ("DynamicCache",), "layer types": ("full_attention",),
            "quantizations": ("gptq",)}
GENERATING = ("MODEL_FOR_CAUSAL_LM_MAPPING_NAMES", "MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES", "MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES",
              "MODEL_FOR_MULTIMODAL_LM_MAPPING_NAMES", "MODEL_FOR_SPEECH_SEQ_2_SEQ_MAPPING_NAMES")
NAMING = ("models/auto/configuration_auto.py", "models/auto/auto_mappings.py")


def lists(source):
    return {"types": types(source), "generating classes": generating(source), "caches": caches(source), "layer types": layer_types(source),
            "quantizations": quantizations(source)}


def pairs(node):
    """The pairs of a table that is a dict, or is built from a list of pairs."""
    for part in ast.walk(node):
        if isinstance(part, ast.Tuple) and len(part.elts) == 2 and isinstance(read.text(part.elts[0]), str):
            yield part.elts[0].value, read.texts(part.elts[1])
        elif isinstance(part, ast.Dict):
            yield from ((read.text(key), read.texts(value)) for key, value in zip(part.keys, part.values))


def types(source):
    out = {}
    for _, tree in read.trees(source, *("transformers/" + path for path in NAMING)):
        table = read.assigned(tree).get("CONFIG_MAPPING_NAMES")
        if table is not None:
            out.update({name: words[0] for name, words in pairs(table) if words})
    return out


def generating(source):
    out = {}
    for _, tree in read.trees(source, "transformers/models/auto/modeling_auto.py"):
        for name in GENERATING:
            table = read.assigned(tree).get(name)
            for kind, classes in pairs(table) if table is not None else ():
                for cls in classes:
                    out.setdefault(cls, set()).add(kind)
    return {cls: " ".join(sorted(kinds)) for cls, kinds in out.items()}


def caches(source):
    for _, tree in read.trees(source, "transformers/cache_utils.py"):
        return {name: "" for name in read.classes(tree)}
    return {}


def layer_types(source):
    for _, tree in read.trees(source, "transformers/configuration_utils.py"):
        return {word: "" for name, value in read.assigned(tree).items() if re.fullmatch("ALLOWED[A-Z_]*LAYER_TYPES", name) for word in read.texts(value)}
    return {}


def quantizations(source):
    for _, tree in read.trees(source, "transformers/quantizers/auto.py"):
        return dict.fromkeys(read.texts(read.assigned(tree).get("AUTO_QUANTIZER_MAPPING")), "")
    return {}
