"""An evaluation with every analysis and its report reads, checks, sorts and pools each thing once."""

import sys
from collections import Counter

import numpy as np
import polars as pl
import pytest

import propriety as pr
import propriety.report.evaluation
from propriety.calibration.blocks import Blocks
from propriety.tables import arrays, pooling
from propriety.tables import cases as table_cases

assert propriety.report.evaluation  # All modules whose functions are counted are here now.

N = 2000
RNG = np.random.default_rng(31)
TRUTH = np.round(RNG.beta(1, 3, N), 4).clip(0.001, 0.999)  # With ties, so that tables have fewer rows than cases.
Y = (RNG.random(N) < TRUTH).astype(int)
MODELS = {"honest": TRUTH, "noisy": np.round(np.clip(TRUTH + RNG.normal(0.0, 0.1, N), 0.001, 0.999), 4)}
SITE = RNG.choice(["north", "south", "west"], N)
WEIGHT, WARD = RNG.gamma(2.0, 1.0, N), RNG.integers(0, 60, N)
K = 3
ROWS = {"sharp": np.round(RNG.dirichlet([1, 2, 1], N), 4), "flat": np.round(RNG.dirichlet([2, 2, 2], N), 2)}
for rows in ROWS.values():
    rows[:, -1] = np.maximum(1.0 - rows[:, :-1].sum(axis=1), 0.0)
GRADE = np.array([RNG.choice(K, p=row / row.sum()) for row in ROWS["sharp"]])
DRAWS = {"seed": 1, "n_resamples": 40}
SHARED = {
    "plain": {},
    "groups": {"by": {"site": SITE}, "thresholds": (0.05, 0.2)},
    "weights": {"by": {"site": SITE}, "sample_weight": WEIGHT, "thresholds": 0.2},
    "clusters": {"by": {"site": SITE}, "cluster": WARD, "sample_weight": WEIGHT},
}


class Counts:
    """How often things were done, while the functions of the package that do them are watched."""

    def __init__(self, monkeypatch):
        self.read, self.judged, self.checked = Counter(), Counter(), Counter()
        self.sorted, self.pooled = Counter(), Counter()
        self._monkeypatch = monkeypatch
        self._watch(arrays.read_array, self._reading)
        self._watch(table_cases.checked_forecast, self._judging)
        self._watch(pooling.pool_counts, self._sorting)
        self._watch(pooling.pool, self._sorting)
        for part in ("_outcome", "_weight"):
            self._checking(part)
        own = Blocks.of.__func__

        def pooled(cls, events, non_events):
            self.pooled[events.tobytes()] += 1
            return own(cls, events, non_events)

        monkeypatch.setattr(Blocks, "of", classmethod(pooled))

    def _watch(self, function, noted):
        def watched(*arguments, **options):
            result = function(*arguments, **options)
            noted(arguments, options, result)
            return result

        for module in [one for name, one in sys.modules.items() if name.startswith("propriety.")]:
            for name in [name for name, value in vars(module).items() if value is function]:
                self._monkeypatch.setattr(module, name, watched)

    def _reading(self, arguments, options, result):
        # What was read already is handed on; exponents of means are no column.
        if arguments[0] is not result and arguments[1] != "exponents":
            self.read[arguments[1]] += 1

    def _judging(self, arguments, options, result):
        self.judged[options["argument"]] += result.shape[-1]

    def _sorting(self, arguments, options, result):
        # Cases come in chunks, or all at once; those of a group are fewer, and rows of a table are in order already.
        several = arguments[1] if not hasattr(arguments[0], "__len__") else len(arguments[0])
        self.sorted["cases"] += several == N

    def _checking(self, part):
        own = getattr(table_cases.Cases, part)

        def checked(cases, *part_of, check=False):
            found = own(cases, *part_of, check=check)
            self.checked[part] += len(found) if check and found is not None else 0
            return found

        self._monkeypatch.setattr(table_cases.Cases, part, checked)


@pytest.fixture
def counts(monkeypatch):
    return Counts(monkeypatch)


