"""Lists the options of an argparse parser as {option: {"kind": ..., ...}}."""
import argparse
import inspect


def kind_of(action, words):
    """The kind of a value: the name of the function that reads it, or one of `words` for that name."""
    if isinstance(action, argparse.BooleanOptionalAction):
        return "switch with --no-"
    if action.nargs == 0:
        return "switch"
    if action.type is None:
        return "text"
    read = inspect.getclosurevars(action.type).nonlocals.get("return_type", action.type) if inspect.isfunction(action.type) else action.type
    name = getattr(read, "__name__", type(read).__name__)
    return words.get(name, name)


def plain(value):
    """The default, if JSON can express it."""
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)


def of(parser, words, with_defaults):
    out = {}
    for action in parser._actions:
        if not action.option_strings or isinstance(action, argparse._HelpAction):
            continue
        row = {"kind": kind_of(action, words)}
        if action.option_strings[1:]:
            row["also"] = action.option_strings[1:]
        if action.nargs not in (None, 0):
            row["values"] = str(action.nargs)
        if action.choices is not None:
            choices = [str(choice) for choice in action.choices]
            row["choices"] = sorted(choices) if isinstance(action.choices, (set, frozenset)) else choices
        if with_defaults and action.default is not argparse.SUPPRESS and action.default is not None:
            row["default"] = plain(action.default)
        out[action.option_strings[0]] = row
    return out
