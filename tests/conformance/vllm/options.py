"""The options that the release's own parser takes."""
import argparse
import inspect


def kind_of(action):
    if isinstance(action, argparse.BooleanOptionalAction):
        return "switch with --no-"
    if action.nargs == 0:
        return "switch"
    if action.type is None:
        return "text"
    read = inspect.getclosurevars(action.type).nonlocals.get("return_type", action.type) if inspect.isfunction(action.type) else action.type
    name = getattr(read, "__name__", type(read).__name__)
    return "json" if name == "loads" else name


def plain(value):
    """A default that a line of JSON can say."""
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)


def of(cls, parser_class):
    parser = cls.add_cli_args(parser_class())
    out = {}
    for action in parser._actions:
        if not action.option_strings or isinstance(action, argparse._HelpAction):
            continue
        row = {"kind": kind_of(action)}
        if action.option_strings[1:]:
            row["also"] = action.option_strings[1:]
        if action.nargs not in (None, 0):
            row["values"] = str(action.nargs)
        if action.choices is not None:
            row["choices"] = [str(c) for c in action.choices]
        if action.default is not argparse.SUPPRESS and action.default is not None:
            row["default"] = plain(action.default)
        out[action.option_strings[0]] = row
    return out


def row():
    from vllm.engine.arg_utils import AsyncEngineArgs, EngineArgs
    try:
        from vllm.utils.argparse_utils import FlexibleArgumentParser
    except ImportError:
        from vllm.utils import FlexibleArgumentParser
    engine, server = of(EngineArgs, FlexibleArgumentParser), of(AsyncEngineArgs, FlexibleArgumentParser)
    return {"options": engine, "of_the_server_too": {name: server[name] for name in server if name not in engine}}