def everything(result):
    """Make every analysis, and the report."""
    for name in (
        "scores",
        "comparison",
        "slices",
        "group_calibration",
        "group_skill",
        "ranking",
        "decision_curves",
        "regret_curves",
        "murphy_curves",
    ):
        getattr(result, name)
    for name in ("roc_curves", "reliability", "decompositions", "probability_means", "miscalibrated"):
        getattr(result, name)
    str(result)
    return result.to_html()


@pytest.mark.slow
@pytest.mark.parametrize("case", SHARED)
def test_every_column_of_an_event_is_read_checked_sorted_and_pooled_once(counts, case, monkeypatch):
    if "sample_weight" in SHARED[case]:
        # Without a gain of recalibration, for which weighted cases are split into folds one by one, not by their table.
        monkeypatch.setattr("propriety.evaluation.made_when_asked.FEWEST", N + 1)
    result = pr.evaluate(Y, MODELS, **SHARED[case], **DRAWS)
    everything(result)
    columns = {"by": "by['site']", "cluster": "cluster", "sample_weight": "sample_weight"}
    shared = {columns[name]: 1 for name in SHARED[case] if name in columns}
    assert counts.read == {"y_true": 1, "y_proba": len(MODELS), **shared}
    assert counts.judged == {f"forecasts[{model!r}]": N for model in MODELS}
    assert counts.checked["_outcome"] == N
    assert counts.checked["_weight"] == (N if "sample_weight" in SHARED[case] else 0)
    assert counts.sorted.total() == len(MODELS)
    assert set(counts.pooled.values()) == {1}
    assert len(counts.pooled) == len(MODELS)


@pytest.mark.slow
@pytest.mark.parametrize("ordered", [False, True], ids=["classes", "grades"])
def test_every_column_of_classes_is_read_checked_sorted_and_pooled_once(counts, ordered):
    result = pr.evaluate(GRADE, ROWS, ordered=ordered, by={"site": SITE}, **DRAWS)
    everything(result)
    assert counts.read == {"y_true": 1, "y_proba": len(ROWS), "by['site']": 1}
    assert counts.judged == {f"forecasts[{model!r}]": N for model in ROWS}
    assert counts.checked["_outcome"] == N
    tables = K + (K - 1 if ordered else 1)  # Of the classes, and of the cut points or the most likely class.
    assert counts.sorted.total() == len(ROWS) * tables
    twice = [count for count in counts.pooled.values() if count > 1]
    assert twice == [2] * (len(ROWS) if ordered else 0)  # To be at most the first grade is to be of it.
    assert counts.pooled.total() == len(ROWS) * tables


@pytest.mark.slow
@pytest.mark.parametrize("models", [["honest"], list(MODELS)], ids=["one", "two"])
def test_a_lazy_frame_is_asked_as_often_for_one_model_as_for_several(monkeypatch, models):
    from propriety.tables import lazy_reading

    asked = []
    for module in [one for name, one in sys.modules.items() if name.startswith("propriety.")]:
        for name in [name for name, value in vars(module).items() if value is lazy_reading.fetched]:
            own = lazy_reading.fetched
            monkeypatch.setattr(module, name, lambda query, own=own: (asked.append(query), own(query))[1])
    frame = pl.DataFrame({"y": Y, **MODELS, "site": SITE})
    result = pr.evaluate(frame.lazy(), models, outcome="y", by="site", thresholds=(0.05, 0.2), **DRAWS)
    everything(result)
    # Sizes of the groups, tables, moments; then the number of rows and the cases, for the map of winners.
    assert len(asked) <= (3 if len(models) == 1 else 5)


@pytest.mark.slow
def test_a_second_look_computes_nothing(counts):
    result = pr.evaluate(Y, MODELS, **SHARED["groups"], **DRAWS)
    page = everything(result)
    before = [Counter(one) for one in (counts.read, counts.judged, counts.sorted, counts.pooled)]
    assert result.to_html() == page
    assert [counts.read, counts.judged, counts.sorted, counts.pooled] == before
