"""Mutation testing of layers of the package: how many small errors in the code the tests detect.

mutmut makes the errors, one at a time, in a copy of the package: a changed sign, a moved bound, a dropped argument.
The tests that reach the changed function are run, fastest first, and the mutant is killed if one of them fails. The
tests are collected once, and every mutant runs in a fork of that process, which saves the imports.

Run with `pip install mutmut`, then `python quality/mutation.py ledger --sample 200`, with one or more layers. The
record keeps what was found earlier about other layers. The outcomes for unchanged functions are stored in
build/mutation, and survivors are tried again; delete the folder to start over.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime as dt
import importlib
import json
import math
import os
import resource
import shutil
import signal
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Container, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from _pytest.runner import runtestprotocol
from mutants import MESSAGE_NAMES, SWITCH, Faults, Mutant, planted_sample
from mutmut.mutation import trampoline
from record import RESULTS, table, write

ROOT = Path(__file__).resolve().parent.parent
LAYERS = ("rules", "calibration", "decisions", "ledger", "inference", "recalibration", "evaluation", "products")
RECORDED = "stability/test_recorded_numbers.py"  # The recorded numbers of all measures.
ELSEWHERE = {  # Tests of a layer in other folders.
    **dict.fromkeys(LAYERS, (RECORDED,)),
    "rules": ("decisions/test_weights.py", "truth", RECORDED),
    "calibration": ("inference/test_calibration_sizes.py", "truth", RECORDED),
    "decisions": ("rules/test_thresholds.py", "truth", RECORDED),
    "inference": ("truth", RECORDED),
    "products": ("truth", RECORDED),
    "ledger": ("evaluation/test_evaluate.py", RECORDED),
}
EXAMPLES = 12  # Of Hypothesis, for each law.
SECONDS_A_TEST = 3.0  # A test that takes longer is left out.
SECONDS_A_MUTANT = 15.0  # Of tests, fastest first; what survives them is called a survivor.
LONG = "test_every_claim_of_the_catalogue_is_borne_out"  # Left out: half of the time of all tests together.
SECONDS_OF_WAITING = 300  # After which a fork is stuck, which says nothing about its fault.
LIBRARIES = ("propriety", "numpy", "scipy", "sklearn", "pandas", "matplotlib", "narwhals", "hypothesis", "rich")
KILLED, SURVIVED, SLOW, UNREACHED, STUCK = "killed", "survived", "out of time", "not reached", "stuck"


def copy_project(folder: Path) -> None:
    """Copy sources and tests to a folder, where the sources are then changed."""
    for part in ("src", "tests"):
        shutil.rmtree(folder / part, ignore_errors=True)
        shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns("node_modules", "__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder)


class Trial:
    """A plugin of pytest: runs the collected tests once on the sound code, then on one fault after the other."""

    def __init__(
        self, mutants: Mapping[Mutant, str], outcomes: dict[str, str], memory: Path, jobs: int, patience: float
    ) -> None:
        self.mutants, self.outcomes, self.memory, self.jobs = mutants, outcomes, memory, jobs
        self.end = time.monotonic() + patience
        self.tried: list[Mutant] = []
        self.seconds: dict[pytest.Item, float] = {}
        self.reaching: dict[str, list[pytest.Item]] = defaultdict(list)
        self.kills: dict[str, Counter[str]] = defaultdict(Counter)  # Of each test, by file.

    def pytest_sessionstart(self) -> None:
        """Make Hypothesis quick and the same every time; to shrink what fails would be lost work."""
        from hypothesis import Phase, settings  # Now and not before, so that pytest may rewrite its assertions.

        phases = (Phase.explicit, Phase.generate)
        profile = settings(settings.default, max_examples=EXAMPLES, derandomize=True, database=None, phases=phases)
        settings.register_profile("mutation", profile)
        settings.load_profile("mutation")

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Leave out the docstrings of the faulty copies of functions, and what takes too long."""
        items[:] = [item for item in items if "__mutmut_" not in item.nodeid and LONG not in item.nodeid]

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Take the place of pytest's own loop."""
        self.learn(session.items)
        self.control()
        self.try_all()
        self.memory.write_text(json.dumps(self.outcomes), encoding="utf-8")
        return True

    def learn(self, items: Sequence[pytest.Item]) -> None:
        """Run each test once, in forks, and note how long it takes and which functions it calls."""
        pipes = [self.fork_learning(items[part :: self.jobs], part) for part in range(self.jobs)]
        learned = []
        for pipe in pipes:
            with os.fdopen(pipe) as told:
                learned.append(json.load(told))
        for _ in pipes:
            os.wait()
        for part, (notes, modules) in enumerate(learned):
            for item, (seconds, called) in zip(items[part :: self.jobs], notes, strict=True):
                self.seconds[item] = seconds
                for function in called:
                    self.reaching[function.removesuffix("__mutmut_orig")].append(item)
            for module in modules:
                with contextlib.suppress(Exception):
                    importlib.import_module(module)  # So that not every fork has to.
        say(f"{sum(self.seconds.values()):.0f} s of tests")

    def fork_learning(self, items: Sequence[pytest.Item], part: int) -> int:
        """Start a process that runs some tests on the sound code, and return the pipe in which it tells of them.

        It is one of its own because threads, such as those of Polars and DuckDB, would be missing in later forks.
        """
        reading, writing = os.pipe()
        if os.fork():
            os.close(writing)
            return reading
        signal.signal(signal.SIGPROF, interrupt)
        notes = []
        for number, item in enumerate(items):
            SWITCH.called.clear()
            signal.setitimer(signal.ITIMER_PROF, SECONDS_A_TEST)
            signal.alarm(SECONDS_OF_WAITING)  # Polars waits for threads that a fork lacks if it was used at collection.
            start = time.process_time()
            passed = passes(item)
            seconds = time.process_time() - start
            signal.setitimer(signal.ITIMER_PROF, 0.0)
            notes.append((seconds, sorted(SWITCH.called) if passed and seconds <= SECONDS_A_TEST else []))
            if number % 100 == 0:
                say(f"{number} of {len(items)} tests of part {part} run on the sound code")
        with os.fdopen(writing, "w") as pipe:
            json.dump((notes, [name for name in sys.modules if name.startswith(LIBRARIES)]), pipe)
        os._exit(0)

    def control(self) -> None:
        """Test the original code as if it were a mutant: it must survive, or the outcomes would be meaningless."""
        nothing = Mutant("nothing", "", 0, "", "", "")
        self.reaching[nothing.function] = list({item for items in self.reaching.values() for item in items})
        process, told = self.fork(nothing)
        os.close(told)
        _, status = os.waitpid(process, 0)
        del self.reaching[nothing.function]
        if status:
            pytest.exit(f"the tests fail on the sound code in process {process}")

    def try_all(self) -> None:
        """Try every fault that is not remembered as killed, some at a time."""
        running: dict[int, tuple[Mutant, int]] = {}
        for number, mutant in enumerate(self.mutants):
            if time.monotonic() > self.end:
                break  # What was tried until then is a random sample too.
            self.tried.append(mutant)
            if self.outcomes.get(mutant.key) in (KILLED, SLOW):
                continue
            if mutant.function not in self.reaching:
                self.outcomes[mutant.key] = UNREACHED
                continue
            while len(running) >= self.jobs:
                self.reap(running)
            process, told = self.fork(mutant)
            running[process] = mutant, told
            if number % 20 == 0:
                counts = Counter(self.outcomes[m.key] for m in self.tried if m.key in self.outcomes)
                say(f"{number} of {len(self.mutants)} mutants tried: {counts}")
                self.memory.write_text(json.dumps(self.outcomes), encoding="utf-8")
        while running:
            self.reap(running)

    def fork(self, mutant: Mutant) -> tuple[int, int]:
        """Start a process that wakes the fault and runs the tests that reach it; it tells in a pipe which one fails."""
        tests, total = [], 0.0
        for item in sorted(self.reaching[mutant.function], key=self.seconds.__getitem__):
            total += self.seconds[item]
            if tests and total > SECONDS_A_MUTANT:
                break
            tests.append(item)
        kills = self.kills[mutant.file]
        tests.sort(key=lambda item: -kills[item.nodeid])  # What has killed a neighbour is tried first.
        reading, writing = os.pipe()
        process = os.fork()
        if process:
            os.close(writing)
            return process, reading
        limit = math.ceil(5.0 + 4.0 * min(total, SECONDS_A_MUTANT))
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 1))
        signal.alarm(SECONDS_OF_WAITING)
        forget_caches()
        SWITCH.wake(self.mutants.get(mutant, ""))
        killer = next((item.nodeid for item in tests if not passes(item)), "")
        os.write(writing, killer.encode())
        os._exit(1 if killer else 0)

    def reap(self, running: dict[int, tuple[Mutant, int]]) -> None:
        """Wait for a process to end and note what it says."""
        process, status = os.wait()
        mutant, told = running.pop(process)
        with os.fdopen(told) as pipe:
            killer = pipe.read()
        if os.WIFSIGNALED(status):
            outcome = STUCK if os.WTERMSIG(status) == signal.SIGALRM else SLOW
        else:
            outcome = KILLED if os.WEXITSTATUS(status) else SURVIVED
        if killer:
            self.kills[mutant.file][killer] += 1
        self.outcomes[mutant.key] = outcome
        if outcome not in (KILLED, SLOW):
            say(f"{outcome}: {mutant}")


