"""What measures declare about themselves is true, and `check` finds it if it is not."""

import json
import math
import pickle
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from sliced import slices

import propriety as pr
from propriety.inference.finding_words import caveats
from propriety.inference.measures.keys import MEASURES, WITH_NUMBERS, measure_of
from propriety.inference.measures.measure import Influence, Measure
from propriety.rules.functions import Excess
from propriety.tables.forecast_table import ForecastTable

CATALOGUE = [*MEASURES.values(), *map(measure_of, WITH_NUMBERS), pr.measures.TopKNetBenefit(thresholds=0.2, share=0.1)]


def kinds(of: type = Measure) -> Iterator[type]:
    """Yield the public classes of measures of the package."""
    for kind in of.__subclasses__():
        if kind.__module__.startswith("propriety.") and not kind.__name__.startswith("_"):
            yield kind
        yield from kinds(kind)


def name(measure: Measure) -> str:
    return measure.key


def test_the_catalogue_has_every_kind_and_no_name_twice():
    assert {type(measure) for measure in CATALOGUE} == set(kinds()) - {pr.measures.OfMeans}
    assert len({measure.key for measure in CATALOGUE}) == len({measure.label for measure in CATALOGUE})
    assert len({measure.key for measure in CATALOGUE}) == len(CATALOGUE)


@pytest.mark.parametrize("measure", CATALOGUE, ids=name)
def test_a_measure_is_what_it_declares(measure):
    pr.measures.check(measure)


@pytest.mark.parametrize("measure", CATALOGUE, ids=name)
def test_a_measure_survives_pickling_and_has_a_call_that_makes_it(measure):
    assert pickle.loads(pickle.dumps(measure)) == measure
    known = {one: getattr(room, one) for room in (pr, pr.rules, pr.measures) for one in dir(room)}
    assert eval(repr(measure), known) == measure  # noqa: S307  (our own)


@pytest.mark.parametrize("measure", CATALOGUE[:-1], ids=name)
def test_a_short_name_stands_for_its_measure(measure):
    assert measure_of(measure.key) == measure


def test_every_door_takes_short_names():
    generator = np.random.default_rng(5)
    p = generator.beta(1.0, 2.0, 300)
    y, q, group = generator.random(300) < p, np.clip(p + 0.05, 0.0, 1.0), np.tile(["a", "b"], 150)
    assert pr.estimate(y, p, "auc").value == pr.estimate(y, p, pr.measures.AreaUnderRoc()).value
    assert pr.compare(y, {"p": p, "q": q}, "net_benefit_at_0.2")[0].measure == pr.measures.NetBenefit(0.2)
    assert slices(y, p, "brier", by=group).measure == pr.measures.MeanScore()
    result = pr.evaluate(y, p, measures=["accuracy", "regret_from_0.1_to_0.3"], n_resamples=40, seed=1)
    assert json.loads(result.to_json())["accuracy"] == pytest.approx(np.mean(y == (p >= 0.5)))


def test_a_name_that_is_unknown_is_refused_with_the_nearest():
    with pytest.raises(pr.errors.InputValueError, match="did you mean 'auc'"):
        pr.estimate([0, 1], [0.2, 0.7], "aucc")
    with pytest.raises(pr.errors.InputValueError, match="the names are brier, log, "):
        pr.estimate([0, 1], [0.2, 0.7], "?????")
    with pytest.raises(pr.errors.InputValueError, match="must lie strictly between 0 and 1"):
        pr.estimate([0, 1], [0.2, 0.7], "standardized_net_benefit_at_1.5")


def test_accuracy_is_of_the_most_likely_class():
    rows = np.array([[0.5, 0.3, 0.2], [0.1, 0.2, 0.7], [0.2, 0.6, 0.2], [0.4, 0.3, 0.3]] * 10)
    found = pr.estimate([0, 2, 0, 1] * 10, rows, "accuracy")
    assert found.value == 0.5
    assert found.error == pytest.approx(0.5 / math.sqrt(39))


def test_the_binned_error_has_no_interval_and_names_what_has_one():
    generator = np.random.default_rng(5)
    p = generator.random(400)
    y = generator.random(400) < p
    found = pr.estimate(y, p, "ece")
    assert found.value == pytest.approx(pr.expected_calibration_error(y, p).value)
    assert math.isnan(found.low)
    assert "miscalibration" in caveats(found)
    assert found.note("needs-cases") is None, "cases would not help"
    assert "miscalibration" not in pr.compare(y, {"p": p, "q": p**2}, "ece").differences.verdict.tolist()


TJUR = pr.measures.OfMeans(
    key="tjur_r2",
    label="Tjur's R2",
    higher_is_better=True,
    range=(-1.0, 1.0),
    rule=Excess(),
    of=lambda rate, event, other: (1.0 - event) + other,
)


