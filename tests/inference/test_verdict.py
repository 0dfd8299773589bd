"""The verdict: one function in one order, which agrees with the limits and never rewards a larger error."""

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtr

import propriety as pr
from propriety.errors import InputValueError
from propriety.inference.calibration_findings import CALIBRATION
from propriety.inference.finding import Finding
from propriety.inference.notes import Note
from propriety.inference.verdict import gate, is_enough, p_of_limits, verdict, with_verdict

RATIO, SLOPE = pr.measures.ObservedExpected(), pr.measures.CalibrationSlope()
COST, BRIER, AREA = pr.measures.Miscalibration(), pr.measures.MeanScore(), pr.measures.AreaUnderRoc()
# From what is asked for to what fails; a verdict never moves up as an error grows, once it is bad.
ORDER = {"holds": 0, "cannot be told": 1, "fails": 2}


def ratio(low, high, *, enough=True, **facts):
    value = math.sqrt(low * high)
    return with_verdict(Finding(measure=RATIO, model="m", value=value, low=low, high=high, enough=enough, **facts))


def calibration(p, *parts, enough=True, notes=(), **facts):
    row = Finding(measure=CALIBRATION, model="m", p=p, enough=enough, notes=notes, **facts)
    return with_verdict(row, parts)


@pytest.mark.parametrize(
    ("low", "high", "enough", "expected", "gates"),
    [
        (0.97, 1.04, True, "good", "holds"),
        (1.01, 1.04, True, "good", "holds"),
        (1.01, 1.2, True, "small", "holds"),
        (0.85, 0.99, True, "small", "holds"),
        (1.01, 1.3, True, "bad", "fails"),
        (1.06, 1.2, True, "bad", "fails"),
        (0.9, 1.2, True, "no error found", "holds"),
        (0.7, 1.2, True, "no error found", "cannot be told"),
        (0.7, 1.2, False, "too few", "cannot be told"),
        (0.9, 1.2, False, "too few", "cannot be told"),
    ],
)
def test_an_ideal_value_is_judged_by_its_limits_and_the_outcomes(low, high, enough, expected, gates):
    found = ratio(low, high, enough=enough)
    assert found.verdict == expected
    assert gate(found) == gates
    assert gate(found, strict=True) == ("fails" if expected == "small" else gates)


def test_the_adjusted_p_value_comes_before_the_limits():
    found = ratio(1.01, 1.3, p=0.04, p_adjusted=0.4)
    assert (found.verdict, found.note("adjusted").severity) == ("no error found", "fact")
    assert ratio(1.01, 1.3, p=0.04).verdict == "bad"
    assert ratio(0.7, 1.2, p=0.01, p_adjusted=0.04).verdict == "bad"


def test_a_measure_without_an_ideal_has_no_verdict_and_a_gate_says_so():
    for measure in (BRIER, AREA):
        found = with_verdict(Finding(measure=measure, model="m", value=0.2, low=0.1, high=0.3, enough=True))
        assert found.verdict is None
        with pytest.raises(InputValueError, match=r"has no verdict.*\n?.*compare its number"):
            gate(found)


def test_without_limits_and_p_nothing_is_tested():
    found = with_verdict(Finding(measure=RATIO, model="m", value=1.2, enough=True))
    assert (found.verdict, [note.code for note in found.notes]) == ("not tested", ["no-limits"])
    assert gate(found) == "cannot be told"
    assert calibration(math.nan).verdict == "not tested"


@pytest.mark.parametrize(
    ("measure", "value", "margin", "expected"),
    [
        (BRIER, -0.02, 0.005, "good"),
        (BRIER, 0.02, 0.005, "bad"),
        (BRIER, 0.0007, 0.0005, "small"),
        (BRIER, 0.0, 0.0005, "no error found"),
        (BRIER, 0.0, 0.002, "too few"),
        (AREA, 0.05, 0.01, "good"),
        (AREA, -0.05, 0.01, "bad"),
        (AREA, 0.006, 0.003, "small"),
    ],
)
def test_a_difference_is_judged_by_its_better_side_and_a_margin(measure, value, margin, expected):
    share = 0.25 if measure is BRIER else math.nan  # The margin of the score is 0.00125.
    row = Finding(measure=measure, model="a", against="b", value=value, low=value - margin, high=value + margin)
    assert verdict(replace(row, no_model=share)).verdict == expected


def test_a_difference_without_a_better_side():
    row = Finding(measure=RATIO, model="a", against="b", value=0.3, low=0.1, high=0.5, enough=True)
    assert verdict(row) == ("not tested", (Note("no-better-side"),))
    assert verdict(replace(row, against="rest")).verdict == "bad"
    assert verdict(replace(row, against="rest", low=-0.1)).verdict == "no error found"