def passes(item: pytest.Item) -> bool:
    """Run a test with its fixtures, and leave it as it was."""
    example = getattr(item, "dtest", None)
    names = dict(example.globs) if example else {}
    reports = runtestprotocol(item, nextitem=None, log=False)
    if example:
        example.globs = names  # doctest empties them.
    return not any(report.failed for report in reports)


def interrupt(*_: object) -> None:
    """Make a test fail that takes too long."""
    raise TimeoutError


def forget_caches() -> None:
    """Empty the caches of the package: an answer kept from the sound code would hide a fault."""
    for name, module in list(sys.modules.items()):
        if name.startswith("propriety."):
            for value in vars(module).values():
                if hasattr(value, "cache_clear"):
                    value.cache_clear()


def say(text: str) -> None:
    """Tell how far the run is; pytest keeps standard output for itself."""
    print(time.strftime("%H:%M:%S"), text, file=sys.__stderr__, flush=True)


def wilson(successes: int, n: int) -> tuple[float, float]:
    """Return Wilson's 95% interval of a share."""
    z = 1.959963984540054
    middle, spread = successes + z * z / 2.0, z * math.sqrt(successes * (n - successes) / n + z * z / 4.0)
    return (middle - spread) / (n + z * z), (middle + spread) / (n + z * z)


