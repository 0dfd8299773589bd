"""How numbers, their limits, small samples and verdicts on calibration are worded: exact texts, also at the bounds."""

import math

import numpy as np
import pytest
from scipy import stats

from propriety.inference.calibration_findings import CALIBRATION
from propriety.inference.calibration_words import event_words, size_words
from propriety.inference.estimates import limits_of, note_on_few, some
from propriety.inference.finding import Finding
from propriety.inference.finding_words import note_words
from propriety.inference.measures.line import CalibrationSlope
from propriety.inference.measures.parts import Miscalibration
from propriety.inference.measures.ratios import ObservedExpected
from propriety.inference.notes import Note
from propriety.inference.recalibration_gain import RecalibrationGain
from propriety.number_words import capitalized, counted, hundredths, number, number_and_limits, p_value_words, percent

INF, NAN = math.inf, math.nan


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (INF, "infinite"),
        (-INF, "minus infinity"),
        (NAN, "nan"),
        (0.0, "0"),
        (1.0, "1.00"),
        (-0.5, "-0.500"),
        (0.001, "0.00100"),
        (0.5004, "0.500"),
        (9.996, "10.00"),
        (99.94, "99.9"),
        (100.0, "100"),
        (1000.4, "1000"),
        (0.000123, "0.000123"),
        (0.0000123, "1.23e-05"),
        (999_999_999.0, "999999999"),
        (1e9, "1.00e+09"),
        (-1e9, "-1.00e+09"),
        (-123456.0, "-123456"),
    ],
)
def test_a_number_has_three_significant_digits(value, text):
    assert number(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.1, "0.10"),
        (0.0999, "0.0999"),
        (-0.0999, "-0.0999"),
        (-0.5, "-0.50"),
        (999.99, "999.99"),
        (1000.0, "1000"),
        (-1000.0, "-1000"),
        (0.0, "0.00"),
        (9e-13, "0.00"),
        (-9e-13, "0.00"),
        (1e-12, "1.00e-12"),
        (INF, "infinite"),
        (NAN, "nan"),
    ],
)
def test_hundredths_are_for_numbers_near_one(value, text):
    assert hundredths(value) == text


def test_limits_that_would_look_the_same_have_more_decimals():
    assert number_and_limits(0.5, 0.25, 0.75, hundredths) == ("0.50", "0.25", "0.75")
    assert number_and_limits(1.0004, 1.0001, 1.0006) == ("1.0004", "1.0001", "1.0006")
    assert number_and_limits(1.0, 0.999, 1.0011, hundredths) == ("1.000", "0.999", "1.001")
    assert number_and_limits(0.5, 0.5, 0.5) == ("0.500", "0.500", "0.500")
    assert number_and_limits(0.5, NAN, NAN) == ("0.500", "nan", "nan")
    same = ("same", "same", "same")
    assert number_and_limits(0.0, 0.0, 1e-12, lambda _: "same") == same
    assert number_and_limits(0.0, 0.0, 2e-12, lambda _: "same") == (
        "0.000000000000",
        "0.000000000000",
        "0.000000000002",
    )
    assert number_and_limits(7.55, 5.25, 9.75, lambda _: "same") == ("8", "5", "10")
    assert number_and_limits(30.2, 10.2, 60.2, lambda _: "same") == ("30", "10", "60")
    assert number_and_limits(0.32, 0.11, 0.46, lambda _: "same") == ("0.3", "0.1", "0.5")


@pytest.mark.parametrize(
    ("share", "digits", "text"),
    [
        (0.0, 3, "0%"),
        (-0.25, 3, "-25%"),
        (0.12346, 2, "12%"),
        (0.12346, 4, "12.35%"),
        (0.99999, 3, "99.999%"),
        (0.999, 2, "99.9%"),
        (0.99951234, 3, "99.95%"),
        (math.nextafter(1.0, 0.0), 3, "100%"),
        (1.0, 3, "100%"),
        (1.0, 2, "100%"),
        (1.0004, 3, "100%"),
        (1.5, 1, "150%"),
        (123.4, 3, "12,340%"),
    ],
)
def test_a_percentage_below_one_never_rounds_to_100(share, digits, text):
    assert percent(share, digits) == text


def test_percentages_have_three_digits_unless_told():
    assert percent(0.12346) == "12.3%"


def test_small_p_values_are_bounded():
    assert [p_value_words(p) for p in (0.0, 0.00099, 0.001, 0.0456, 0.99)] == [
        "p < 0.001",
        "p < 0.001",
        "p = 0.001",
        "p = 0.046",
        "p = 0.99",
    ]


