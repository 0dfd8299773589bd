"""Every analysis of calibration takes predictions in the same way: weights, names of outcomes, missing values, a table."""

import numpy as np
import pytest

import propriety as pr
from propriety.errors import InputValueError, MissingValuesError
from propriety.tables.forecast_table import ForecastTable

Y = np.array([0, 1, 0, 1, 1, 0, 0, 1])
P = np.array([0.1, 0.7, 0.4, 0.3, 0.9, 0.6, 0.2, 0.6])
WEIGHT = np.array([1.0, 2.0, 0.5, 1.0, 3.0, 1.5, 1.0, 2.0])
LEVELS = np.array([0, 1, 2, 2, 1])
ROWS = np.array([[0.7, 0.2, 0.1], [0.3, 0.4, 0.3], [0.1, 0.3, 0.6], [0.3, 0.5, 0.2], [0.25, 0.25, 0.5]])

ANALYSES = {
    "decompose": pr.decompose,
    "classical_decomposition": pr.classical_decomposition,
    "reliability_curve": pr.reliability_curve,
}


@pytest.fixture(params=ANALYSES.values(), ids=ANALYSES)
def analysis(request):
    """Return an analysis of one forecast."""
    return request.param


def same(one, other, **but):
    """Tell whether two results agree in everything, but for what is named."""
    np.testing.assert_equal(one.to_dict(), other.to_dict() | but)


def test_the_names_of_the_outcomes_do_not_matter(analysis):
    named = np.where(Y, "bad", "good")
    same(analysis(named, P, pos_label="bad"), analysis(Y, P))
    same(analysis(named, P, labels=["good", "bad"]), analysis(Y, P))


@pytest.mark.parametrize("name", sorted(ANALYSES))
def test_weights_count(name):
    analysis = ANALYSES[name]
    table = ForecastTable.from_predictions(Y, P, sample_weight=WEIGHT)
    same(analysis(Y, P, sample_weight=WEIGHT), analysis(table))
    assert analysis(Y, P, sample_weight=WEIGHT).to_dict() != analysis(Y, P).to_dict()


def test_missing_values_are_refused_or_dropped_and_counted(analysis):
    y, p = np.append(Y, 1), np.append(P, np.nan)
    with pytest.raises(MissingValuesError):
        analysis(y, p)
    dropped, sound = analysis(pr.cases(y, p, missing="drop")), analysis(Y, P)
    assert (dropped.n, dropped.dropped, sound.dropped) == (8, 1, 0)
    inside = {name: value for name, value in dropped.to_dict().items() if name == "decomposition"}
    same(dropped, sound, dropped=1, **inside)


@pytest.mark.parametrize("rule", [pr.Brier(), pr.RankedProbability()], ids=repr)
def test_rows_of_classes_are_read_as_mean_score_reads_them(rule):
    names, weight = np.array(["low", "middle", "high"]), np.array([1.0, 2.0, 0.5, 1.0, 3.0])
    sound = pr.decompose(LEVELS, ROWS, rule=rule)
    assert sound.score == pytest.approx(pr.mean_score(LEVELS, ROWS, rule=rule), rel=1e-12)
    weighted = pr.decompose(LEVELS, ROWS, rule=rule, sample_weight=weight)
    assert weighted.score == pytest.approx(pr.mean_score(LEVELS, ROWS, rule=rule, sample_weight=weight), rel=1e-12)
    assert pr.decompose(names[LEVELS], ROWS, rule=rule, labels=names).score == sound.score
    rows = np.vstack([ROWS, [np.nan, 0.5, 0.5]])
    with pytest.raises(MissingValuesError):
        pr.decompose(np.append(LEVELS, 1), rows, rule=rule)
    dropped = pr.decompose(pr.cases(np.append(LEVELS, 1), rows, missing="drop"), rule=rule)
    assert (dropped.score, dropped.n, dropped.dropped) == (sound.score, 5, 1)
    with pytest.raises(InputValueError, match="sum to 1"):
        pr.decompose(LEVELS, ROWS * 1.004, rule=rule)


def test_parts_of_rows_are_the_sum_or_the_mean_of_those_of_the_events():
    parts = ("score", "miscalibration", "discrimination", "uncertainty")
    for rule, share in ((pr.Brier(), 1.0), (pr.Brier(scale="half"), 0.5), (pr.RankedProbability(), 0.5)):
        whole = pr.decompose(LEVELS, ROWS, rule=rule)
        for name in parts:
            each = [getattr(part, name) for part in whole.parts.values()]
            assert getattr(whole, name) == pytest.approx(share * sum(each), rel=1e-14)
        assert whole.rule == rule


def test_what_the_analyses_do_by_default(capsys):
    same(pr.classical_decomposition(Y, P), pr.classical_decomposition(Y, P, bins=10, strategy="uniform"))
    same(pr.reliability_curve(Y, P, method="bins"), pr.reliability_curve(Y, P, method="bins", bins=10))
    same(pr.reliability_curve(Y, P), pr.reliability_curve(Y, P, method="corp"))
    assert capsys.readouterr() == ("", "")


def test_the_views_of_a_decomposition():
    plain = pr.decompose(Y, P)
    assert list(plain.columns()) == ["score", "miscalibration", "discrimination", "uncertainty", "rule", "n", "dropped"]
    rows = pr.decompose(LEVELS, ROWS).to_frame(backend="polars")
    assert rows["event"].to_list() == ["0", "1", "2", "total"]
    assert ", parts=[0, 1, 2]" in repr(pr.decompose(LEVELS, ROWS))
    curve = pr.decompose(Y, P, grid=[0.2, 0.5])
    assert ", rows=2" in repr(curve)
    assert curve.to_frame(backend="polars").columns[0] == "threshold"
    gone = pr.decompose(pr.cases(np.append(Y, 1), np.append(P, np.nan), missing="drop"))
    assert ", dropped=1" in repr(gone)
