#!/usr/bin/env python3
"""A wheel of a program that is already compiled, and the Python package:

    packaging/pack_wheel.py PROGRAM TAG FOLDER [NAME]

TAG is the platform's part of the wheel's name (manylinux_2_28_x86_64), NAME what the program is called when it is installed
(kvplan). It makes the wheel that pip would get from scikit-build-core, without a compiler. One program serves every Python, and the same commit
gives the same bytes. The metadata come from pyproject.toml. It prints the wheel's path. Releases are compressed with zopfli
(packaging/requirements.txt), or with zlib if zopfli is missing.
"""
import base64
import hashlib
import os
import pathlib
import re
import subprocess
import sys
import time
import tomllib
import zipfile

try:
    import zopfli.zlib as zopfli
except ImportError:
    zopfli = None

ROOT = pathlib.Path(__file__).resolve().parent.parent


def version():
    return re.search(r"project\(kvplan VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text()).group(1)


def metadata(project):
    rows = [("Metadata-Version", "2.4"), ("Name", project["name"]), ("Version", version()), ("Summary", project["description"]),
            ("Keywords", ",".join(project["keywords"])), ("License-Expression", project["license"])]
    rows += [("License-File", path) for path in project["license-files"]]
    rows += [("Project-URL", f"{label}, {address}") for label, address in project.get("urls", {}).items()]
    rows += [("Requires-Python", project["requires-python"])]
    for extra, needs in project["optional-dependencies"].items():
        rows.append(("Provides-Extra", extra))
        for need in needs:
            name, _, marker = need.partition(";")
            marker = f"({marker.strip()}) and extra == '{extra}'" if marker else f"extra == '{extra}'"
            rows.append(("Requires-Dist", f"{name.strip()}; {marker}"))
    rows.append(("Description-Content-Type", "text/markdown"))
    return "".join(f"{key}: {value}\n" for key, value in rows) + "\n" + (ROOT / project["readme"]).read_text()


def committed():
    """The date of the sources: SOURCE_DATE_EPOCH, else the last commit, else 1980, the first year in a zip file."""
    when = os.environ.get("SOURCE_DATE_EPOCH")
    if when is None:
        done = subprocess.run(["git", "-C", ROOT, "log", "-1", "--format=%ct"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        when = done.stdout or 0
    return max(time.gmtime(int(when))[:6], (1980, 1, 1, 0, 0, 0))


class Zopfli:
    """Compressed data that any zip program reads, 4 % smaller than zlib's."""

    def __init__(self):
        self.whole = b""

    def compress(self, data):
        self.whole += data
        return b""

    def flush(self):
        return zopfli.compress(self.whole, numiterations=5)[2:-4]  # without zlib's header and its sum


def main(program, tag, folder, name="kvplan"):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    stem = f"kvplan-{version()}"
    info = f"{stem}.dist-info"
    package = ROOT / "packaging/python"
    files = {str(path.relative_to(package)): path.read_bytes()
             for path in sorted(package.glob("kvplan/**/*")) if path.suffix == ".py" or path.name == "py.typed"}
    script = f"{stem}.data/scripts/{name}"
    files[script] = pathlib.Path(program).read_bytes()
    files[f"{info}/METADATA"] = metadata(project).encode()
    files[f"{info}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: kvplan\nRoot-Is-Purelib: false\nTag: py3-none-{tag}\n".encode()
    scripts = "".join(f"{command} = {function}\n" for command, function in project["scripts"].items())
    files[f"{info}/entry_points.txt"] = f"[console_scripts]\n{scripts}".encode()
    for path in project["license-files"]:
        files[f"{info}/licenses/{path}"] = (ROOT / path).read_bytes()
    record = "".join(
        f"{path},sha256={base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b'=').decode()},{len(data)}\n"
        for path, data in files.items())
    files[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n".encode()

    if zopfli:  # zipfile has no public way to another packer
        zipfile._get_compressor = lambda *_: Zopfli()
    os.makedirs(folder, exist_ok=True)
    wheel = os.path.join(folder, f"{stem}-py3-none-{tag}.whl")
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for path, data in files.items():
            entry = zipfile.ZipInfo(path, committed())
            entry.create_system = 3  # Unix, whose modes follow
            entry.external_attr = (0o100755 if path == script else 0o100644) << 16
            archive.writestr(entry, data, zipfile.ZIP_DEFLATED)
    print(wheel)


if __name__ == "__main__":
    if len(sys.argv) not in (4, 5):
        sys.exit(__doc__)
    main(*sys.argv[1:])