def test_a_measure_of_a_few_lines_has_limits_a_test_and_groups():
    pr.measures.check(TJUR)
    generator = np.random.default_rng(8)
    p = generator.beta(1.0, 2.0, 900)
    y, q, group = (generator.random(900) < p).astype(int), 0.5 * p + 0.2, np.tile(["a", "b", "c"], 300)
    found = pr.estimate(y, p, TJUR)
    assert found.value == pytest.approx(p[y == 1].mean() - p[y == 0].mean())
    drawn = pr.estimate(y, p, TJUR, method="bootstrap", n_resamples=2000, seed=1)
    assert found.error == pytest.approx(drawn.error, rel=0.05)
    pair = pr.compare(y, {"p": p, "q": q}, TJUR)
    assert pair.differences.verdict.tolist() == ["good"]
    assert slices(y, p, TJUR, by=group).p_value.shape == (3,)
    result = pr.evaluate(y, {"p": p, "q": q}, measures=[TJUR], n_resamples=40, seed=1)
    assert result.to_dict()["p/tjur_r2"] == found.value


class _Tjur(Measure):
    """A measure with an influence of its own, in which faults are planted."""

    key = "planted"
    higher_is_better: bool | None = True
    range = (-1.0, 1.0)

    def value(self, table: ForecastTable) -> float:
        with_event, without = (w @ table.forecast / w.sum() for w in (table.events, table.non_events))
        return float(with_event - without)

    def influence(self, table: ForecastTable) -> Influence:
        (yes, no), p = (table.events, table.non_events), table.forecast
        return Influence(
            (p - yes @ p / yes.sum()) * table.weight / yes.sum(), -(p - no @ p / no.sum()) * table.weight / no.sum()
        )


class WithoutShares(_Tjur):
    """Its contributions are not divided by the shares of the outcomes."""

    def influence(self, table):
        (yes, no), p = (table.events, table.non_events), table.forecast
        return Influence(p - yes @ p / yes.sum(), -(p - no @ p / no.sum()))


class WrongSign(_Tjur):
    def influence(self, table):
        event, other = super().influence(table)
        return Influence(event, -other)


class NotCentred(_Tjur):
    def influence(self, table):
        event, other = super().influence(table)
        return Influence(event + 0.1, other + 0.1)


class Swapped(_Tjur):
    def influence(self, table):
        return Influence(*super().influence(table)[::-1])


class TwiceTooLarge(_Tjur):
    def influence(self, table):
        return Influence(*(2.0 * part for part in super().influence(table)))


class OtherRange(_Tjur):
    range = (0.5, 1.0)


class OtherScale(_Tjur):
    scale = "logit"
    range = (0.0, 1.0)

    def value(self, table):
        return super().value(table) - 0.5


class OtherDirection(_Tjur):
    higher_is_better = False


class OtherIdeal(pr.measures.ObservedExpected):
    ideal = 2.0


class OfUnits(_Tjur):
    """It depends on the unit of the weights."""

    def value(self, table):
        return float(min(table.weight / 1000.0, 1.0))


class OfOrder(Measure):
    """It depends on what was computed before."""

    key = "order"
    asked = 0.0

    def value(self, table):
        type(self).asked += 1.0
        return self.asked


FAULTS: list[tuple[type[Measure], str]] = [
    (WithoutShares, "influence that is its derivative"),
    (WrongSign, "influence that is its derivative"),
    (NotCentred, "influence whose mean is zero"),
    (Swapped, "influence whose mean is zero"),
    (TwiceTooLarge, "influence that is its derivative"),
    (OtherRange, "must lie in its range"),
    (OtherScale, "must lie in its range"),
    (OtherDirection, "must be lower for forecasts that know the outcomes"),
    (OtherIdeal, "must be 2, its ideal"),
    (OfUnits, "the same value with twice the weight"),
    (OfOrder, "the same value with twice the weight"),
]


def test_the_measure_without_a_planted_fault_passes():
    pr.measures.check(_Tjur())


@pytest.mark.parametrize(("kind", "told"), FAULTS, ids=lambda one: getattr(one, "__name__", ""))
def test_a_planted_fault_is_found(kind, told):
    with pytest.raises(pr.errors.InputValueError, match=told):
        pr.measures.check(kind())


@pytest.mark.parametrize(
    ("declared", "told"),
    [
        ({"scale": "logit", "range": (0.0, 2.0)}, "the numbers on the logit scale"),
        ({"scale": "log", "range": (-1.0, 2.0)}, "the numbers on the log scale"),
        ({"ideal": 3.0, "range": (0.0, 1.0)}, "must lie in its range"),
    ],
)
def test_declarations_that_contradict_each_other_are_refused_when_the_class_is_made(declared, told):
    with pytest.raises(pr.errors.InputValueError, match=told):
        type("Own", (Measure,), {"key": "own", **declared})
    with pytest.raises(pr.errors.InputValueError, match=told):
        replace(TJUR, **declared)


def test_what_only_looks_like_a_measure_is_refused_with_what_to_do():
    @dataclass(frozen=True)
    class Looks:
        key: str = "looks"

        def value(self, table: Any) -> float:
            return 0.5

    with pytest.raises(pr.errors.InputTypeError, match=r"derive its class from propriety\.measures\.Measure"):
        pr.estimate([0, 1], [0.2, 0.7], Looks())
