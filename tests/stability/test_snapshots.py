"""What the caller does to his data after a call changes no answer of the object that the call returned."""

import functools
import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from operator import attrgetter
from types import FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from calls import CALLS, OF_NO_CASES, cases, exact
from layouts import backwards, read_only, strided, unaligned

import propriety as pr
from propriety.public_names import public_names
from propriety.tables.forecast_table import ForecastTable

N = 240
FOLLOW_UP = np.arange(N) % 29 + 1.0
COLUMNS = ("y", "p", "q", "grade", "rows", "group", "cluster")


def writeable(values: np.ndarray) -> np.ndarray:
    """Return the array that holds the memory of another one, made writeable."""
    while isinstance(values.base, np.ndarray):
        values = values.base
    values.flags.writeable = True
    return values


def in_pandas(values: np.ndarray) -> Any:
    return pd.DataFrame(values, copy=False) if values.ndim == 2 else pd.Series(values, copy=False)


def in_nullable_pandas(values: np.ndarray) -> Any:
    return in_pandas(values).convert_dtypes()


def in_arrow(values: np.ndarray) -> Any:
    """Return Arrow columns that hold the memory of the array."""
    if values.ndim == 2:
        return pa.table({str(place): pa.array(column) for place, column in enumerate(values.T)})
    return pa.chunked_array([pa.array(values)])


def in_polars(values: np.ndarray) -> Any:
    return pl.from_arrow(in_arrow(values))


# How a column is handed over, given an array that nobody else holds.
CONTAINERS: dict[str, Callable[[np.ndarray], Any]] = {
    "NumPy": lambda values: values,
    "32 bits": lambda values: values if values.dtype.kind == "M" else values.astype(values.dtype.str.replace("8", "4")),
    "Fortran order": np.asfortranarray,
    "strided": strided,
    "backwards": backwards,
    "unaligned": unaligned,
    "read-only": read_only,
    "lists": lambda values: values.tolist(),
    "pandas": in_pandas,
    "pandas nullable": in_nullable_pandas,
    "PyArrow": in_arrow,
    "Polars": in_polars,
}


def overwrite(container: Any) -> None:
    """Change every number of a column, or of a frame, in place: each case becomes the first one."""
    if isinstance(container, list):
        container[:] = [container[0]] * len(container)
    elif isinstance(container, np.ndarray):
        values = writeable(container)
        values[...] = values[0].copy()
    elif isinstance(container, pd.Series):
        container.iloc[:] = container.iloc[0]
    elif isinstance(container, pd.DataFrame):
        container.iloc[:, :] = container.iloc[0].to_numpy()
    elif isinstance(container, pl.Series):
        container[list(range(len(container)))] = container[0]
    elif isinstance(container, pl.DataFrame):
        for name in container.columns:
            container[0, name] = container[1, name]


class Given:
    """Data handed over to one call, which can be overwritten afterwards."""

    def __init__(self, container: Callable[[np.ndarray], Any], *, weighted: bool) -> None:
        self.container = container
        self.arrays: list[np.ndarray] = []
        self.containers: list[Any] = []
        drawn = cases(N, weighted=weighted)
        options = {name: self(value) for name, value in drawn.binary.items()}
        self.data = replace(
            drawn, **{name: self(getattr(drawn, name)) for name in COLUMNS}, binary=options, classes=dict(options)
        )

    def __call__(self, values: Any) -> Any:
        """Hand over a column."""
        array = np.array(values)
        container = self.container(array)
        self.arrays += [array, *([container] if isinstance(container, np.ndarray) else [])]
        self.containers.append(container)
        return container

    def overwrite(self) -> None:
        """Change all that was handed over, in place."""
        for container in self.containers:
            overwrite(container)
        for array in self.arrays:
            overwrite(array)

    def shares(self, values: np.ndarray) -> bool:
        """Whether an array has memory in common with what was handed over."""
        return any(np.may_share_memory(values, array) for array in self.arrays)


