"""Calls that type checkers must refuse, and calls that they must accept; nothing here is run.

`mypy --strict` reports an ignored error that is none, and so does Pyright with `reportUnnecessaryTypeIgnoreComment`.
"""

import numpy as np
import polars as pl

import propriety as pr

Y, P = np.array([0, 1, 1]), np.array([0.2, 0.7, 0.4])
FRAME = pl.DataFrame({"y": Y, "p": P})


def accepted() -> None:
    """Each door with arrays, cases, a frame, a lazy frame, censored outcomes and what is made of them."""
    cases = pr.cases(Y, {"a": P, "b": P}, by={"site": ["x", "y", "x"]}, missing="drop")
    ledger = pr.condense(cases)
    outcomes = pr.censored([1.0, 2.0, 3.0], [1, 0, 1], horizons=2.0)
    for data in (cases, ledger):
        pr.evaluate(data)
        pr.compare(data, measure=pr.Log())
        pr.slices(data, by="site")
        pr.estimate(data, "a")
        pr.recalibrate(data, model="a")
    pr.evaluate(FRAME, "p", outcome="y")
    pr.evaluate(FRAME.lazy(), ["p"], outcome="y", level=0.9)
    pr.estimate(outcomes, P)
    pr.check_calibration(Y, P, period=[1, 2, 3])
    pr.brier_score(pr.cases(FRAME.lazy(), "p", outcome="y"))
    pr.brier_score(ledger.table("a"))
    pr.roc_curve([0, 1], [0.2, 0.7], sample_weight=[1.0, 2.0]).plot()
    pr.find_segments(cases, by=["site"], depth=1)
    pr.monitor(ledger, period="day")


def misspelt() -> None:
    """A parameter that no function has, or not this one."""
    pr.cases(Y, P, custer=P)  # type: ignore[call-arg]
    pr.condense(Y, P, sample_wieght=P)  # type: ignore[call-arg]
    pr.evaluate(Y, P, treshold=0.2)  # type: ignore[call-arg]
    pr.estimate(Y, P, measures=pr.Log())  # type: ignore[call-overload]
    pr.compare(Y, {"a": P, "b": P}, tolerance=0.1)  # type: ignore[call-arg]
    pr.slices(Y, P, group=P)  # type: ignore[call-arg]
    pr.check_calibration(Y, P, clusters=P)  # type: ignore[call-arg]
    pr.recalibrate(Y, P, metod="isotonic")  # type: ignore[call-arg]
    pr.monitor(pr.condense(Y, P), days="day")  # type: ignore[call-arg]
    pr.brier_score(Y, P, missing="drop")  # type: ignore[call-arg]
    pr.find_segments(pr.cases(Y, P), outcome="y")  # type: ignore[call-arg]


def wrongly_typed() -> None:
    """A value of a type that the parameter does not take."""
    pr.cases(Y, P, missing="ignore")  # type: ignore[arg-type]
    pr.condense(Y, P, ordered="yes")  # type: ignore[arg-type]
    pr.evaluate(Y, P, level="high")  # type: ignore[arg-type]
    pr.estimate(Y, P, method="exact")  # type: ignore[call-overload]
    pr.compare(Y, {"a": P, "b": P}, seed="one")  # type: ignore[arg-type]
    pr.slices(Y, P, by=P, smallest=None)  # type: ignore[arg-type]
    pr.check_calibration(Y, P, n_resamples="many")  # type: ignore[arg-type]
    pr.recalibrate(Y, P, rule="log")  # type: ignore[arg-type]
    pr.monitor(Y, P, level="high")  # type: ignore[arg-type]
    pr.monitor(pr.condense(Y, P), time="day")  # type: ignore[arg-type]
    pr.brier_score(Y, P, scale="double")  # type: ignore[arg-type]
