"""The names that a release of llama.cpp declares: lists read from its source, without compiling it."""
import os
import re

PROGRAMS = {"options": ("SERVER",), "options of llama-cli": ("CLI", "MAIN")}
# If one of these is missing, the source has changed its structure.
EXPECTED = {"options": ("--ctx-size", "--gpu-layers", "--port"), "options of llama-cli": ("--ctx-size", "--prompt"), "architectures": ("llama", "mamba"),
            "keys": ("general.architecture", "%s.context_length")}
TOKEN = re.compile(r'R"(\w*)\((?s:.*?)\)\1"|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)+\'|//[^\n]*|/\*(?s:.*?)\*/|[^"\'/]+|.')


def text_of(source, *path):
    with open(os.path.join(source, *path), encoding="utf-8") as f:
        return without_comments(f.read())


def named(source, table):
    """The names in a table of llama-arch.cpp (in older builds, of llama.cpp)."""
    path = ("src", "llama-arch.cpp") if os.path.exists(os.path.join(source, "src", "llama-arch.cpp")) else ("src", "llama.cpp")
    found = re.search(table + r"\s*=\s*\{(.*?)\n\};", text_of(source, *path), re.S)
    return dict.fromkeys(re.findall(r'\{\s*\w+,\s*"([^"]+)"', found[1]), "") if found else {}


def lists(source):
    declared = list(options(text_of(source, "common", "arg.cpp")))
    out = {"architectures": named(source, "LLM_ARCH_NAMES"), "keys": named(source, "LLM_KV_NAMES")}
    out["architectures"].pop("(unknown)", None)
    for kind, programs in PROGRAMS.items():
        out[kind] = {}
        for name, what, only, never in declared:
            if (only & {"COMMON", *programs} or not only) and not never & set(programs):
                out[kind][name] = what
    return out


def without_comments(text):
    return "".join(token[0] for token in TOKEN.finditer(text) if not token[0].startswith(("//", "/*")))


def closed(text, begin):
    """The end of the bracket that opens at `begin`. Brackets in strings are ignored."""
    depth = 0
    for token in TOKEN.finditer(text, begin):
        if token[0][0] in "\"'R" and len(token[0]) > 1 and token[0][-1] in "\"'":
            continue
        for at, letter in enumerate(token[0]):
            depth += (letter in "([{") - (letter in ")]}")
            if depth == 0:
                return token.start() + at + 1
    return len(text)


def options(text):
    """(name, what it takes, programs that have it (none means all), programs that do not) of each add_opt(...)."""
    for found in re.finditer(r"\badd_opt\(", text):
        call = text[found.end() - 1:closed(text, found.end() - 1)]
        spelled = re.match(r"\(\s*(?:common_arg|llama_arg)?\s*[({]?\s*(\{[^{}]*\})\s*(?:,\s*(\{[^{}]*\}))?", call)
        handler = re.search(r"\[[^\]\n\"]*\]\s*\(([^()]*)\)\s*(?:->\s*\w+\s*)?\{", call)
        if not spelled or not handler or "set_preset_only" in call:
            continue
        names = sorted(re.findall(r'"(-[^"]+)"', (spelled[1] + (spelled[2] or ""))), key=lambda name: name[:2] != "--")
        own = re.findall(r'"(-[^"]+)"', spelled[1])
        first = next((name for name in own if name[:2] == "--"), own[0])
        body = call[handler.end() - 1:closed(call, handler.end() - 1)]
        kind = {0: "flag", 1: "value"}.get(handler[1].count(","), "values")
        if "bool" in handler[1]:
            kind = "switch"
        if re.fullmatch(r"\{\s*arg_removed\(.*", body, re.S):
            kind = "removed"
        yield first, " ".join([kind, *(name for name in names if name != first)]), programs(call, "set_examples"), programs(call, "set_excludes")


def programs(call, setter):
    found = re.search(setter + r"\(\s*\{([^}]*)\}", call)
    return set(re.findall(r"LLAMA_EXAMPLE_(\w+)", found[1])) if found else set()
