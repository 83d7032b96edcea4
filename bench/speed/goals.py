"""The goals, each with the measured value."""
from dataclasses import dataclass

START = 4.0           # a plan's wall time, times a process that does nothing
PYTHON = 5.0          # bare Python's, times a plan's
PLANS_A_SECOND = 2000
BUILDING = 0.5        # CPU seconds of the first command's build, times those of the program before its tests left `all`


@dataclass
class Goal:
    text: str
    seen: str
    is_met: bool


def ratio_of(row):
    """How many times kvplan's time the program takes, and which time that is. On a busy machine only the program's own CPU time can be judged."""
    return (row.pair.wall_ratio(), "") if row.pair.is_calm() else (row.pair.cpu_ratio(), " of CPU time")


def of_result(result):
    """The goals of one case: memory for all cases, time for a plan."""
    case = result.case
    yield Goal(f"{case.title}: at most {case.peak_limit} MiB", f"{result.own.peak / 1024:.1f} MiB",
               result.own.peak <= case.peak_limit * 1024)
    if not case.is_plan:
        return
    (start, of_start), (python, of_python) = map(ratio_of, (result.row("do-nothing"), result.row("bare Python")))
    yield Goal(f"{case.title}: within {START:g}x of a process that does nothing", f"{1 / start:.2f}x{of_start}",
               1 / start <= START)
    yield Goal(f"{case.title}: {PYTHON:g}x faster than bare Python", f"{python:.1f}x{of_python}", python >= PYTHON)


def of_rate(rate, cpu_rate):
    busy = cpu_rate > 1.2 * rate  # somebody else had the core
    yield Goal(f"{PLANS_A_SECOND:,} plans a second in one process",
               f"{cpu_rate:,.0f} of CPU time" if busy else f"{rate:,.0f}",
               (cpu_rate if busy else rate) >= PLANS_A_SECOND)


def of_building(now, then, commit):
    yield Goal(f"building the program: at most {BUILDING:g} of the CPU seconds of commit {commit}",
               f"{now:.0f} s, {now / then:.2f} of {then:.0f} s", now <= BUILDING * then)


def of_growth(series):
    for each in series:
        if None in each.seen:
            yield Goal(f"linear: {each.title}", "a run failed", False)
        else:
            yield Goal(f"linear: {each.title}", "flat" if each.is_flat() else f"N^{each.exponent():.2f}", each.is_linear())


def table(goals):
    """Lines of Markdown; missed goals come first."""
    yield "| goal | seen | |"
    yield "|---|---:|---|"
    for goal in sorted(goals, key=lambda goal: goal.is_met):
        yield f"| {goal.text} | {goal.seen} | {'met' if goal.is_met else '**missed**'} |"
