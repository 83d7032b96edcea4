"""The machine and the versions of a run, without the host's name."""
import platform
import re
import shutil
import subprocess


def first_line(*command):
    if not shutil.which(command[0]):
        return None
    lines = subprocess.run(command, capture_output=True, text=True).stdout.splitlines()
    return lines[0].strip() if lines else None


def cpu():
    try:
        with open("/proc/cpuinfo") as file:
            found = re.search(r"model name\s*: (.*)", file.read())
        return found.group(1) if found else platform.machine()
    except OSError:
        return platform.machine()


def memory_gib():
    try:
        with open("/proc/meminfo") as file:
            return int(re.search(r"MemTotal:\s+(\d+)", file.read()).group(1)) / (1 << 20)
    except (OSError, AttributeError):
        return 0


def describe(cores):
    yield f"{cores} cores of {cpu()}, {memory_gib():.0f} GiB; Linux {platform.release().split('-')[0]}"
    tools = [first_line("c++", "--version"), f"Python {platform.python_version()}", first_line("jq", "--version"),
             "node " + (first_line("node", "--version") or "none"), first_line("valgrind", "--version")]
    yield ", ".join(tool for tool in tools if tool)