def test_a_capital_letter_changes_nothing_else():
    assert [capitalized(one) for one in ("", "a", "brier Score", "É")] == ["", "A", "Brier Score", "É"]


def test_nouns_are_plural_unless_there_is_one():
    assert [counted(one, "case") for one in (0, 1, 2, 1000)] == ["0 cases", "1 case", "2 cases", "1,000 cases"]


NARROW = ": the interval may be too narrow"


@pytest.mark.parametrize(
    ("numbers", "options", "text"),
    [
        (((50, 50), None), {}, ""),
        (((49, 50), None), {}, f"based on 49 events{NARROW}"),
        (((50, 49), None), {}, f"based on 50 events{NARROW}".replace("50 events", "49 non-events")),
        (((1, 0), None), {}, f"based on 1 event and 0 non-events{NARROW}"),
        (((10, 9), None), {"fewest": 10}, f"based on 9 non-events{NARROW}"),
        (((1000, 90), None), {"inflation": 2.0}, f"based on 90 non-events (worth 45 independent ones){NARROW}"),
        (((100, 90), None), {"inflation": 2.0, "fewest": 45}, ""),
        (((3, 900), None), {"inflation": 10.0}, f"based on 3 events (worth 1 independent one){NARROW}"),
        (((1, 900), None), {"inflation": 10.0}, f"based on 1 event{NARROW}"),
        (((60000, 1100), None), {"inflation": 30.0}, f"based on 1,100 non-events (worth 37 independent ones){NARROW}"),
        ((None, (30, 20.0)), {}, ""),
        ((None, (30, 19.9)), {}, f"based on 30 clusters (worth 20 of equal size){NARROW}"),
        ((None, (19, 19.0)), {}, f"based on 19 clusters{NARROW}"),
        ((None, (19, 18.6)), {}, f"based on 19 clusters{NARROW}"),
        ((None, (1, 1.0)), {}, f"based on 1 cluster{NARROW}"),
        ((None, None), {"others": 50}, ""),
        ((None, None), {"others": 49}, f"based on 49 cases outside the most frequent class{NARROW}"),
        (
            (None, (5, 5.0)),
            {"others": 1},
            f"based on 1 case outside the most frequent class and 5 clusters{NARROW}",
        ),
        (
            ((7, 8), (1200, 3.4)),
            {},
            f"based on 7 events, 8 non-events and 1,200 clusters (worth 3 of equal size){NARROW}",
        ),
        ((None, None), {"cases": (100, 19.4)}, f"based on 100 cases (worth 19 of equal weight){NARROW}"),
        ((None, None), {"cases": (100, 19.6)}, ""),
        ((None, None), {"cases": (5, 4.6)}, ""),
        ((None, None), {"cases": (5, 4.4)}, f"based on 5 cases (worth 4 of equal weight){NARROW}"),
        ((None, None), {"cases": (1, 0.4)}, f"based on 1 case (worth 0 of equal weight){NARROW}"),
        (
            ((100, 900), None),
            {"fewest": 10, "effective": (33.0, 900.0)},
            f"based on 100 events (worth 33 of equal weight){NARROW}",
        ),
        (((100, 900), None), {"fewest": 10, "effective": (70.0, 900.0)}, ""),
        (((60, 900), None), {"fewest": 10, "effective": (45.0, 900.0)}, ""),
        (
            ((100, 90), None),
            {"fewest": 10, "effective": (99.0, 20.0)},
            f"based on 90 non-events (worth 20 of equal weight){NARROW}",
        ),
        (((100, 900), None), {"fewest": 0, "effective": (33.0, 900.0)}, ""),
    ],
)
def test_small_numbers_are_named_with_what_they_are_worth(numbers, options, text):
    assert "".join(map(note_words, some(note_on_few(*numbers, **options)))) == text


def test_an_interval_is_too_narrow_unless_something_else_is():
    note = note_on_few((7, 80), None)
    assert note_words(note) == f"based on 7 events{NARROW}"
    assert note_words(note, "limits") == "based on 7 events: limits may be too narrow"
    named = Note("few", {**note.parts, "limits": "intervals", "test": True})
    assert note_words(named) == "based on 7 events: intervals may be too narrow and the test may reject too often"


