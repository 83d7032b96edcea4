"""Measures and prints the figures of one case."""
from dataclasses import dataclass

from measure import Pair, all_instructions, alternate, peak_kib


@dataclass
class Row:
    program: object
    pair: Pair           # its runs beside kvplan's; of kvplan itself those beside the first of the others
    instructions: int    # None where valgrind cannot, or was not asked
    peak: int            # KiB


@dataclass
class Result:
    case: object
    own: Row
    others: list

    def row(self, name):
        return next(row for row in self.others if row.program.name == name)


def measure(case, watcher, folder, budget, quick):
    programs = [case.kvplan, *case.others]
    pairs = [alternate(case.kvplan, other, budget, 3 if quick else 5) for other in case.others]
    # A quick run leaves out the interpreters, which are slowest under valgrind.
    counted = [p for p in programs if not quick or p.name in ("kvplan", "do-nothing")]
    counts = dict(zip(map(id, counted), all_instructions(counted, folder)))
    rows = [Row(program, pair, counts.get(id(program)), peak_kib(program, watcher))
            for program, pair in zip(programs, [pairs[0], *pairs])]
    return Result(case, rows[0], rows[1:])


def head():
    return ["| case | program | wall ms | of kvplan's | CPU ms | of kvplan's | instructions M | of kvplan's | peak MiB |",
            "|---|---|---:|---:|---:|---:|---:|---:|---:|"]


def millions(count):
    return "-" if count is None else f"{count / 1e6:,.2f}"


def rows(result):
    """Lines of Markdown: kvplan, and next to it each other program."""
    own = result.own
    yield (f"| {result.case.title} | kvplan | {own.pair.own_wall() * 1e3:,.2f} | | {own.pair.own_cpu() * 1e3:,.2f} | | "
           f"{millions(own.instructions)} | | {own.peak / 1024:,.1f} |")
    for row in result.others:
        known = row.instructions is not None and own.instructions is not None
        times = f"{row.instructions / own.instructions:,.2f}" if known else ""
        yield (f"| | {row.program.name} | {row.pair.other_wall() * 1e3:,.2f} | {row.pair.wall_ratio():,.2f} | "
               f"{row.pair.other_cpu() * 1e3:,.2f} | {row.pair.cpu_ratio():,.2f} | {millions(row.instructions)} | {times} | "
               f"{row.peak / 1024:,.1f} |")
