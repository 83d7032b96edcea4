"""What the harnesses share: the configs, an environment for an engine outside the tree, rows, and progress."""
import collections
import glob
import hashlib
import importlib.util
import json
import os
import random
import re
import shutil
import subprocess
import sys
import time
import zipfile

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FOLDER = os.path.dirname(os.path.abspath(__file__))
ADAPTERS = os.path.join(SOURCE, "packaging", "python", "kvplan", "adapters")  # what runs in an engine's environment
TRUTHS = os.path.join(SOURCE, "testdata", "conformance")
os.environ["PYTHONHASHSEED"] = "0"  # of the engine's processes: a set that it prints has the same order each time
OTHER_CONFIGS = None  # a folder, in place of the project's configs


class Failure(Exception):
    """One line: what could not be done, and what to do about it."""


def harness_of(engine):
    spec = importlib.util.spec_from_file_location("harness", os.path.join(FOLDER, engine, "harness.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def default_folder():
    return os.environ.get("KVPLAN_ENGINES") or os.path.expanduser("~/.cache/kvplan-engines")


def read_rows(path):
    """The rows of a file. {"same": [FIRST, COUNT]} stands for rows of its neighbour, the release that the first row calls `beside`."""
    with open(path) as f:
        rows = [json.loads(line) for line in f if line.strip()]
    if not rows or "beside" not in rows[0]:
        return rows
    theirs, out = neighbour(path, rows[0]), []
    for row in rows:
        out += theirs[row["same"][0]:sum(row["same"])] if "same" in row else [row]
    return out


def neighbour(path, head):
    """The rows of the release beside, as if this release had written them."""
    rows = read_rows(os.path.join(os.path.dirname(path), f"{head['engine']}-{head['beside']}.jsonl"))
    return [{**row, "release": head["release"]} if "release" in row else row for row in rows]


def without_equal(path, head, rows):
    """The rows that the neighbour does not have, and the numbers of those that it has."""
    if "beside" not in head:
        return rows
    numbers = {json.dumps(row): number for number, row in enumerate(neighbour(path, head)) if number > 0}
    out = []
    for row in rows:
        number = numbers.get(json.dumps(row))
        if number is None:
            out.append(row)
        elif out and "same" in out[-1] and sum(out[-1]["same"]) == number:
            out[-1]["same"][1] += 1
        else:
            out.append({"same": [number, 1]})
    return out


def that_leave_out(path):
    """{file: its rows} for the files whose neighbour is this file."""
    engine, release = read_head(path)["engine"], read_head(path)["release"]
    files = glob.glob(os.path.join(os.path.dirname(path), f"{engine}-*.jsonl"))
    return {file: read_rows(file) for file in files if read_head(file).get("beside") == release}


def read_head(path):
    with open(path) as f:
        return json.loads(f.readline())


def configs():
    """{name: {"config": ..., "hf_quant_config": ... or absent}}: the real configs, then those of testdata/configs."""
    if OTHER_CONFIGS:
        return dict(other_configs(OTHER_CONFIGS))
    out = {row["name"]: {k: row[k] for k in ("config", "hf_quant_config") if k in row}
           for row in read_rows(os.path.join(TRUTHS, "configs.jsonl"))}
    for path in sorted(glob.glob(os.path.join(SOURCE, "testdata", "configs", "*.json"))):
        with open(path) as f:
            out.setdefault(os.path.basename(path)[:-len(".json")], {"config": json.load(f)})
    return out


def other_configs(folder):
    for path in sorted(glob.glob(os.path.join(folder, "*.json")) + glob.glob(os.path.join(folder, "*", "config.json"))):
        beside = os.path.dirname(path)
        name = os.path.basename(beside if path.endswith("/config.json") else path).removesuffix(".json")
        entry = {"config": path, "hf_quant_config": os.path.join(beside, "hf_quant_config.json")}
        yield name, {key: json.load(open(file)) for key, file in entry.items() if os.path.exists(file) and (key == "config" or file != path)}


def defaults(release):
    """{"default/TYPE": config}: the class defaults with which transformers RELEASE was run."""
    path = os.path.join(TRUTHS, f"transformers-{release}.jsonl")
    if not os.path.exists(path):
        raise Failure(f"{path} is not there; run tests/conformance/run transformers {release} first")
    return {row["id"]: row["config"] for row in read_rows(path)
            if isinstance(row.get("config"), dict) and row["id"].startswith(("default/", "variant/"))}


def write_config(folder, name, entry):
    """The folder of a model as an engine expects it: config.json, and hf_quant_config.json if the checkpoint has one."""
    path = os.path.join(folder, name.replace("/", "--"))
    os.makedirs(path, exist_ok=True)
    for key, file in (("config", "config.json"), ("hf_quant_config", "hf_quant_config.json")):
        if key in entry:
            with open(os.path.join(path, file), "w") as f:
                json.dump(entry[key], f)
    return path


def requirements(source, package, without, exact=("transformers",)):
    """The requirements of the wheel, except for `without`. Lower bounds are left out, because they change with every release and do not affect
    memory. For packages in `exact` every bound is kept, so the newest allowed version is installed, as a user would get it."""
    with open(glob.glob(os.path.join(source, f"{package}-*.dist-info", "METADATA"))[0]) as f:
        asked = [line.removeprefix("Requires-Dist:").strip() for line in f if line.startswith("Requires-Dist:")]
    for line in asked:
        spec, _, marker = (part.strip() for part in line.partition(";"))
        name = re.match(r"[\w.-]+", spec)[0]
        if "extra ==" in marker or without.fullmatch(name):
            continue
        if name not in exact:
            spec = re.sub(r"(>=|!=|>)[^,]+,?", "", spec).strip(" ,")
        yield spec + (";" + marker if marker else "")


class Choice:
    """Selects the cases of a release to run: all of them, or some. Some of them need a separate output file."""

    def __init__(self, only=(), kinds=(), sample=1, seed=None):
        self.only, self.kinds, self.sample, self.seed = only, kinds, sample, seed

    @property
    def is_part(self):
        return bool(self.only or self.kinds or self.sample > 1)

    def of(self, cases, name=lambda case: case["config"] or case["kind"], kind=lambda case: case.get("kind", "")):
        """Every `sample`th case of each kind, so that a sample has all kinds."""
        seen = collections.Counter()
        out = []
        for case in cases:
            if (self.only and not any(text in name(case) for text in self.only)) or (self.kinds and kind(case) not in self.kinds):
                continue
            if seen[kind(case)] % self.sample == 0:
                out.append(case)
            seen[kind(case)] += 1
        return out

    def in_order(self, jobs):
        """The jobs in the order in which they are run: shuffled if a seed is given, to check that the order does not matter."""
        jobs = list(jobs)
        if self.seed is not None:
            random.Random(self.seed).shuffle(jobs)
        return jobs

    def kept(self, room, name):
        """The file of answers from which an interrupted run continues. There is none if the run tests the order."""
        return None if self.seed is not None else os.path.join(room.path, name)


class Room:
    """The folder of an engine's release, for downloads and leftovers of a run; and the environment that it runs in."""

    def __init__(self, root, engine, release):
        self.root, self.python = os.path.abspath(root), sys.executable
        self.path = os.path.join(self.root, f"{engine}-{release}")
        if os.path.commonpath([self.path, SOURCE]) == SOURCE:
            raise Failure(f"{root} is inside of the tree; name a folder outside of it with --engines")
        os.makedirs(self.path, exist_ok=True)

    def folder(self, name):
        path = os.path.join(self.path, name)
        os.makedirs(path, exist_ok=True)
        return path

    def install(self, *lists):
        """An environment with the packages of each list, installed one list after another. Releases with the same lists share it."""
        asked = json.dumps([sys.version_info[:2], *lists])
        folder = os.path.join(self.root, "environments", hashlib.sha256(asked.encode()).hexdigest()[:12])
        self.python, mark = os.path.join(folder, "bin", "python"), os.path.join(folder, "installed.json")
        if os.path.exists(mark):
            return
        say("making an environment")
        self.run([sys.executable, "-m", "venv", "--clear", folder])
        for packages in lists:
            say("installing " + " ".join(packages)[:100])
            self.run([self.python, "-m", "pip", "install", "-q", "--disable-pip-version-check", *packages])
        with open(mark, "w") as f:
            f.write(asked + "\n")

    def unpacked(self, requirement, without=()):
        """The folder of a wheel's files, unpacked but not installed, for engines that run from their source. Files that end with one of `without`
        are not unpacked."""
        folder = os.path.join(self.path, "source")
        if not os.path.exists(folder):
            say("fetching " + requirement)
            wheels, part = self.folder("wheels"), folder + ".part"
            self.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-cache-dir", "--disable-pip-version-check", "-d", wheels, requirement])
            with zipfile.ZipFile(glob.glob(os.path.join(wheels, "*.whl"))[0]) as z:
                z.extractall(part, [name for name in z.namelist() if not name.endswith(tuple(without))])
            os.rename(part, folder)
            shutil.rmtree(wheels)
        return folder

    def run(self, command, **more):
        """Runs a command until it ends. Raises Failure with its last line if the exit status is not one of the good ones."""
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)
        if done.returncode != 0:
            last = (done.stderr.strip() or done.stdout.strip() or "nothing said").splitlines()[-1]
            raise Failure(f"{' '.join(map(str, command[:4]))} ended with {done.returncode}: {last}")
        return done.stdout

    def versions(self, *packages):
        """{package: version} of the packages in the environment."""
        code = "import importlib.metadata as m, json, sys; print(json.dumps({p: m.version(p) for p in sys.argv[1:]}))"
        return json.loads(self.run([self.python, "-c", code, *packages]))


def say(text):
    print(text, file=sys.stderr, flush=True)


class Progress:
    """Prints a line on standard error: how many cases are done, and which is next. On a terminal it overwrites the previous line."""

    def __init__(self, total):
        self.total, self.done, self.begin = total, 0, time.time()

    def next(self, name):
        self.done += 1
        text = f"{self.done}/{self.total} {time.time() - self.begin:.0f} s  {name}"
        if sys.stderr.isatty():
            print("\r\033[K" + text[:100], end="\n" if self.done == self.total else "", file=sys.stderr, flush=True)
        elif self.done % 25 == 0 or self.done == self.total:
            say(text)


def write_rows(path, head, rows):
    """Writes one line for the run and then one for each case. The file is complete or not there."""
    rows = list(rows)
    others = that_leave_out(path) if os.path.exists(path) else {}
    with open(path + ".part", "w") as f:
        for row in [head, *without_equal(path, head, rows)]:
            f.write(json.dumps(row, separators=(",", ":")) + "\n")
    os.replace(path + ".part", path)
    say(f"{path}: {len(rows)} rows")
    for file, theirs in others.items():
        write_rows(file, theirs[0], theirs[1:])


def write_options(engine, release, options):
    """Writes the options of the release's own parser next to the rows, one per line."""
    lines = (f"{json.dumps(name)}:{json.dumps(row, separators=(',', ':'))}" for name, row in options.items())
    with open(os.path.join(TRUTHS, f"options-{engine}-{release}.json"), "w") as f:
        f.write("{" + ",\n".join(lines) + "}\n")