def test_limits_are_students_or_normal_on_their_scale():
    t, z = stats.t.ppf(0.95, 7.0), stats.norm.ppf(0.95)
    np.testing.assert_allclose(limits_of(0.4, 0.1, 7.0, 0.9), (0.4 - 0.1 * t, 0.4 + 0.1 * t))
    np.testing.assert_allclose(limits_of(-0.4, 0.1, INF, 0.9), (-0.4 - 0.1 * z, -0.4 + 0.1 * z))
    odds, margin = math.log(0.8 / 0.2), z * 0.1 / 0.16
    expected = [1.0 / (1.0 + math.exp(-one)) for one in (odds - margin, odds + margin)]
    np.testing.assert_allclose(limits_of(0.8, 0.1, INF, 0.9, "logit"), expected)
    np.testing.assert_allclose(
        limits_of(0.8, 0.1, 7.0, 0.9, "log"), (0.8 * math.exp(-t * 0.125), 0.8 * math.exp(t * 0.125))
    )
    assert limits_of(1.0, 1e4, INF, 0.9, "log") == (0.0, INF)
    low, high = limits_of(1.0, 690.0 / z, INF, 0.9, "log")
    assert 0.0 < low < 1e-290
    assert 1e290 < high < INF


@pytest.mark.parametrize(
    ("value", "error", "scale"),
    [
        (INF, 1.0, "identity"),
        (-INF, 1.0, "identity"),
        (NAN, 1.0, "identity"),
        (0.5, NAN, "identity"),
        (0.5, NAN, "logit"),
        (0.0, 0.1, "logit"),
        (1.0, 0.1, "logit"),
        (1.2, 0.1, "logit"),
        (0.0, 0.1, "log"),
        (-1.0, 0.1, "log"),
    ],
)
def test_values_at_the_end_of_a_scale_have_no_limits(value, error, scale):
    assert all(map(math.isnan, limits_of(value, error, 9.0, 0.95, scale)))


def size(measure, value, low=NAN, high=NAN, no_model=NAN):
    return Finding(measure=measure, model="m", value=value, low=low, high=high, no_model=no_model)


def ratio(value=1.2, low=1.1, high=1.3):
    return size(ObservedExpected(), value, low, high)


def slope(value=0.8, low=0.7, high=0.9):
    return size(CalibrationSlope(), value, low, high)


def cost(value=0.01, low=0.005, high=0.02):
    return size(Miscalibration(), value, low, high, no_model=0.25)


def test_sizes_in_words_have_limits_if_these_are_known():
    assert size_words("slope", slope(0.8, 0.6, 1.04)) == "slope 0.80, 0.60 to 1.04"
    assert size_words("slope", slope(0.8, NAN, NAN)) == "slope 0.80"
    assert size_words("slope", slope(NAN)) == size_words("slope", None) == ""
    assert size_words("slope", slope(1.0, 0.9991, 1.0012)) == "slope 1.000, 0.999 to 1.001"


def told(verdict, *sizes, notes=(), gain=None):
    """Return the sentence on a test whose sizes are too low, too extreme and costly, unless others are given."""
    given = {one.measure.key: one for one in (ratio(), slope(), cost())} | {one.measure.key: one for one in sizes}
    row = Finding(measure=CALIBRATION, model="m", p=0.012, n=1000, events=300, verdict=verdict, notes=tuple(notes))
    return event_words(row, given, "m", gain)


RATIO, SLOPE = "observed/expected 1.20, 1.10 to 1.30", "slope 0.80, 0.70 to 0.90"
COST = " Perfect recalibration would lower its Brier score by 0.0100 (0.00500 to 0.0200)."
CAUTION = Note("few-decide")
CAUTIOUS = " Note: few cases determine the slope: the test may reject too often."
LEVEL, STRAIGHT = ratio(1.2, 0.9, 1.3), slope(0.8, 0.7, 1.1)  # Without an error that is shown.
UNSURE = "observed/expected 1.20, 0.90 to 1.30", "slope 0.80, 0.70 to 1.10"


def test_verdicts_without_an_error_say_what_was_found():
    where = Note("needs-cases", {"where": "the cases"})
    assert told("not tested", notes=[where]) == (
        f"m: calibration was not tested (a test needs the cases; {RATIO}; {SLOPE})."
    )
    assert told("good", notes=[CAUTION]) == (
        f"m is calibrated: errors that matter are excluded (p = 0.012; {RATIO}; {SLOPE}).{CAUTIOUS}"
    )
    assert told("no error found") == f"m: no error of calibration found (p = 0.012; {RATIO}; {SLOPE})."
    assert told("no error found", slope(NAN)) == f"m: no error of calibration found (p = 0.012; {RATIO})."
    assert told("too few", notes=[Note("scarce", {"what": "non-events"})]) == (
        f"m: too few non-events to tell whether it is calibrated (p = 0.012; {RATIO}; {SLOPE})."
    )


def refuted(number, *, weighted=False):
    return Note("refuted", {"number": number, "weighted": weighted})