def percent(part: int, whole: int) -> str:
    """Write a share with one decimal; nothing if nothing was tried."""
    return f"{100.0 * part / whole:.1f} %" if whole else ""


def report(tried: Sequence[Mutant], made: Mapping[str, int], outcomes: dict[str, str], seed: int, command: str) -> Path:
    """Write the record of the run, with what was found earlier about the files of other layers."""
    today = dt.datetime.now(tz=dt.UTC).date().isoformat()
    rows = []
    for file in sorted(file for file, number in made.items() if number):
        results = [outcomes[m.key] for m in tried if m.file == file]
        killed = sum(result in (KILLED, SLOW) for result in results)
        counts = {"mutants": made[file], "tried": len(results), "killed": killed}
        run = {"seed": seed if len(tried) < sum(made.values()) else None, "date": today}
        rows.append({"file": file, **counts, "share": percent(killed, len(results)), **run})
    rows += earlier({layer_of(file) for file in made})
    rows.sort(key=lambda row: (LAYERS.index(layer_of(row["file"])), row["file"]))
    layers = [summed([row for row in rows if layer_of(row["file"]) == layer]) for layer in LAYERS]
    layers = [layer for layer in layers if layer]
    shares = ", ".join(f"{layer['share']} in {layer['layer']}" for layer in layers)
    return write(
        "mutation",
        title="Mutation testing",
        summary=f"The share of mutants that the tests detect, in samples that are stratified by file: {shares}.",
        command=command,
        tables=[table("Mutants by layer, with the date of each run", layers), table("Mutants by file", rows)],
        libraries=("propriety", "numpy", "scipy", "mutmut", "hypothesis", "pytest"),
        seed=seed,
        keeps_rows=True,
        notes=[
            (
                "mutmut changes the bodies and simple defaults of functions and methods. It does not change "
                "docstrings, type annotations, decorators, decorated functions such as properties, or "
                "code outside functions."
            ),
            (
                "Error messages are not changed either: what a raise statement raises, and assignments to "
                f"{', '.join(sorted(MESSAGE_NAMES))}. Nor is the strictness of zip, which guards against "
                "columns of different lengths that do not occur."
            ),
            (
                "The tests are those of the layer, the examples in its docstrings, the comparisons with exact "
                f"arithmetic and with stored answers. Hypothesis uses {EXAMPLES} fixed examples. Tests that take more "
                f"than {SECONDS_A_TEST:g} s, tests that read the source and the audit of the catalogue are left out."
            ),
            (
                "A mutant counts as killed if a test that reaches its function fails, or if the tests take more than "
                f"four times as long as on the original code. Each mutant is given at most {SECONDS_A_MUTANT:g} s of "
                "tests, the fastest first. A mutant that no test reaches counts as surviving."
            ),
            "The command and the versions below are those of the last run. Intervals are Wilson's, at 95 %.",
        ],
    )


