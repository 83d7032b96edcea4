"""CPU seconds to build the program with the README's first command, compared with an older commit."""
import os
import resource
import shutil
import subprocess

from measure import Failed

COMMIT = "7b7e777"  # before the tests left `all`


def cpu_seconds(source, build):
    """CPU seconds of `cmake --build` for the program from nothing. A compiler cache is switched off, because its hits are not build time."""
    shutil.rmtree(build, ignore_errors=True)
    environment = {**os.environ, "CCACHE_DISABLE": "1"}
    quiet = {"stdout": subprocess.DEVNULL, "env": environment}
    if subprocess.call(["cmake", "-S", source, "-B", build, "-DBUILD_TESTING=OFF"], **quiet):
        raise Failed(f"cmake cannot configure {source}")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    if subprocess.call(["cmake", "--build", build, f"-j{os.cpu_count()}", "--target", "kvplan"], **quiet):
        raise Failed(f"{source} does not build")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def in_turns(root, scratch, turns):
    """(now, then): the fewest CPU seconds of each. Both are built in turns."""
    trees = {"now": os.path.join(scratch, "tree-now"), "then": os.path.join(scratch, "tree-then")}
    for tree in trees.values():
        shutil.rmtree(tree, ignore_errors=True)
    subprocess.check_call(["git", "clone", "-q", root, trees["now"]])
    subprocess.check_call(["git", "clone", "-q", root, trees["then"]])
    subprocess.check_call(["git", "-C", trees["then"], "checkout", "-q", COMMIT])
    seen = {name: [] for name in trees}
    for _ in range(turns):
        for name, tree in trees.items():
            seen[name].append(cpu_seconds(tree, os.path.join(tree, "build")))
    return min(seen["now"]), min(seen["then"])