def test_a_test_is_judged_by_its_parts():
    good, small, bad = ratio(0.98, 1.02), ratio(1.01, 1.2), ratio(1.1, 1.2)
    unknown = ratio(0.9, 1.2)
    wide = ratio(0.5, 1.9)
    assert calibration(0.5, good, good).verdict == "good"
    assert calibration(0.5, good, unknown).verdict == "no error found"
    assert calibration(0.5, unknown, enough=False).verdict == "too few"
    assert calibration(0.01, good, small).verdict == "small"
    assert calibration(0.01, small, bad).verdict == "bad"
    assert calibration(0.01, small, wide).verdict == "bad"  # A gross error is not excluded.
    assert calibration(0.01).verdict == "bad"
    assert calibration(0.01, good, notes=(Note("shape"),)).verdict == "bad"
    assert calibration(0.0, good, notes=(Note("refuted", {"number": 1.0}),)).verdict == "bad"
    assert calibration(0.01, good, p_adjusted=0.2).verdict == "good"
    alone = calibration(0.2, good, bad)
    assert (alone.verdict, alone.note("part-alone").parts) == ("no error found", {"measures": ("observed_expected",)})
    assert calibration(0.2, good, unknown).note("part-alone") is None
    assert gate(calibration(0.5, unknown), (unknown,)) == "holds"
    assert gate(calibration(0.5, wide), (wide,)) == "cannot be told"


def test_miscalibration_is_judged_in_shares_of_the_score_of_the_event_rate():
    row = Finding(measure=COST, model="m", value=0.0005, low=0.0, high=0.0009, no_model=0.2, enough=True)
    assert verdict(row).verdict == "good"
    assert verdict(replace(row, high=0.002)).verdict == "no error found"
    assert verdict(replace(row, low=0.0005, high=0.002)).verdict == "small"
    assert verdict(replace(row, low=0.002, high=0.003)).verdict == "bad"


values = st.floats(0.3, 3.0)


@given(first=values, second=values, error=st.floats(0.001, 0.6), enough=st.booleans())
def test_more_error_is_never_better(first, second, error, enough):
    """On the same side of the ideal value, at the same precision."""
    near, far = sorted((first, second), key=lambda one: abs(math.log(one)))
    if (near - 1.0) * (far - 1.0) < 0.0:
        return
    width = math.exp(1.96 * error)
    found = [ratio(one / width, one * width, enough=enough) for one in (near, far)]
    assert found[0].verdict != "bad" or found[1].verdict == "bad"
    assert ORDER[gate(found[0])] <= ORDER[gate(found[1])]
    p_values = [2.0 * float(ndtr(-abs(math.log(one)) / error)) for one in (near, far)]
    tests = [calibration(p, part, enough=enough) for p, part in zip(p_values, found, strict=True)]
    assert tests[0].verdict != "bad" or tests[1].verdict == "bad"
    assert ORDER[gate(tests[0], found[:1])] <= ORDER[gate(tests[1], found[1:])]


@given(value=st.floats(-0.1, 0.1), more=st.floats(0.0, 0.1), error=st.floats(1e-5, 0.05), share=st.floats(0.01, 0.25))
def test_a_larger_loss_is_never_better(value, more, error, share):
    row = Finding(measure=BRIER, model="a", against="b", no_model=share)
    found = [
        with_verdict(replace(row, value=one, low=one - 1.96 * error, high=one + 1.96 * error))
        for one in (value, value + more)
    ]
    assert found[0].verdict != "bad" or found[1].verdict == "bad"
    if value >= 0.0:
        assert ORDER[gate(found[0])] <= ORDER[gate(found[1])]


@given(value=values, low=st.floats(1.01, 2.0), high=st.floats(1.01, 2.0), enough=st.booleans())
def test_a_verdict_says_what_the_limits_say(value, low, high, enough):
    row = Finding(measure=RATIO, model="m", value=value, low=value / low, high=value * high, enough=enough)
    shown = not row.low <= 1.0 <= row.high
    assert (verdict(row).verdict in ("small", "bad")) == shown or verdict(row).verdict == "good"
    p_value = p_of_limits(row, 1.0)
    assert (p_value <= 0.05) == shown or p_value == pytest.approx(0.05)


def test_what_is_enough_depends_on_outcomes_and_clusters():
    assert is_enough("observed_expected", 48.0)
    assert not is_enough("observed_expected", 47.9)
    assert not is_enough("calibration_slope", 60.0)
    assert not is_enough("observed_expected", 500.0, units=9)
    assert not is_enough("observed_expected", 500.0, units=50, equal_units=7.0)


def test_a_note_has_a_known_code():
    with pytest.raises(InputValueError, match="must be the code of a note"):
        Note("because")
