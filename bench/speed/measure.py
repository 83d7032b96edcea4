"""Runs programs and measures them: wall time in turns with another program, instructions, peak memory."""
import concurrent.futures
import os
import re
import statistics
import subprocess
import time
from dataclasses import dataclass, field

SLOWEST = 300  # seconds that a program may take under valgrind


class Failed(Exception):
    """A program failed, so its figures would mean nothing."""


@dataclass
class Program:
    name: str
    command: list
    environment: dict = field(default_factory=dict)  # "{run}" in a value becomes another number in every run
    good: tuple = (0,)  # exit codes of a program that did its work
    count: int = 0

    def next_environment(self):
        self.count += 1
        added = {key: value.replace("{run}", str(self.count)) for key, value in self.environment.items()}
        return {**os.environ, **added}


@dataclass
class Run:
    wall: float  # seconds
    cpu: float   # of the program itself, user and system

    def waited(self):
        """Seconds waited for the network, the disk, or a core that another program used."""
        return self.wall - self.cpu


def spawn(program):
    """Runs the command once and drops its output."""
    environment = program.next_environment()
    quiet = [(os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0)]
    start = time.perf_counter()
    pid = os.posix_spawn(program.command[0], program.command, environment, file_actions=quiet)
    _, status, usage = os.wait4(pid, 0)
    wall = time.perf_counter() - start
    if os.waitstatus_to_exitcode(status) not in program.good:
        raise Failed(f"{program.name}: exit {os.waitstatus_to_exitcode(status)}: {' '.join(program.command)}")
    return Run(wall, usage.ru_utime + usage.ru_stime)


@dataclass
class Pair:
    """Runs kvplan and another program in turns, so that whatever slows the machine slows both runs of a round. The wall time comes from the
    quarter of the rounds (at least five) that waited least. On an idle machine these are like the others; on a shared machine other programs
    disturbed them least."""
    rounds: list  # of (kvplan's Run, the other's Run)

    def calm(self):
        by_wait = sorted(self.rounds, key=lambda runs: runs[0].waited() + runs[1].waited())
        return by_wait[:max(5, len(by_wait) // 4)]

    def own_wall(self):
        return statistics.median(own.wall for own, _ in self.calm())

    def other_wall(self):
        return statistics.median(other.wall for _, other in self.calm())

    def own_cpu(self):
        return statistics.median(own.cpu for own, _ in self.rounds)

    def other_cpu(self):
        return statistics.median(other.cpu for _, other in self.rounds)

    def wall_ratio(self):
        return statistics.median(other.wall / own.wall for own, other in self.calm())

    def cpu_ratio(self):
        return statistics.median(other.cpu / max(own.cpu, 1e-6) for own, other in self.rounds)

    def is_calm(self):
        """Whether the wall time depends on the programs rather than on other programs on the machine."""
        runs = [run for pair in self.calm() for run in pair]
        return sum(run.wall for run in runs) < 1.6 * sum(run.cpu for run in runs)


def alternate(own, other, budget, least, most=400):
    """The pair's rounds within this many seconds. One run of each comes first and warms the caches."""
    spawn(own)
    spawn(other)
    rounds = []
    end = time.perf_counter() + budget
    while len(rounds) < least or (len(rounds) < most and time.perf_counter() < end):
        if len(rounds) % 2:
            second = spawn(other)
            rounds.append((spawn(own), second))
        else:
            rounds.append((spawn(own), spawn(other)))
    return Pair(rounds)


def instructions(program, folder):
    """The number of instructions from callgrind, which is the same in every run. None if callgrind cannot run it."""
    out = os.path.join(folder, f"callgrind.{os.getpid()}.{id(program)}")
    try:
        done = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=" + out, *program.command],
                              env=program.next_environment(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True, timeout=SLOWEST)
    except (FileNotFoundError, subprocess.TimeoutExpired):
        return None
    finally:
        if os.path.exists(out):
            os.remove(out)
    found = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode not in program.good or not found:
        return None
    return int(found.group(1))


def all_instructions(programs, folder):
    """The same for many commands on all cores, because parallel runs do not change a count."""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(lambda program: instructions(program, folder), programs))


def peak_kib(program, watcher):
    """The largest resident memory, measured by bench/peak.cpp."""
    words = subprocess.check_output([watcher, *program.command], env=program.next_environment(), text=True).split()
    if int(words[0]) not in program.good:
        raise Failed(f"{program.name}: exit {words[0]} under bench/peak.cpp")
    return int(words[1])
