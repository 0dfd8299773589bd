"""The same tasks in every package with a thousand to a hundred million cases, timed in turns in one process.

Run: PYTHONPATH=quality python benchmarks/peers/speed.py, about 18 minutes; `--to 1e5` is a trial that writes
nothing. Writes `peers_speed`.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import median

import matplotlib as mpl
import numpy as np
from packages import LEFT_OUT, LIBRARIES
from record import IN_THE_SCRIPT, table, write
from resident import extra_memory
from sample import Sample, Work
from works import TASKS

mpl.use("agg")
from matplotlib import pyplot as plt

SIZES = (1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000)
LONGEST = 20.0  # Seconds that one call may be expected to take.
MOST = 8e9  # Bytes that one call may be expected to need.
ENOUGH = 1.0  # Seconds after which a package has had its turns.
TURNS = 7
SHORT, REPEATS = 0.1, 10  # A call that takes fewer seconds is repeated within its turn.
ROUGH = {"Beta recalibration": 1e-3, "Temperature of classes": 1e-4}  # Optimizers stop near the same optimum.
TIMES = "\N{MULTIPLICATION SIGN}"
NOTES = (
    "The first row of a table is the time of propriety; the other rows are multiples of it.",
    "The packages take turns within one process, up to seven each; fewer if a call takes longer.",
    f"A call shorter than {SHORT} s is repeated {REPEATS} times within its turn. Of all calls the fastest counts.",
    f"Not tried if a call was expected to take longer than {LONGEST:.0f} s or to need more than {MOST / 1e9:.0f} GB.",
    "The name of an error: the call was tried and failed.",
    "Every package is given its own container, made beforehand: arrays, tensors or a frame, of integers and doubles.",
    LEFT_OUT,
    "Answers are compared before times are measured. Drawn: the package offers the figure but not its numbers.",
)


@dataclass
class Race:
    """The times of one task, by package and size; a string says why a package stopped."""

    works: Mapping[str, Work]
    times: dict[str, list[float | str]] = field(default_factory=dict)
    needs: dict[str, float] = field(default_factory=dict)

    def run(self, sample: Sample, small: Sample) -> None:
        """Let every package that still can do the work at this size, by turns."""
        taken: dict[str, list[float]] = {}
        for name in self.works:
            reason = self._stopped(name)
            if reason:
                self.times[name].append(reason)
            else:
                taken[name] = []
        if taken:
            sample.prepare(small)
        for turn in range(TURNS):
            for name, times in list(taken.items()):
                if sum(times) >= ENOUGH:
                    continue
                try:
                    times.append(self._turn(name, sample, first=not turn))
                except (MemoryError, RuntimeError, ValueError) as error:
                    self.times[name].append(type(error).__name__)
                    del taken[name]
        for name, times in taken.items():
            self.times.setdefault(name, []).append(min(times))

    def _turn(self, name: str, sample: Sample, *, first: bool) -> float:
        work = self.works[name]
        begin = time.perf_counter()
        if first:
            self.needs[name] = extra_memory(lambda: work(sample))
        else:
            work(sample)
        taken = time.perf_counter() - begin
        for _ in range(REPEATS if taken < SHORT else 0):
            begin = time.perf_counter()
            work(sample)
            taken = min(taken, time.perf_counter() - begin)
        plt.close("all")
        return taken

    def _stopped(self, name: str) -> str:
        """Return why a package stops here, judging by how it grew from the last but one size to the last."""
        times = self.times.get(name, [])
        if times and isinstance(times[-1], str):
            return times[-1]
        if times and 10 * self.needs[name] > MOST:
            return f"> {MOST / 1e9:.0f} GB"
        return f"> {LONGEST:.0f} s" if expected(times) > LONGEST else ""


def expected(times: list[float]) -> float:
    """Return how long ten times as many cases should take, by a fixed part and one that grows with the cases."""
    if len(times) < 2:
        return times[-1] if times else 0.0
    before, last = times[-2:]
    return last + 10 * max(last - before, 0.0)


def agree(task: str) -> Sample:
    """Do a task once everywhere: it warms up, shows which containers are needed, and the answers must be the same."""
    sample = Sample(1_000)
    answers = {name: work(sample) for name, work in TASKS[task].items()}
    plt.close("all")
    numbers = {name: float(answer) for name, answer in answers.items() if answer is not None}
    # torchmetrics computes some of its answers in single precision.
    near = {"rtol": ROUGH.get(task, 1e-5), "atol": 1e-8}
    if not np.allclose(list(numbers.values()), next(iter(numbers.values()), 0.0), **near):
        message = f"{task}: the packages do not agree: {numbers}"
        raise ValueError(message)
    return sample


def duration(seconds: float) -> str:
    """Return a time with two digits."""
    scaled, unit = (seconds, "s") if seconds >= 1 else (seconds * 1000, "ms")
    return f"{float(f'{scaled:.2g}'):g} {unit}"


def multiple(ratio: float) -> str:
    """Return a ratio with two digits, or none behind the point where there are more before it."""
    return f"{ratio:,.0f}" if ratio >= 9.95 else f"{ratio:.1f}" if ratio >= 0.095 else f"{ratio:.2f}"


def cell(taken: float | str, base: float | str | None) -> str:
    """Return a multiple of our time if there is one, else the time, or the reason why there is none."""
    if isinstance(taken, str):
        return taken
    return f"{multiple(taken / base)} {TIMES}" if isinstance(base, float) else duration(taken)


def rows(race: Race, sizes: tuple[int, ...]) -> list[dict[str, str]]:
    """Return the table of a task: our times, and the multiples of the others."""
    ours = race.times["propriety"]
    found = []
    for name, times in race.times.items():
        row = {"package": name}
        for size, taken, base in zip(sizes, times, ours, strict=True):
            row[f"n = 1e{len(str(size)) - 1}"] = cell(taken, None if name == "propriety" else base)
        found.append(row)
    return found


def relative(theirs: float | str, ours: float | str) -> float | str:
    """Return the ratio of two times: none if they stopped, and 0 if only we did."""
    if isinstance(theirs, str):
        return theirs
    return 0.0 if isinstance(ours, str) else theirs / ours


def summary(races: Mapping[str, Race], sizes: tuple[int, ...]) -> str:
    """Return how often, and by how much, others take longer at the size most people meet."""
    place = sizes.index(min(1_000_000, sizes[-1]))
    found = [
        relative(times[place], race.times["propriety"][place])
        for race in races.values()
        for name, times in race.times.items()
        if not name.startswith("propriety")
    ]
    ratios = [each for each in found if not isinstance(each, str)]
    return (
        f"At {sizes[place]:,} cases, propriety is faster than the other package in {sum(r > 1 for r in ratios)} of "
        f"{len(ratios)} pairings on the same task; the median ratio of times is {multiple(median(ratios))}. In "
        f"{len(found) - len(ratios)} more, the other package needs too much time or memory at that size."
    )


def keep(races: Mapping[str, Race], sizes: tuple[int, ...]) -> None:
    """Write the record of the sizes that are done."""
    write(
        "peers_speed",
        title="Speed",
        summary=summary(races, sizes),
        command="PYTHONPATH=quality python benchmarks/peers/speed.py",
        tables=[table(task, rows(race, sizes)) for task, race in races.items()],
        notes=NOTES,
        seed=IN_THE_SCRIPT,
        libraries=LIBRARIES,
    )


def main() -> None:
    """Time every task at every size; the record is written from a million cases on, so that a long run can be ended."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--to", type=float, default=SIZES[-1], help="largest number of cases")
    parser.add_argument("--only", default="", help="part of the names of tasks, for a trial")
    given = parser.parse_args()
    largest, tasks = given.to, {task: works for task, works in TASKS.items() if given.only in task}
    warnings.simplefilter("ignore")
    small = {task: agree(task) for task in tasks}
    races = {task: Race(works) for task, works in tasks.items()}
    for place, size in enumerate(SIZES, start=1):
        if size > largest:
            break
        for task, race in races.items():
            race.run(Sample(size), small[task])
            print(size, task, {name: times[-1] for name, times in race.times.items()}, flush=True)
        print(summary(races, SIZES[:place]))
        if size >= 1_000_000 and not given.only:
            keep(races, SIZES[:place])


if __name__ == "__main__":
    main()