def earlier(layers: Container[str]) -> list[dict[str, Any]]:
    """Return what the record says about the files of other layers."""
    path = RESULTS / "mutation.json"
    if not path.exists():
        return []
    record = json.loads(path.read_text(encoding="utf-8"))
    (files,) = (table for table in record["tables"] if table["caption"] == "Mutants by file")
    rows = [dict(zip(files["columns"], row, strict=True)) for row in files["rows"]]
    return [row for row in rows if layer_of(row["file"]) not in layers]


def summed(files: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the row of a layer from those of its files."""
    if not files:
        return {}
    tried, killed = (sum(row[name] for row in files) for name in ("tried", "killed"))
    low, high = wilson(killed, tried)
    return {
        "layer": layer_of(files[0]["file"]),
        "mutants": None if files[0]["mutants"] is None else sum(row["mutants"] for row in files),
        "tried": tried,
        "killed": killed,
        "share": percent(killed, tried),
        "interval": f"{100.0 * low:.1f} to {100.0 * high:.1f} %",
        "seed": files[0]["seed"],
        "date": files[0]["date"],
    }


def layer_of(file: str) -> str:
    """Return the layer of a file."""
    return file.partition("/")[0]


def main() -> None:
    """Make the mutants, test them and write the record."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "mutation", help="where the copy is made")
    parser.add_argument("--sample", type=int, help="how many mutants to try; all of them by default")
    parser.add_argument("--seed", type=int, default=1, help="of the sample")
    parser.add_argument("--minutes", type=float, default=math.inf, help="after which no more mutants are tried")
    parser.add_argument("--jobs", type=int, default=2, help="how many processes to use")
    parser.add_argument("--tests", nargs="+", help="to try on what survived before; all of the layers by default")
    parser.add_argument("--no-record", action="store_true", help="only list the survivors")
    parser.add_argument("layers", nargs="*", default=LAYERS, help="or files, whose code is mutated; by default all")
    options: Any = parser.parse_args()
    folder = options.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    copy_project(folder)
    os.chdir(folder)
    source = folder / "src"
    sys.path.insert(0, str(source))
    trampoline.wrap_in_trampoline = SWITCH.wrap
    os.environ |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}  # A fork has no threads but its own.
    named = [source / "propriety" / name for name in options.layers]
    files = [path for one in named for path in (sorted(one.glob("*.py")) if one.is_dir() else [one])]
    layers = list(dict.fromkeys(map(layer_of, options.layers)))
    faults = [Faults(path, source) for path in files]
    made = {each.file: len(each.mutations) for each in faults}
    drawn = planted_sample(faults, options.sample, options.seed)
    say(f"{sum(made.values())} mutants made, {len(drawn)} to try")
    memory = folder / "outcomes.json"
    outcomes = json.loads(memory.read_text(encoding="utf-8")) if memory.exists() else {}
    trial = Trial(drawn, outcomes, memory, options.jobs, 60.0 * options.minutes)
    places = [f"{top}/{layer}" for top in ("tests", "src/propriety") for layer in layers]
    places += sorted({f"tests/{place}" for layer in layers for place in ELSEWHERE.get(layer, ())})
    pytest.main(
        ["-q", "-p", "no:cacheprovider", "-m", "not slow and not simulation", *(options.tests or places)],
        plugins=[trial],
    )
    living = [m for m in trial.tried if outcomes[m.key] not in (KILLED, SLOW)]
    lines = [f"{outcomes[m.key]}: {m}" for m in living]
    (folder / "survivors.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    sample = f" --sample {options.sample} --seed {options.seed}" if options.sample else ""
    sample += f" --minutes {options.minutes:g}" if len(trial.tried) < len(drawn) else ""
    if not options.no_record and set(options.layers) <= set(LAYERS):  # Not for single files.
        report(
            trial.tried, made, outcomes, options.seed, f"python quality/mutation.py {' '.join(options.layers)}{sample}"
        )


if __name__ == "__main__":
    main()