# Calls with arrays other than those of the cases.
OPTIONS: dict[str, Callable[[Given], Any]] = {
    "PointsWeight": lambda g: pr.weights.PointsWeight(g([0.1, 0.3, 0.9]), g([1.0, 2.0, 1.0])),
    "ForecastTable": lambda g: ForecastTable(forecast=g([0.1, 0.6]), events=g([2.0, 5.0]), non_events=g([8.0, 5.0])),
    "weighted ForecastTable": lambda g: ForecastTable(
        forecast=g([0.1, 0.6]),
        events=g([2.0, 5.0]),
        non_events=g([8.0, 5.0]),
        event_squares=g([3.0, 6.0]),
        non_event_squares=g([9.0, 6.0]),
        n=20,
        n_events=7,
    ),
    "censored": lambda g: pr.censored(
        g(FOLLOW_UP), g.data.y, horizons=[10.0, 20.0], groups=g.data.group, forecast=g.data.p, **g.data.binary
    ),
    "evaluate of censored outcomes": lambda g: pr.evaluate(
        pr.censored(g(FOLLOW_UP), g.data.y, horizons=20.0),
        {"p": g.data.p},
        cluster=g.data.cluster,
        seed=7,
        n_resamples=20,
    ),
    "cost_curve": lambda g: pr.cost_curve(g.data.y, g.data.p, grid=g([0.1, 0.2, 0.4])),
    "decision_curve": lambda g: pr.decision_curve(g.data.y, g.data.p, grid=g([0.1, 0.2, 0.4])),
    "decision_uncertainty": lambda g: pr.decision_uncertainty(
        g.data.y, g.data.p, grid=g([0.1, 0.4]), n_resamples=20, seed=7
    ),
    "decompose": lambda g: pr.decompose(g.data.y, g.data.p, grid=g([0.1, 0.2, 0.4])),
    "expected_cost": lambda g: pr.expected_cost(g.data.grade, g.data.rows, cost=g(1.0 - np.eye(4))),
    "bayes_decisions": lambda g: pr.bayes_decisions(g.data.rows, cost=g(1.0 - np.eye(4))),
    "murphy_curve": lambda g: pr.murphy_curve(g.data.y, g.data.p, grid=g([0.1, 0.2, 0.4])),
    "probability_means": lambda g: pr.probability_means(
        g.data.y, g.data.p, source="bins", bins=g([0.0, 0.2, 0.5, 1.0])
    ),
    "ProbabilityMeans.spectrum": lambda g: pr.probability_means(g.data.y, g.data.p).spectrum(g([-1.0, 0.0, 1.0])),
    "ranking_map": lambda g: pr.ranking_map(g.data.y, g.data.models, grid=g([0.1, 0.2, 0.4])),
    "regret_curve": lambda g: pr.regret_curve(g.data.y, g.data.p, grid=g([0.1, 0.2, 0.4])),
    "RetentionCurve.with_interval": lambda g: pr.retention_curve(
        g.data.grade, g.data.rows, metric=g(1.0 - np.eye(4)), removed=g([0.0, 0.2, 0.4])
    ).with_interval(n_resamples=20, seed=7),
    "top_k": lambda g: pr.top_k(g.data.y, g.data.p, k=g([10, 50])),
    "weighted_regret": lambda g: pr.weighted_regret(g.data.y, g.data.p, weight=(g([0.1, 0.5]), g([1.0, 2.0]))),
    "Cases.where": lambda g: pr.evaluate(
        pr.cases(g.data.y, g.data.models, by={"group": g.data.group}).where(g(np.arange(N) % 3 > 0)), seed=7
    ),
    "cases": lambda g: pr.cases(g.data.y, g.data.models, by={"group": g.data.group}, id=g(np.arange(N))),
    "condense counts": lambda g: pr.condense(g.data.y, g.data.models, counts=g.data.grade, by=g.data.group),
    "condense over time": lambda g: pr.condense(g.data.y, g.data.models, period=g.data.cluster),
    "condense by times": lambda g: pr.condense(g.data.y, g.data.p, by={"day": g(np.arange(N).astype("datetime64[D]"))}),
    "condense in two columns": lambda g: pr.condense(g.data.y, g(np.stack([1 - cases(N).p, cases(N).p], axis=1))),
    "evaluate in order of time": lambda g: pr.evaluate(g.data.y, g.data.models, period=g.data.cluster, seed=7),
    "recalibrate with folds": lambda g: pr.recalibrate(g.data.y, g.data.p, cluster=g.data.cluster),
    "recalibrate_segments": lambda g: pr.recalibrate_segments(
        pr.cases(g.data.y, g.data.p, cluster=g.data.cluster, by={"group": g.data.group})
    ),
    "recalibrate with folds of its own": lambda g: pr.recalibrate(g.data.y, g.data.p, folds=g(np.arange(N) % 5)),
    "recalibrate with identifiers": lambda g: pr.recalibrate(g.data.y, g.data.p, id=g(np.arange(N))),
    "audit": lambda g: pr.audit(pr.PenalizedLog(), classes=3, truth=g([0.25, 0.25, 0.5]), seed=7),
    "Moments.where": lambda g: pr.condense(g.data.y, g.data.p).moments(pr.Brier()).where(g(np.array([True, False]))),
    "censored with competing events": lambda g: pr.censored(
        g(FOLLOW_UP),
        g.data.y,
        horizons=20.0,
        competing=g((cases(N).y == 0) & (np.arange(N) % 5 == 0)),
        entry=g(np.zeros(N)),
        weights=lambda time: g(np.full(len(time), 0.5)),
    ),
    "recalibrate classes": lambda g: pr.recalibrate(g.data.grade, g.data.rows),
    "skill_score": lambda g: pr.skill_score(g.data.y, g.data.p, reference=g.data.q, rule=pr.Brier()),
    "Recalibration.map": lambda g: pr.recalibrate(g.data.y, g.data.p).map(g.data.q),
    "before_labels": lambda g: pr.before_labels(g.data.q, measures=[pr.Brier()]),
    "late_labels": lambda g: pr.late_labels(g.data.p, made=g(np.arange(N) % 20), reported=g(np.arange(N) % 20 + 4.0)),
    "plan": lambda g: pr.plan(g.data.models, n_resamples=20, seed=7),
    "compare with outcomes by model": lambda g: pr.compare(
        {"p": g.data.y, "q": g.data.y},
        g.data.models,
        pr.measures.AreaUnderRiskCoverage(),
        cluster=g.data.cluster,
        n_resamples=20,
        seed=7,
    ),
    "monitor": lambda g: pr.monitor(g.data.y, {"p": g.data.p, "q": g.data.q}),
    "worst_cases": lambda g: pr.worst_cases(g.data.y, g.data.p),
    "evaluate classes": lambda g: pr.evaluate(g.data.grade, {"rows": g.data.rows}, cluster=g.data.cluster, seed=7),
}


