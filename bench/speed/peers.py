"""The programs with which kvplan is compared: programs from packages, and a process that does nothing."""
import json
import os
import shutil
import subprocess
import sys

from measure import Program

HERE = os.path.dirname(os.path.abspath(__file__))
# npm's readers of GGUF, each in the release of the recorded run.
READERS = {"@huggingface/gguf": "0.4.6", "gguf": "1.0.7", "hyllama": "0.2.2"}


def installed(folder, program):
    """A copy of a program, as an installation makes one. The pages of a file that a linker wrote are scattered in the page cache, and mapping them
    one by one slows each start, by up to a tenth of a plan. Users do not see that."""
    copy = os.path.join(folder, "installed-" + os.path.basename(program))
    if os.path.exists(copy):
        os.remove(copy)
    return shutil.copy(program, copy)


def compile_helper(folder, name):
    program = os.path.join(folder, name)
    source = os.path.join(os.path.dirname(HERE), name + ".cpp")
    subprocess.run(["c++", "-O2", "-s", "-static-libstdc++", "-static-libgcc", "-Wl,--gc-sections", source,
                    "-o", program], check=True)
    return installed(folder, program)


def bare_python(*names):
    # Isolated and without site, which is the interpreter's fastest start. This is the interpreter's file itself, not a
    # launcher that chooses a version.
    return Program("bare Python", [os.path.realpath(sys.executable), "-I", "-S",
                                   os.path.join(HERE, "bare_plan.py"), *names])


def jq(*files):
    found = shutil.which("jq")
    return Program("jq", [found, "-c", ".", *files]) if found else None


def curl(model):
    """Makes only the requests of a plan from the Hub."""
    found = shutil.which("curl")
    files = [f"{model}/resolve/main/{name}" for name in ("config.json", "model.safetensors.index.json")]
    return Program("curl", [found, "-s", "--noproxy", "*", *files]) if found else None


class NpmReaders:
    """Installs the readers once in the scratch folder. `missing` lists what is skipped, and why."""

    def __init__(self, folder):
        self.folder = os.path.join(folder, "npm")
        self.node = shutil.which("node")
        self.missing = {}
        npm = shutil.which("npm")
        if not self.node or not npm:
            self.missing = dict.fromkeys(READERS, "node and npm are not installed")
            return
        os.makedirs(self.folder, exist_ok=True)
        with open(os.path.join(self.folder, "package.json"), "w") as file:
            json.dump({"private": True}, file)
        for name, version in READERS.items():
            if self.version(name) != version and not self.install(npm, name, version):
                self.missing[name] = f"npm could not install it, see {os.path.join(self.folder, 'npm.log')}"

    def install(self, npm, name, version):
        with open(os.path.join(self.folder, "npm.log"), "a") as log:
            return subprocess.run([npm, "install", "--ignore-scripts", "--no-audit", "--no-fund", f"{name}@{version}"],
                                  cwd=self.folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log).returncode == 0

    def version(self, name):
        try:
            with open(os.path.join(self.folder, "node_modules", name, "package.json")) as file:
                return json.load(file)["version"]
        except (OSError, ValueError, KeyError):
            return None

    def programs(self, path, header_bytes):
        if len(self.missing) == len(READERS):
            return []
        script = os.path.join(self.folder, "read_gguf.mjs")
        shutil.copy(os.path.join(HERE, "read_gguf.mjs"), script)  # node looks for packages from the script's folder
        return [Program(f"npm {name}", [self.node, script, name, path, str(header_bytes)])
                for name in READERS if name not in self.missing]


class Hub:
    """hub.py in a separate process, so that it answers while this process waits."""

    def __init__(self, config):
        self.server = subprocess.Popen([sys.executable, os.path.join(HERE, "hub.py"), config],
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.address = f"http://127.0.0.1:{int(self.server.stdout.readline())}"

    def close(self):
        self.server.stdin.close()
        self.server.wait()
