"""What the sweeps share: the program, the options of a test, and a list of faults.

    SWEEP KVPLAN SOURCE [--full] [--seed N] [--only WORD] [--configs FOLDER]
"""
import argparse
import collections
import json
import os
import subprocess
import sys
import tempfile

CLEARED = ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HF_TOKEN_PATH", "HUGGINGFACE_HUB_CACHE", "HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE",
           "KVPLAN_CACHE", "KVPLAN_CALIBRATION", "http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY")


def options(**more):
    """The command line of a sweep: `--full` asks all its questions; `more` adds options."""
    parser = argparse.ArgumentParser()
    parser.add_argument("kvplan")
    parser.add_argument("source")
    parser.add_argument("--full", action="store_true", help="ask everything, which takes minutes")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="only models whose name holds this")
    parser.add_argument("--configs", default=None, help="a folder of configs in place of the bundled ones")
    for name, kind in more.items():
        parser.add_argument("--" + name, type=kind, default=None)
    return parser.parse_args()


class Program:
    """Runs kvplan with a separate home folder, without a network."""

    def __init__(self, path):
        self.path = os.path.abspath(path)
        self.folder = tempfile.TemporaryDirectory(prefix="kvplan-sweep-")
        self.home = self.folder.name
        self.runs = 0
        self.environment = {name: value for name, value in os.environ.items() if name not in CLEARED}
        self.environment.update(HOME=self.home, HF_HOME=self.home + "/hf", HF_HUB_CACHE=self.home + "/hf/hub",
                                XDG_CACHE_HOME=self.home + "/cache", XDG_CONFIG_HOME="/nonexistent", NO_PROXY="*", no_proxy="*",
                                HF_ENDPOINT="http://127.0.0.1:9", KVPLAN_HTTP_TIMEOUT_MS="5000")

    def run(self, words, stdin=None):
        """Exit code, standard output and standard error."""
        self.runs += 1
        given = {"stdin": subprocess.DEVNULL} if stdin is None else {"input": stdin}
        done = subprocess.run([self.path, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=self.environment,
                              encoding="utf-8", errors="replace", timeout=120, check=False, **given)
        return done.returncode, done.stdout, done.stderr

    def ask(self, words, stdin=None):
        """Exit code and the answer's JSON; if there is none, an object with the error."""
        code, out, error = self.run([*words, "--json"], stdin)
        if out:
            return code, json.loads(out)
        return code, {"error": error.strip()}


class Faults:
    """The faults that were found, by kind, with some examples of each."""

    def __init__(self, examples=4):
        self.counts = collections.Counter()
        self.checks = collections.Counter()
        self.examples = examples
        self.shown = collections.defaultdict(list)

    def check(self, kind, holds, *facts):
        """Counts a check, and records a fault if it does not hold. Facts are texts, or functions that return texts."""
        self.checks[kind] += 1
        if holds:
            return True
        self.counts[kind] += 1
        if len(self.shown[kind]) < self.examples:
            self.shown[kind].append(" ".join(str(fact() if callable(fact) else fact) for fact in facts))
        return False

    def close(self, runs):
        """Prints the faults, and exits with 1 if there are any."""
        for kind, count in self.counts.most_common():
            print(f"FAULT {kind}: {count} of {self.checks[kind]}")
            for example in self.shown[kind]:
                print("   ", example)
        checks = sum(self.checks.values())
        if checks == 0:
            sys.exit("no check was made")
        print(f"{runs} runs, {checks} checks: {sum(self.counts.values())} faults")
        sys.exit(1 if self.counts else 0)


def models(source, only="", more=False, configs=None):
    """The paths of the bundled configs, with `more` also of models with published figures; or the configs of a folder."""
    folders = [configs] if configs else ["testdata/configs"] + (["testdata/observations/models"] if more else [])
    found = {}
    for folder in folders:
        for name in sorted(os.listdir(os.path.join(source, folder))):
            if name.endswith(".json") and only in name:
                found.setdefault(name[:-5].replace("--", "-"), os.path.join(source, folder, name))
    return found
