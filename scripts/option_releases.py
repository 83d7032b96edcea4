#!/usr/bin/env python3
"""Which releases of an engine have an option: testdata/conformance/declared-ENGINE.txt, reduced to what a plan needs.

    option_releases.py ENGINE > src/engines/FOLDER/option_releases.txt

A row is NAMES LACKED FIRST LAST DROPPED: the newest release read that lacks the option, the first and the last that
have it, and the first that lacks it again; "-" if there is none. Options that all releases have are left out.
"""
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def spans_of(lines):
    """{name and other spellings: the first and the last release, by index}; the last is None if it is the newest."""
    releases = lines[0].split(":")[1].split()
    found = {}
    for line in lines[1:]:
        kind, name, what, spans = line.split("\t")
        if not kind.startswith("options") or what.split()[0] == "removed":
            continue
        for span in spans.split(", "):
            first, _, last = span.partition("-")
            for each in [name] + what.split()[1:]:
                ends = (releases.index(first), releases.index(last) if last else len(releases) - 1)
                old = found.get(each, ends)
                found[each] = (min(old[0], ends[0]), max(old[1], ends[1]))
    return releases, found


def main():
    engine = sys.argv[1]
    lines = (ROOT / "testdata/conformance" / f"declared-{engine}.txt").read_text().splitlines()
    releases, found = spans_of(lines)
    rows = {}
    for name, (first, last) in found.items():
        if (first, last) == (0, len(releases) - 1):
            continue
        # llama.cpp's tags are among its builds but have other numbers, so only builds limit what is refused.
        def build(index, step):
            while 0 <= index < len(releases) and engine == "llama.cpp" and releases[index].startswith("v"):
                index += step
            return releases[index] if 0 <= index < len(releases) else "-"

        row = (build(first - 1, -1) if first > 0 else "-", releases[first].lstrip("v"), releases[last].lstrip("v"),
               build(last + 1, 1) if last + 1 < len(releases) else "-")
        rows.setdefault(row, []).append(name)
    print(f"# {engine}: names, the last release without, the first and the last with, the first without again")
    for row, names in sorted(rows.items(), key=lambda r: sorted(r[1])[0]):
        print(",".join(sorted(names)), *row)


main()
