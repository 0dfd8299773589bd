"""Writes the exact answer of every call, for a process with settings of its own; with threads, from several at once."""

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

sys.path.insert(0, str(Path(__file__).resolve().parent))

import calls

THREADS = 8
# Sums over so many cases that BLAS would share them among its threads.
LARGE = (
    *("compare", "compare with clusters", "compare of areas", "compare of skill", "condense"),
    *("estimate", "estimate with clusters", "estimate of an area", "estimate of a slope"),
)


def asked(d, large, turn=0):
    """Return the answers; each turn begins elsewhere, so that threads import different parts first."""
    # All of what takes long is asked by some.
    names = [*(calls.QUICK if turn % 4 else calls.CALLS)]
    start = turn * len(names) // THREADS
    found = {name: calls.exact(calls.CALLS[name](d)) for name in names[start:] + names[:start]}
    return found | {f"{name} of many": calls.exact(calls.CALLS[name](large)) for name in LARGE}


def main(n, threads):
    d, large = calls.cases(n), calls.cases(30_000)
    if threads == 1:
        sys.stdout.write(json.dumps([asked(d, large)]))
        return
    together = Barrier(threads)

    def work(turn):
        together.wait()
        return asked(d, large, turn)

    with ThreadPoolExecutor(threads) as pool:
        sys.stdout.write(json.dumps(list(pool.map(work, range(threads)))))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
