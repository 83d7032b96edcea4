"""What the harnesses share: the configs, an environment for an engine outside of the tree, rows, progress."""
import glob
import importlib.util
import json
import os
import subprocess
import sys
import time
import zipfile

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FOLDER = os.path.dirname(os.path.abspath(__file__))
TRUTHS = os.path.join(SOURCE, "testdata", "conformance")


class Failure(Exception):
    """One line: what could not be done, and what to do."""


def harness_of(engine):
    spec = importlib.util.spec_from_file_location("harness", os.path.join(FOLDER, engine, "harness.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def default_folder():
    return os.environ.get("KVPLAN_ENGINES") or os.path.expanduser("~/.cache/kvplan-engines")


def read_rows(path):
    with open(path) as f:
        return [json.loads(line) for line in f if line.strip()]


def configs():
    """{name: {"config": ..., "hf_quant_config": ... or absent}}: the real ones, then those of testdata/configs."""
    out = {row["name"]: {k: row[k] for k in ("config", "hf_quant_config") if k in row}
           for row in read_rows(os.path.join(TRUTHS, "configs.jsonl"))}
    for path in sorted(glob.glob(os.path.join(SOURCE, "testdata", "configs", "*.json"))):
        with open(path) as f:
            out.setdefault(os.path.basename(path)[:-len(".json")], {"config": json.load(f)})
    return out


def defaults(release):
    """{"default/TYPE": config}: the class defaults that transformers RELEASE was run with."""
    path = os.path.join(TRUTHS, f"transformers-{release}.jsonl")
    if not os.path.exists(path):
        raise Failure(f"{path} is not there; run tests/conformance/run transformers {release} first")
    return {row["id"]: row["config"] for row in read_rows(path)
            if isinstance(row.get("config"), dict) and row["id"].startswith(("default/", "variant/"))}


def write_config(folder, name, entry):
    """A model's folder as an engine takes it: config.json, and hf_quant_config.json where the checkpoint has one."""
    path = os.path.join(folder, name.replace("/", "--"))
    os.makedirs(path, exist_ok=True)
    for key, file in (("config", "config.json"), ("hf_quant_config", "hf_quant_config.json")):
        if key in entry:
            with open(os.path.join(path, file), "w") as f:
                json.dump(entry[key], f)
    return path


def wanted(name, only):
    return not only or any(text in name for text in only)


class Room:
    """A folder of an engine's release: its environment, downloads and what a run leaves."""

    def __init__(self, root, engine, release):
        self.path = os.path.join(os.path.abspath(root), f"{engine}-{release}")
        if os.path.commonpath([self.path, SOURCE]) == SOURCE:
            raise Failure(f"{root} is inside of the tree; name a folder outside of it with --engines")
        os.makedirs(self.path, exist_ok=True)

    def folder(self, name):
        path = os.path.join(self.path, name)
        os.makedirs(path, exist_ok=True)
        return path

    @property
    def python(self):
        path = os.path.join(self.path, "venv", "bin", "python")
        if not os.path.exists(path):
            say("making an environment")
            self.run([sys.executable, "-m", "venv", os.path.join(self.path, "venv")])
        return path

    def pip(self, *packages):
        """Installs what is named, once: a list that was installed before is not looked at again."""
        mark = os.path.join(self.path, "installed.json")
        done = json.load(open(mark)) if os.path.exists(mark) else []
        if list(packages) in done:
            return
        say("installing " + " ".join(packages)[:100])
        self.run([self.python, "-m", "pip", "install", "-q", "--disable-pip-version-check", *packages])
        with open(mark, "w") as f:
            json.dump([*done, list(packages)], f)

    def unpacked(self, requirement, without=()):
        """The folder of a wheel's files, unpacked and not installed: for engines that are run from their source alone.
        Files with an ending of `without` stay in the wheel.
        """
        folder = os.path.join(self.path, "source")
        if not os.path.exists(folder):
            say("fetching " + requirement)
            wheels = self.folder("wheels")
            self.run([self.python, "-m", "pip", "download", "-q", "--no-deps", "--disable-pip-version-check", "-d", wheels, requirement])
            part = folder + ".part"
            with zipfile.ZipFile(glob.glob(os.path.join(wheels, "*.whl"))[0]) as z:
                z.extractall(part, [name for name in z.namelist() if not name.endswith(tuple(without))])
            os.rename(part, folder)
        return folder

    def run(self, command, **more):
        """Runs a command to its end; Failure with its last line where that is not a good one."""
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)
        if done.returncode != 0:
            last = (done.stderr.strip() or done.stdout.strip() or "nothing said").splitlines()[-1]
            raise Failure(f"{' '.join(map(str, command[:4]))} ended with {done.returncode}: {last}")
        return done.stdout

    def versions(self, *packages):
        """{package: version} of what the environment has."""
        code = "import importlib.metadata as m, json, sys; print(json.dumps({p: m.version(p) for p in sys.argv[1:]}))"
        return json.loads(self.run([self.python, "-c", code, *packages]))


def say(text):
    print(text, file=sys.stderr, flush=True)


class Progress:
    """A line on standard error: how many cases are done, and which is next. On a terminal it is written over."""

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
    """A line for the run, then one for each case; the file appears whole or not at all."""
    count = 0
    with open(path + ".part", "w") as f:
        f.write(json.dumps(head, separators=(",", ":")) + "\n")
        for row in rows:
            f.write(json.dumps(row, separators=(",", ":")) + "\n")
            count += 1
    os.replace(path + ".part", path)
    say(f"{path}: {count} rows")


def write_options(engine, release, options):
    """The options that the release's own parser takes, a line each, beside the rows."""
    lines = (f"{json.dumps(name)}:{json.dumps(row, separators=(',', ':'))}" for name, row in options.items())
    with open(os.path.join(TRUTHS, f"options-{engine}-{release}.json"), "w") as f:
        f.write("{" + ",\n".join(lines) + "}\n")
