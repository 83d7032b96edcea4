"""What the releases of an engine declare, as data: testdata/conformance/declared-ENGINE.txt.

Its first line has the releases that were read, oldest first. The other lines are sorted. Each has, separated by tabs, a list, a name in it, what is
declared about the name, and the releases that declare it ("0.9.0-0.12.0"; "0.14.0-" until the newest).
"""
import fnmatch
import importlib.util
import os
import re

import common

HEAD = "# releases read: "
BUILT = {"v0.4.0": 10800, "v0.5.0": 11138}  # llama.cpp's versions among its builds, by what files they share (v0.4.0: about)


def path_of(engine):
    return os.path.join(common.TRUTHS, f"declared-{engine}.txt")


def order(release):
    """A sort key: 0.5.9 before 0.5.10, b9093 before b10001."""
    return [BUILT[release]] if release in BUILT else [int(n) for n in re.findall(r"\d+", release)]


def read(engine):
    """{release: {(list, name): what}}, oldest first."""
    if not os.path.exists(path_of(engine)):
        return {}
    with open(path_of(engine)) as f:
        releases = next(f).removeprefix(HEAD).split()
        out = {release: {} for release in releases}
        for line in f:
            kind, name, what, spans = line.rstrip("\n").split("\t")
            for span in spans.split(", "):
                first, _, last = span.partition("-")
                for release in releases[releases.index(first):releases.index(last) + 1 if last else None]:
                    out[release][kind, name] = what
    return out


def write(engine, known):
    releases = sorted(known, key=order)
    having = {}
    for release in releases:
        for (kind, name), what in known[release].items():
            having.setdefault((kind, name, what), []).append(release)
    with open(path_of(engine) + ".part", "w") as f:
        f.write(HEAD + " ".join(releases) + "\n")
        for row, those in sorted(having.items(), key=lambda item: (*item[0][:2], order(item[1][0]))):
            f.write("\t".join([*row, ", ".join(spans(releases, those))]) + "\n")
    os.replace(path_of(engine) + ".part", path_of(engine))


def spans(releases, those):
    """The releases as ranges without gaps."""
    begin = None
    for release, following in zip(releases, [*releases[1:], None]):
        if release in those:
            begin = begin or release
            if following not in those:
                yield f"{begin}-{release if following else ''}"
                begin = None


def of_source(engine, source):
    """{(list, name): what} of an engine's source."""
    spec = importlib.util.spec_from_file_location("lists", os.path.join(common.FOLDER, engine, "lists.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    lists = module.lists(source)
    for kind, least in module.EXPECTED.items():
        if not set(least) <= set(lists[kind]):
            raise common.Failure(f"{engine}'s {kind} are no longer where {engine}/lists.py looks: {', '.join(set(least) - set(lists[kind]))} not found")
    return {(kind, name): what for kind, items in lists.items() for name, what in items.items()}


# --- declared names for which kvplan has no row

SETTLED = os.path.join(common.TRUTHS, "settled.txt")
FOLDERS = ("src/models", "src/engines")
WORD = re.compile(r"[\w.%+-]+")


def named_by_kvplan(engine):
    """The words in kvplan's own sources, except those of other engines."""
    out = set()
    for top in FOLDERS:
        for folder, _, files in os.walk(os.path.join(common.SOURCE, top)):
            inside = os.path.relpath(folder, os.path.join(common.SOURCE, "src/engines")).split(os.sep)[0]
            if top == "src/engines" and inside not in (".", engine.replace(".", "_")):
                continue
            for name in files:
                with open(os.path.join(folder, name), encoding="utf-8") as f:
                    lines = f if name != "executed.txt" else (line for line in f if line.startswith(engine + " "))
                    out.update(word for line in lines for word in WORD.findall(line))
    return out


def settled(engine):
    """{list: patterns of names} that need no row. A line of the file has an engine, a list, a colon and patterns. Its heading gives the reason."""
    out = {}
    with open(SETTLED) as f:
        for line in f:
            if line.startswith(engine + " "):
                kind, _, patterns = line.removeprefix(engine + " ").partition(":")
                out.setdefault(kind, []).extend(patterns.split())
    return out


def open_names(engine):
    """[(list, name, first release)] that neither a row nor a line of the settled names covers."""
    rows, patterns, out = named_by_kvplan(engine), settled(engine), {}
    for release, names in read(engine).items():
        for kind, name in names:
            if name not in rows and not any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns.get(kind, ())):
                out.setdefault((kind, name), release)
    return [(*key, release) for key, release in sorted(out.items())]
