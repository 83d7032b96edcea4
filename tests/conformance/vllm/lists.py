"""The names that a release of vLLM declares: lists read from the source of its wheel, without running it."""
import ast
import os

import source as read

PARSERS = ("vllm/engine/arg_utils.py", "vllm/entrypoints/*/cli_args.py", "vllm/entrypoints/cli/serve.py")
CONFIGS = ("vllm/config.py", "vllm/config/*.py", "vllm/entrypoints/**/cli_args.py", "vllm/engine/arg_utils.py")
INVERSE = {"--enable-": "--disable-", "--disable-": "--enable-"}
# If one of these is missing, the source has changed its structure.
EXPECTED = {"options": ("--max-model-len", "--max-num-seqs", "--port", "--chat-template", "--config"), "classes": ("LlamaForCausalLM", "DeepSeekMTPModel"),
            "config types": ("eagle", "RefinedWeb"), "cache specs": ("FullAttentionSpec",), "quantizations": ("fp8", "awq_marlin"), "cache types": ("auto", "fp8"),
            "speculative methods": (), "attention backends": ("FLASH_ATTN",), "models named": ("deepseek_v3",)}


def lists(source):
    return {"options": options(source), **classes(source), "config types": config_types(source), "cache specs": cache_specs(source),
            "quantizations": literals(source, "vllm/model_executor/layers/quantization/__init__.py", "QuantizationMethods", "QUANTIZATION_METHODS"),
            "cache types": literals(source, "vllm/config*.py vllm/config/cache.py", "CacheDType")
            or read.choices_of(source, "kv_cache_dtype", *PARSERS),
            "speculative methods": literals(source, "vllm/config*.py vllm/config/speculative.py", "SpeculativeMethod"),
            "attention backends": backends(source),
            "models named": read.models_named(source, "vllm/config*.py", "vllm/config/*.py", "vllm/transformers_utils/model_arch_config_convertor.py",
                                              "vllm/model_executor/models/config.py")}


# --- models

REGISTRY = {"_TEXT_GENERATION_MODELS": "text", "_MULTIMODAL_MODELS": "multimodal", "_SPECULATIVE_DECODING_MODELS": "draft",
            "_TRANSFORMERS_SUPPORTED_MODELS": "library"}


def classes(source):
    """Classes that generate text, with their list, module and class if it has another name; and dropped classes with their last release."""
    _, registry = next(read.trees(source, "vllm/model_executor/models/registry.py"))
    known = read.assigned(registry)
    out = {}
    for name, kind in REGISTRY.items():
        value = known.get(name)
        for key, entry in zip(value.keys, value.values) if isinstance(value, ast.Dict) else ():
            if read.text(key):
                module, implemented = read.texts(entry)[:2]
                out[key.value] = " ".join([kind, module, *([implemented] if implemented != key.value else [])])
    dropped = known.get("_PREVIOUSLY_SUPPORTED_MODELS")
    pairs = zip(dropped.keys, dropped.values) if isinstance(dropped, ast.Dict) else ()
    return {"classes": out, "dropped classes": {read.text(key): read.text(value) for key, value in pairs}}


def config_types(source):
    """Types of configs that have a class in vLLM."""
    out = {}
    for _, tree in read.trees(source, "vllm/transformers_utils/config.py"):
        value = read.assigned(tree).get("_CONFIG_REGISTRY")
        for node in ast.walk(value) if value is not None else ():
            if isinstance(node, ast.Dict):
                out.update({read.text(key): read.text(entry) or read.name_of(entry) for key, entry in zip(node.keys, node.values) if read.text(key)})
            elif isinstance(node, ast.keyword) and node.arg:
                out[node.arg] = read.text(node.value) or read.name_of(node.value)
    return out


def cache_specs(source):
    """The cache specs, and the modules that define their own."""
    out = {}
    for _, tree in read.trees(source, "vllm/v1/kv_cache_interface.py"):
        out.update({name: "spec" for name in read.classes(tree) if name.endswith("Spec") or name.endswith("Specs")})
    for path, tree in read.trees(source, "vllm/attention/layer.py", "vllm/attention/layers/**/*.py", "vllm/model_executor/**/*.py", "vllm/models/**/*.py",
                                 "vllm/v1/attention/backends/**/*.py", holding="def get_kv_cache_spec"):
        for name, cls in read.classes(tree).items():
            if any(isinstance(node, ast.FunctionDef) and node.name == "get_kv_cache_spec" for node in cls.body):
                out[name] = "override in " + path.removeprefix("vllm/")
    return out