# Which may be cut out.
OF_PRODUCTS = ("recalibrate_segments", "before_labels", "late_labels", "plan", "monitor")


def _call(name: str) -> Callable[[Given], Any]:
    return lambda g: CALLS[name](g.data)


RETURNED = {name: _call(name) for name in CALLS if name not in OF_NO_CASES or name == "plan"}
RETURNED |= {
    f"{name}, with options": call for name, call in OPTIONS.items() if hasattr(pr, name) or name not in OF_PRODUCTS
}


def asked(answer: Any) -> str:
    """Return all that an object says, also what it computes only when it is asked; pages have a test of their own."""
    if isinstance(answer, pr.Ledger):
        groups = [answer.where(group=label) for label in answer.keys.get("group", ())]
        return "\n".join([exact(answer), *map(_estimates, (answer, *groups))])
    if isinstance(answer, pr.results.CensoredOutcomes):
        by_horizon = [answer.at(horizon) for horizon in answer.horizon.tolist()]
        share = np.arange(answer.n) / answer.n
        scores = [pr.estimate(outcomes, share, pr.measures.AreaUnderRoc()).to_dict() for outcomes in by_horizon]
        return "\n".join([exact(answer), str(scores), str(answer.dependence(share))])
    if isinstance(answer, pr.results.Cases):
        scores = [pr.case_scores(answer.of(model), rule=pr.Brier()) for model in answer.models]
        return "\n".join([exact(scores), *(str(key.column().tolist()) for key in (*answer.keys.values(), answer.id))])
    texts = [exact(answer), str(answer)]
    if isinstance(answer, pr.results.Evaluation):
        return "\n".join([*texts, *answer.card.sentences])
    if isinstance(answer, pr.results.BeforeLabels):
        texts.append(str(answer.reconcile(np.arange(N) % 2)))
    if isinstance(answer, pr.results.Recalibration):
        texts.append(str(answer.map.to_dict()))
    return "\n".join([*texts, *([answer._repr_html_()] if hasattr(answer, "_repr_html_") else [])])


