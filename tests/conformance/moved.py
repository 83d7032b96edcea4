"""What changed between two files of executed figures, by figure and type of model, with kvplan's value."""
import collections
import json
import os
import subprocess

import common

SHOWN = 3  # cases of a figure and a type


def figures_of(path, program):
    """{(case, settings, type, figure, detail): (executed, planned)}; "none" if the engine refuses, or kvplan has no value."""
    if not os.path.exists(program):
        raise common.Failure(f"{program} is not built; cmake --build build --target kvplan_tests, or name it with --program")
    done = subprocess.run([program, "-tc=the figures of one file as lines"], stdout=subprocess.PIPE, text=True, env={**os.environ, "KVPLAN_EXECUTED": path})
    rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('["')]
    if not rows:
        raise common.Failure(f"{program} prints no figures of {path}; build it anew: cmake --build build --target kvplan_tests")
    return {tuple(row[:5]): tuple(row[5:]) for row in rows}


def report(old, new, program):
    """The lines of the report."""
    before, after = figures_of(old, program), figures_of(new, program)
    both = before.keys() & after.keys()
    moved = collections.defaultdict(lambda: collections.defaultdict(list))
    for key in sorted(both):
        if before[key][0] != after[key][0]:
            moved[key[3]][key[2]].append(key)
    for figure, types in sorted(moved.items()):
        yield f"{figure}: {sum(map(len, types.values()))} of {sum(key[3] == figure for key in both)} moved"
        for kind, keys in sorted(types.items(), key=lambda item: -len(item[1])):
            yield f"  {kind}: {len(keys)}"
            for key in keys[:SHOWN]:
                name = " ".join(part for part in (key[0], key[1], f"({key[4]})" if key[4] else "") if part)
                yield f"    {name}: {before[key][0]} -> {after[key][0]}; kvplan {after[key][1]}"
    if not moved:
        yield f"none of {len(both)} figures moved"
    for what, keys in (("gone", before.keys() - after.keys()), ("new", after.keys() - before.keys())):
        if keys:
            yield f"{len(keys)} figures are {what}, of {', '.join(sorted({key[0] for key in keys})[:8])}"