def literals(source, patterns, *names):
    return {word: "" for _, tree in read.trees(source, *patterns.split()) for name in names for word in read.literals(tree, name)}


def backends(source):
    found = {}
    for _, tree in read.trees(source, "vllm/platforms/interface.py", "vllm/v1/attention/backends/registry.py", "vllm/attention/backends/registry.py"):
        for name, cls in read.classes(tree).items():
            if name in ("_Backend", "AttentionBackendEnum", "MambaAttentionBackendEnum"):
                found.update(dict.fromkeys(read.constants(cls), ""))
    return found


# --- options of `vllm serve`

def options(source):
    configs = {}  # class: {field: annotation}, with what it inherits
    for _, tree in read.trees(source, *CONFIGS):
        for name, cls in read.classes(tree).items():
            inherited = [configs.get(read.name_of(base), {}) for base in cls.bases]
            configs[name] = {key: value for part in [*inherited, read.fields(cls)] for key, value in part.items()}
    out = {}
    for path, tree in read.trees(source, *PARSERS):
        edits = edited(tree)
        for call in read.calls(tree, "add_argument"):
            if names := read.names_of(call):
                name, what = of_call(call, names, tree, configs)
                out[name] = what
        for name in read.classes(tree):
            if name.endswith("FrontendArgs") or name == "FrontendArgs":
                for field, annotation in configs[name].items():
                    flag = "--" + field.replace("_", "-")
                    out[flag] = of_field([flag], {**of_hints(annotation), **edits.get(field, {})})
    if paired(source):
        out = {name: with_inverse(name, what) for name, what in out.items()}
    out["--help"] = "flag -h"
    return out


def paired(source):
    """Since 0.33 the parser accepts --disable-x for each switch --enable-x."""
    return any("EnableDisableAction" in read.classes(tree) for _, tree in read.trees(source, "vllm/utils/argparse_utils.py"))


def with_inverse(name, what):
    kind, *names = what.split()
    inverses = [inverse + spelling.removeprefix(prefix) for spelling in [name, *names] for prefix, inverse in INVERSE.items()
                if kind == "switch" and spelling.startswith(prefix)]
    return " ".join([kind, *names, *inverses])


def edited(tree):
    """{field: {keyword: value}} that the frontend changes before it adds its arguments."""
    out = {}
    for node in ast.walk(tree):
        targets = node.targets if isinstance(node, (ast.Assign, ast.Delete)) else []
        for target in targets:
            if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Subscript) and read.name_of(target.value.value) == "frontend_kwargs":
                value = None if isinstance(node, ast.Delete) else read.text(node.value) or read.name_of(node.value)
                out.setdefault(read.text(target.value.slice), {})[read.text(target.slice)] = value
    return out


def of_hints(annotation):
    """What vLLM's get_kwargs derives from a field's type."""
    types = read.hints(annotation)
    if types == {"bool", "str", "None"}:
        return {"nargs": "?"}
    if "bool" in types:
        return {"action": "switch"}
    return {"nargs": "+"} if types & {"list", "tuple", "set", "List", "Tuple", "Set"} and "Literal" not in types else {}


def of_field(names, words):
    return read.option(names, words.get("nargs"), words.get("action"))[1]


def of_call(call, names, tree, configs):
    words = read.keywords(call)
    given = {"nargs": read.text(words.get("nargs")), "action": read.action_of(words)}
    for word in call.keywords:
        field_of = next((node for node in ast.walk(word.value) if isinstance(node, ast.Subscript)), None)
        if word.arg is None and field_of is not None:
            holder, field = read.name_of(field_of.value), read.text(field_of.slice)
            annotation = configs.get(class_of(tree, holder), {}).get(field)
            if annotation is not None:
                given = {**of_hints(annotation), **{key: value for key, value in given.items() if value}}
    return names[0], of_field(names, given)


def class_of(tree, holder):
    """The config class of `holder = get_kwargs(CLASS)`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and read.name_of(node.targets[0]) == holder and isinstance(node.value, ast.Call) and node.value.args:
            return read.name_of(node.value.args[0])
    return ""
