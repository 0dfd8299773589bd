"""Murphy curves: golden parts, normalizations, and exact areas."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import trapezoid

import propriety as pr
from propriety.decisions.decision_curves import murphy_curve
from propriety.errors import InputValueError
from propriety.tables.forecast_table import ForecastTable

CLOSE = {"rtol": 1e-12, "atol": 1e-13}
NAMES = {"value": "S", "miscalibration": "MCB", "discrimination": "DSC", "uncertainty": "UNC"}

cases = st.lists(st.tuples(st.booleans(), st.floats(0.0, 1.0)), min_size=1, max_size=30).map(
    lambda rows: ForecastTable.from_predictions([y for y, _ in rows], [p for _, p in rows], labels=[False, True])
)


@pytest.mark.parametrize(("normalize", "factor"), [("regret", 1.0), ("brier", 2.0), ("expectile", 0.5)])
def test_golden_parts(golden, normalize, factor):
    given_, expected = golden("corp_curves")
    curve = murphy_curve(given_["y"], given_["s"], grid=given_["c"], normalize=normalize)
    for name, short in NAMES.items():
        np.testing.assert_allclose(getattr(curve, name), factor * np.array(expected[short]), **CLOSE)
    assert curve.area() == pytest.approx(factor * pr.brier_score(given_["y"], given_["s"]) / 2, rel=1e-12)


@given(cases, st.sampled_from([("regret", 0.5), ("brier", 1.0), ("expectile", 0.25)]))
def test_areas_under_the_parts_are_those_of_the_brier_score(table, normalize):
    name, share = normalize
    curve, whole = murphy_curve(table, normalize=name), pr.decompose(table)
    for part, area in curve.areas.items():
        np.testing.assert_allclose(area, share * getattr(whole, part), **CLOSE)
        values = curve.value if part == "score" else getattr(curve, part)
        np.testing.assert_allclose(trapezoid(values, curve.threshold), area, **CLOSE)
    assert curve.area() == pytest.approx(curve.areas["score"], rel=1e-12, abs=1e-14)


@given(cases)
def test_parts_are_not_negative_and_sum_to_the_score(table):
    curve = murphy_curve(table)
    assert min(curve.miscalibration.min(), curve.discrimination.min(), curve.uncertainty.min()) >= 0.0
    np.testing.assert_allclose(curve.miscalibration - curve.discrimination + curve.uncertainty, curve.value, atol=1e-12)


@given(cases)
def test_without_parts_the_score_is_the_same(table):
    whole, bare = murphy_curve(table), murphy_curve(table, parts=False)
    assert bare.miscalibration is None
    assert bare.area() == pytest.approx(whole.area(), rel=1e-12, abs=1e-14)
    assert bare.areas == {"score": bare.area()}
    at = [0.0, 0.3, 0.5, 1.0]
    np.testing.assert_allclose(
        murphy_curve(table, grid=at, parts=False).value, murphy_curve(table, grid=at).value, **CLOSE
    )
    np.testing.assert_allclose(trapezoid(bare.value, bare.threshold), bare.area(), **CLOSE)


def test_views_and_refusals():
    curve = murphy_curve([0, 1, 0, 1], [0.1, 0.3, 0.4, 0.8], parts=False)
    assert list(curve.to_frame().columns) == ["threshold", "value", "treat_all", "treat_none"]
    with pytest.raises(InputValueError, match="normalize must be one of"):
        murphy_curve([0, 1], [0.1, 0.3], normalize="quarter")
    with pytest.raises(InputValueError, match="grid must lie"):
        murphy_curve([0, 1], [0.1, 0.3], grid=[2.0])


def test_dropped_cases_are_told():
    curve = murphy_curve(pr.cases([0, 1, 0, 1, 1], [0.1, 0.3, 0.4, 0.8, None], missing="drop"), parts=False)
    assert repr(curve).endswith("n=4, dropped=1)")