@pytest.mark.parametrize(
    ("sizes", "notes", "ways"),
    [
        ((STRAIGHT,), (), f"its forecasts are too low ({RATIO})"),
        ((LEVEL,), (), f"its forecasts are too extreme ({SLOPE})"),
        ((), (), f"its forecasts are too low ({RATIO}) and too extreme ({SLOPE})"),
        (
            (LEVEL, STRAIGHT),
            (Note("shape"),),
            f"its reliability curve departs from the diagonal in shape ({'; '.join(UNSURE)})",
        ),
        (
            (STRAIGHT,),
            (Note("shape"),),
            f"its forecasts are too low ({RATIO}); its reliability curve departs from the diagonal in shape",
        ),
        (
            (LEVEL, STRAIGHT),
            (),
            f"intercept and slope jointly differ from 0 and 1, though neither does by itself ({'; '.join(UNSURE)})",
        ),
        ((LEVEL, STRAIGHT), (refuted(1.0),), "1 forecast of exactly 0 or 1 was wrong"),
        ((LEVEL, STRAIGHT), (refuted(2.0),), "2 forecasts of exactly 0 or 1 were wrong"),
        ((LEVEL, STRAIGHT), (refuted(1.0, weighted=True),), "forecasts of exactly 0 or 1 were wrong"),
        (
            (STRAIGHT,),
            (refuted(1200.0),),
            f"1,200 forecasts of exactly 0 or 1 were wrong; its forecasts are too low ({RATIO})",
        ),
    ],
)
def test_every_way_to_be_wrong_has_its_words(sizes, notes, ways):
    assert told("bad", *sizes, notes=notes) == f"m is miscalibrated (p = 0.012): {ways}.{COST}"


@pytest.mark.parametrize(
    ("own", "said"),
    [
        (cost(), COST),
        (cost(NAN, NAN, NAN), ""),
        (cost(0.0, 0.0, 0.25), ""),
        (cost(0.0, 0.0, 0.1999), " Perfect recalibration would lower its Brier score by at most 0.200."),
        (cost(0.0, NAN, NAN), " Perfect recalibration would lower its Brier score by 0."),
        (cost(0.01, NAN, NAN), " Perfect recalibration would lower its Brier score by 0.0100."),
    ],
)
def test_the_cost_is_given_with_its_limits(own, said):
    found = told("small", STRAIGHT, own)
    assert found == f"m is miscalibrated, but only slightly (p = 0.012): its forecasts are too low ({RATIO}).{said}"


@pytest.mark.parametrize(
    ("gain", "is_added"),
    [
        ((0.002, 0.0004), True),  # 0.005 of 0.25 is more than 0.002 of 0.25.
        ((0.005, 0.0004), False),  # Exactly as much is not more.
        ((0.006, 0.0004), False),
    ],
)
def test_the_cost_is_added_to_a_gain_that_is_surely_smaller(gain, is_added):
    found = RecalibrationGain("Brier score", 0.2, 0.001, gain[1], gain[0], 0.25)
    text = told("bad", STRAIGHT, gain=found)
    gained = f" Recalibration would lower its Brier score of 0.200 by 0.00100 (0.5%; 0.000400 to {number(gain[0])})."
    assert text.partition(").")[2] == gained + (COST if is_added else "")


def test_the_cost_is_not_added_to_a_gain_if_it_is_within_the_margin():
    """The margin is 0.5% of the uncertainty; the limits are compared as shares of the uncertainty of each score."""
    gain = RecalibrationGain("log score", 0.5, 0.0, -0.001, 0.001, 0.5)
    small, large = cost(0.01, 0.00125, 0.02), cost(0.01, 0.0013, 0.02)
    assert told("bad", STRAIGHT, small, gain=gain).endswith(
        " Recalibration is not shown to lower its log score of 0.500 (gain 0, -0.00100 to 0.00100)."
    )
    assert " Perfect recalibration " in told("bad", large, gain=gain)
    assert " Perfect recalibration " not in told("bad", large, gain=gain._replace(high=0.0026))
    assert " Perfect recalibration " in told("bad", large, gain=gain._replace(high=0.0025))


def test_a_gain_in_words_has_its_share_of_a_finite_score():
    gain = RecalibrationGain("log score", INF, INF, 0.1, INF, 0.5)
    assert str(gain) == "Recalibration would lower its log score of infinite by infinite (0.100 to infinite)."
    zero = RecalibrationGain("Brier score", 0.2, 0.1, 0.0, 0.2, 0.25)
    assert str(zero) == "Recalibration is not shown to lower its Brier score of 0.200 (gain 0.100, 0 to 0.200)."
    assert [zero.is_within(share) for share in (0.8, 0.79)] == [True, False]