def _estimates(ledger: pr.Ledger) -> str:
    measures = [pr.Tsallis(1.5), pr.measures.AreaUnderRoc()] if ledger.kind == "binary" else [pr.Tsallis(1.5)]
    return str([pr.estimate(ledger, model, measure).to_dict() for measure in measures for model in ledger.models])


EVERY = [(name, False) for name in CONTAINERS] + [("NumPy", True), ("pandas", True)]


@pytest.mark.parametrize(("name", "weighted"), EVERY, ids=[f"{name}{', weighted' * w}" for name, w in EVERY])
def test_changing_the_data_later_changes_no_answer(name, weighted):
    """Nor does an answer share memory with the data, in case no question that is asked here would show it."""
    for called, call in RETURNED.items():
        given, same = (Given(CONTAINERS[name], weighted=weighted) for _ in range(2))
        answer, expected = call(given), asked(call(same))
        assert [path for path, values in arrays_within(answer) if given.shares(values)] == [], called
        given.overwrite()
        assert asked(answer) == expected, called


@pytest.mark.parametrize("called", ["evaluate", "evaluate of grades"])
def test_pages_are_those_of_the_data_as_they_were(called):
    given, same = (Given(CONTAINERS["NumPy"], weighted=False) for _ in range(2))
    answer, expected = RETURNED[called](given), RETURNED[called](same)
    given.overwrite()
    assert answer.to_html() == expected.to_html()
    assert str(answer.to_dict()) == str(expected.to_dict())


def test_the_detector_of_shared_memory_finds_what_is_held():
    """By objects, their slots, functions and what they were made with; otherwise the tests above could not fail."""

    @dataclass(frozen=True, slots=True)
    class Held:
        values: Any

    array = np.arange(3.0)
    for holder in (
        array[1:],
        [array],
        {"a": (array,)},
        Held(array),
        functools.partial(len, array),
        lambda: array,
        Held(array).__eq__,
        pd.Series(array, copy=False),
    ):
        assert any(np.may_share_memory(values, array) for _, values in arrays_within(Held(holder)))


def test_a_ledger_owns_its_cases():
    """The area was that of the new forecasts, .149 instead of .851, and the Brier score that of the old ones."""
    generator = np.random.default_rng(0)
    forecast = generator.random(400)
    y = (generator.random(400) < forecast).astype(int)
    ledger = pr.condense(y, forecast)
    expected = pr.roc_curve(y, forecast).auc
    forecast[:] = 1 - forecast
    assert pr.estimate(ledger, measure=pr.measures.AreaUnderRoc()).value == pytest.approx(expected)
    buffer, ledgers, areas = np.empty(400), [], []
    for seed in range(3):
        buffer[:] = np.random.default_rng(seed).random(400)
        ledgers.append(pr.condense(y, buffer))
        areas.append(pr.roc_curve(y, buffer).auc)
    found = [pr.estimate(ledger, measure=pr.measures.AreaUnderRoc()).value for ledger in ledgers]
    assert found == pytest.approx(areas)
    assert len(set(areas)) == 3


