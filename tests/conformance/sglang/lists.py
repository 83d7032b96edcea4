"""The names that a release of SGLang declares: lists read from the source of its wheel, without running it."""
import ast

import source as read

PARSER = "sglang/srt/server_args.py"
FIELDS = (PARSER, "sglang/srt/arg_groups/fields/*.py")
ACTIONS = (PARSER, "sglang/srt/arg_groups/argparse_actions.py")
# If one of these is missing, the source has changed its structure.
EXPECTED = {"options": ("--max-running-requests", "--port", "--reasoning-parser"), "classes": ("LlamaForCausalLM", "DeepseekV3ForCausalLM"),
            "config types": ("dbrx",), "quantizations": ("fp8", "awq"), "speculative methods": ("EAGLE",), "attention backends": ("triton",),
            "cache types": ("auto", "fp8_e4m3"), "models named": ("LlamaForCausalLM", "DeepseekV3ForCausalLM")}


def lists(source):
    return {"options": options(source), "classes": classes(source), "config types": config_types(source), "quantizations": quantizations(source),
            "speculative methods": speculative(source), "attention backends": choices(source) or read.choices_of(source, "attention_backend", *FIELDS),
            "cache types": read.choices_of(source, "kv_cache_dtype", *FIELDS), "models named": read.models_named(source, *NAMING)}


# --- models

NAMING = ("sglang/srt/configs/model_config.py", PARSER, "sglang/srt/arg_groups/*.py", "sglang/srt/arg_groups/model_overrides/*.py",
          "sglang/srt/model_executor/pool_configurator.py", "sglang/srt/mem_cache/kv_cache_configurator.py")


def classes(source):
    """The classes that the release registers, with their modules."""
    out = {}
    for path, tree in read.trees(source, "sglang/srt/models/*.py", holding="\nEntryClass"):
        entry = read.assigned(tree).get("EntryClass")
        for node in ast.walk(entry) if entry is not None else ():
            if isinstance(node, ast.Name):
                out[node.id] = path.rsplit("/", 1)[1].removesuffix(".py")
    return out


def config_types(source):
    """Types of configs that have a class in SGLang."""
    types = {}
    for _, tree in read.trees(source, "sglang/srt/configs/*.py", holding="model_type"):
        for name, cls in read.classes(tree).items():
            kind = read.text(read.assigned(cls).get("model_type"))
            if kind:
                types[kind] = name
    return types


def quantizations(source):
    out = {}
    for _, tree in read.trees(source, "sglang/srt/layers/quantization/__init__.py"):
        for name, value in read.assigned(tree).items():
            if name.endswith("QUANTIZATION_METHODS") and isinstance(value, ast.Dict):
                out.update(dict.fromkeys(read.texts(value), ""))
        for call in read.calls(tree, "update"):
            out.update(dict.fromkeys((word for part in call.args if isinstance(part, ast.Dict) for word in read.texts(part)), ""))
    return out


def speculative(source):
    for _, tree in read.trees(source, "sglang/srt/speculative/spec_info.py"):
        names = read.constants(read.classes(tree)["SpeculativeAlgorithm"])
        if "EAGLE" in names:
            return dict.fromkeys(names, "")
    return read.choices_of(source, "speculative_algorithm", *FIELDS)


def choices(source):
    found = {}
    for _, tree in read.trees(source, PARSER, "sglang/srt/arg_groups/choices.py"):
        found.update(dict.fromkeys(read.texts(read.assigned(tree).get("ATTENTION_BACKEND_CHOICES")), ""))
    return found


# --- options of `python -m sglang.launch_server`

def options(source):
    actions = {name: cls for _, tree in read.trees(source, *ACTIONS) for name, cls in read.classes(tree).items()}
    out = {"--help": "flag -h"}
    for _, tree in read.trees(source, *FIELDS):
        for cls in read.classes(tree).values():
            for field in cls.body:
                if isinstance(field, ast.AnnAssign) and isinstance(field.annotation, ast.Subscript) and read.name_of(field.annotation.value) == "A":
                    out.update(of_field(field, actions))
    for _, tree in read.trees(source, PARSER):
        for function in ast.walk(tree):
            if isinstance(function, ast.FunctionDef) and function.name == "add_cli_args":
                out.update(added(function, actions))
    return out


def added(function, actions):
    for call in read.calls(function, "add_argument"):
        if names := read.names_of(call):
            yield of_words(names, read.keywords(call), actions)


def of_field(field, actions):
    """The option of `name: A[TYPE, Arg(...)]`."""
    kind, *more = field.annotation.slice.elts
    calls = [node for node in more if isinstance(node, ast.Call) and read.name_of(node.func) == "Arg"]
    words = read.keywords(calls[0]) if calls else {}
    if not (calls or any(isinstance(node, (ast.Constant, ast.BinOp, ast.JoinedStr)) for node in more)) or read.text(words.get("no_cli")):
        return
    names = [read.text(words.get("cli_name")) or "--" + field.target.id.replace("_", "-"), *read.texts(words.get("aliases"))]
    types = read.hints(kind) - {"None"}
    if "action" not in words and "type_parser" not in words and types & {"List", "list"}:
        words = {"nargs": ast.Constant("+"), **words}
    if "action" not in words and types == {"bool"}:
        words = {**words, "action": ast.Constant("store_true")}
    if isinstance(words.get("action_kwargs"), ast.Dict):
        words.update({read.text(key): value for key, value in zip(words["action_kwargs"].keys, words["action_kwargs"].values)})
    yield of_words(names, words, actions)


def of_words(names, words, actions):
    name, what = read.option(names, read.text(words.get("nargs")), read.action_of(words))
    action = actions.get(read.action_of(words))
    if action is None:
        return name, what
    kind, *also = what.split()
    if "nargs" not in words:
        kind = "flag" if takes_nothing(action) else "value"
    if refuses(action, words):
        kind = "removed"
    return name, " ".join([kind, *also])


def takes_nothing(action):
    """Whether the action's own constructor sets that no value follows."""
    for function in action.body:
        if isinstance(function, ast.FunctionDef) and function.name == "__init__":
            arguments = function.args.args
            defaults = dict(zip((a.arg for a in arguments[len(arguments) - len(function.args.defaults):]), function.args.defaults))
            given = [read.keywords(call).get("nargs") for call in read.calls(function, "__init__")]
            return any(read.text(value) == 0 for value in [defaults.get("nargs"), *given])
    return False


def refuses(action, words):
    """Whether the parser only knows the option to tell the user what replaced it."""
    said = [node for node in action.body if isinstance(node, ast.FunctionDef) and node.name == "__call__"]
    raises = any(isinstance(statement, ast.Raise) for function in said for statement in function.body)
    return raises or "error_message" in words
