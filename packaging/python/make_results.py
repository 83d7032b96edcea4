#!/usr/bin/env python3
"""Writes kvplan/results.py, the types of the answers, from the program's JSON Schema:

    packaging/python/make_results.py PROGRAM

A form of answer becomes a class of kvplan._result.Result whose keys have types; what lies inside becomes TypedDicts.
"""
import keyword
import pathlib
import subprocess
import sys
import json
import textwrap

FILE = pathlib.Path(__file__).parent / "kvplan" / "results.py"
# The forms that functions of the package return.
RETURNED = ("plan", "fleet", "grid", "answers", "fits", "diff", "check_log", "pick", "models", "gpus", "formulas")
SIMPLE = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
HEAD = '''\
"""The types of the answers. Written by packaging/python/make_results.py from `kvplan schema`; do not edit."""

from typing import Any, Dict, List, Literal, Optional, TYPE_CHECKING, Type, TypedDict, Union, overload

from kvplan._result import Result
'''


def camel(name):
    return "".join(word.capitalize() for word in name.split("_"))


def single(name):
    return name[:-3] + "y" if name.endswith("ies") else name[:-1] if name.endswith("s") else name


def optional(types):
    """A union of types, with None last."""
    several = list(dict.fromkeys(kind for kind in types if kind != "None"))
    if not several:
        return "None"
    out = several[0] if len(several) == 1 else f"Union[{', '.join(several)}]"
    return f"Optional[{out}]" if "None" in types else out


class Writer:
    def __init__(self, schema):
        self.definitions = schema["$defs"]
        self.classes = {}  # in the order in which they are needed
        self.pending = list(RETURNED)

    def type_of(self, name, schema):
        """The Python type of a value. A nested object gets a class of this name."""
        if "$ref" in schema:
            target = schema["$ref"].rpartition("/")[2]
            self.pending.append(target)
            return f'"{camel(target)}"'
        if "const" in schema or "enum" in schema:
            values = [schema["const"]] if "const" in schema else schema["enum"]
            kinds = [f"Literal[{', '.join(json.dumps(value) for value in values if value is not None)}]"]
            return optional(kinds + ["None"] * (None in values))
        for several in ("anyOf", "oneOf"):
            if several in schema:
                return optional([self.type_of(name, each) for each in schema[several]])
        kinds = schema.get("type", [])
        return optional([self.plain(name, kind, schema) for kind in ([kinds] if isinstance(kinds, str) else kinds)] or ["Any"])

    def plain(self, name, kind, schema):
        if kind == "array":
            return f"List[{self.type_of(single(name), schema.get('items', {}))}]"
        if kind == "object" and "properties" in schema:
            self.write(name, schema)
            return f'"{camel(name)}"'
        if kind == "object":
            return f"Dict[str, {self.type_of(name, schema.get('additionalProperties', {}))}]"
        return SIMPLE[kind]

    def write(self, name, schema):
        """The class of an object."""
        assert set(schema["required"]) == set(schema["properties"]), f"{name}: a key that may be absent"
        fields = []
        for key, value in schema["properties"].items():
            assert key.isidentifier() and not keyword.iskeyword(key), key
            fields.append((key, self.type_of(f"{name}_{key}", value), value.get("description", "")))
        is_form = name in RETURNED
        lines = [f"class {camel(name)}({'Result' if is_form else 'TypedDict'}):"]
        if "description" in schema:
            lines += textwrap.wrap(f'"""{schema["description"]}"""', 116, initial_indent="    ", subsequent_indent="    ") + [""]
        if is_form:
            lines.append("    if TYPE_CHECKING:")
            for number, (key, kind, says) in enumerate(fields):
                ignored = "  # type: ignore[override]" if number == 0 else ""
                lines += self.described("        ", says)
                lines += [f"        @overload{ignored}",
                          f'        def __getitem__(self, key: Literal["{key}"], /) -> {kind}: ...']
            lines.append("        def __getitem__(self, key: Any, /) -> Any: ...")
        else:
            for key, kind, says in fields:
                lines += self.described("    ", says) + [f"    {key}: {kind}"]
        self.classes[name] = lines

    @staticmethod
    def described(indent, says):
        return textwrap.wrap(says, 112, initial_indent=indent + "# ", subsequent_indent=indent + "# ")

    def whole(self):
        names = []
        while self.pending:
            name = self.pending.pop(0)
            if name not in self.classes and name not in names:
                if "enum" in self.definitions[name]:
                    names.append(name)
                else:
                    self.write(name, self.definitions[name])
        out = [HEAD]
        out += [textwrap.fill(f"{camel(name)} = {self.type_of(name, self.definitions[name])}", 116, subsequent_indent="    ") + "\n"
                for name in names]
        out += ["\n".join(["", *lines, ""]) for lines in self.classes.values()]
        out += ["", "# A key that a form alone has.", "FORMS: Dict[str, Type[Result]] = {"]
        for name in RETURNED:
            others = {key for other in RETURNED if other != name for key in self.definitions[other]["required"]}
            own = next(key for key in self.definitions[name]["required"] if key not in others)
            out.append(f'    "{own}": {camel(name)},')
        return "\n".join([*out, "}", ""])


def text(schema):
    return Writer(schema).whole()


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    FILE.write_text(text(json.loads(subprocess.run([sys.argv[1], "schema"], stdout=subprocess.PIPE, check=True).stdout)))