@pytest.mark.parametrize("forecasts", [["p"], {"rows": ["no", "yes"]}], ids=["one column", "two columns"])
def test_a_ledger_of_a_frame_owns_its_cases(forecasts):
    d = cases(N)
    columns = {"y": d.y, "p": d.p, "no": 1 - d.p, "yes": d.p}
    options = {"outcome": "y", "labels": [0, 1]}
    frames = [pd.DataFrame(columns), pl.DataFrame(columns), pl.DataFrame(columns).lazy()]
    measure = pr.measures.AreaUnderRoc()
    expected = pr.estimate(pr.condense(d.y, d.p), measure=measure).value
    ledgers = [pr.condense(frame, forecasts, **options) for frame in frames]
    evaluation = pr.evaluate(frames[0], forecasts, seed=7, n_resamples=20, **options)
    said = asked(pr.evaluate(frames[0].copy(), forecasts, seed=7, n_resamples=20, **options))
    frames[0].loc[frames[0].y == 1, ["p", "no", "yes"]] = 0.01
    for row in range(N):
        frames[1][row, "p"] = 0.5
    assert [pr.estimate(ledger, measure=measure).value for ledger in ledgers] == pytest.approx([expected] * 3)
    assert asked(evaluation) == said


def arrays_within(value: Any, path: str = "", seen: set[int] | None = None) -> Iterator[tuple[str, np.ndarray]]:
    """Yield every array that an object holds, directly or in what it holds, with the path to it."""
    seen = set() if seen is None else seen
    if id(value) in seen or isinstance(value, str | bytes | int | float | type | ModuleType):
        return
    seen.add(id(value))
    if isinstance(value, np.ndarray):
        yield path, value
    elif isinstance(value, pd.Series | pd.DataFrame | pd.Index):
        yield path, value.to_numpy()
    else:
        for name, entry in _held(value):
            yield from arrays_within(entry, f"{path}.{name}", seen)


def _held(value: Any) -> list[tuple[str, Any]]:
    if isinstance(value, Mapping):
        return [(str(key), entry) for key, entry in value.items()]
    if isinstance(value, list | tuple | set | frozenset):
        return [(str(place), entry) for place, entry in enumerate(value)]
    if isinstance(value, functools.partial):
        return [("func", value.func), ("args", value.args), ("keywords", value.keywords)]
    if isinstance(value, MethodType):
        return [("self", value.__self__), ("function", value.__func__)]
    if isinstance(value, FunctionType):
        return [(name, cell) for name, cell in inspect.getclosurevars(value).nonlocals.items()]
    slots = [name for kind in type(value).__mro__ for name in getattr(kind, "__slots__", ())]
    names = [name for name in slots if not name.startswith("__") and hasattr(value, name)]
    return [*getattr(value, "__dict__", {}).items(), *((name, getattr(value, name)) for name in names)]


# The parameters of public functions that take arrays; each is handed over by a call above.
HANDED_OVER = {
    *("y_true", "y_proba", "y_pred", "forecasts", "reference", "unlabelled", "confidence"),
    *("sample_weight", "counts", "by", "cluster", "period", "id", "made", "reported"),
    *("time", "event", "competing", "entry", "groups", "forecast", "weights"),
    *("grid", "weight", "cost", "metric", "removed", "bins", "exponents", "k", "truth", "entries", "kept"),
}


def test_every_parameter_that_takes_arrays_is_handed_over():
    """A parameter with a new name needs a call above."""
    found = set()
    for path in (path for path, source in public_names().items() if source != "propriety.plots"):
        thing = attrgetter(path)(pr)
        methods = thing.__dict__ if inspect.isclass(thing) else {}
        callables = [thing, *(method for name, method in methods.items() if not name.startswith("_"))]
        for function in filter(inspect.isfunction, callables):
            for name, parameter in inspect.signature(function).parameters.items():
                if re.search(r"ArrayLike|NDArray\[Any\]|Cost|Metric", str(parameter.annotation)):
                    found.add(name)
    assert found == HANDED_OVER
