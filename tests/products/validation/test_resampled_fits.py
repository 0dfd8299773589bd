"""Rows, classes, draws and folds of an internal validation: what is read, drawn and tested."""

import numpy as np
import pytest

import propriety as pr
from propriety.errors import InputTypeError, InputValueError, MissingValuesError
from propriety.products.validation.optimism import corrected_632
from propriety.products.validation.resampled_fits import Sample, drawn_rows

linear_model = pytest.importorskip("sklearn.linear_model")
from sklearn.base import clone  # noqa: E402
from sklearn.model_selection import ShuffleSplit  # noqa: E402

RNG = np.random.default_rng(1)
X = RNG.normal(size=(120, 4))
Y = (RNG.random(120) < 1 / (1 + np.exp(0.5 - X[:, 0]))).astype(int)
LEARNER = linear_model.LogisticRegression(C=1.0)
MEASURES = [pr.measures.AreaUnderRoc(), pr.Brier()]


@pytest.mark.parametrize(
    ("shuffled", "named"), [("y_true", "X and y_true"), ("groups", "y_true and groups"), ("X", "X and groups")]
)
def test_rows_in_another_order_are_not_mixed(shuffled, named):
    pandas = pytest.importorskip("pandas")
    given = {"X": pandas.DataFrame(X), "y_true": pandas.Series(Y), "groups": pandas.Series(np.arange(120) // 4)}
    given[shuffled] = given[shuffled].sample(frac=1, random_state=1)
    if shuffled == "X":
        given["y_true"] = Y  # Without an index, it goes by position.
    with pytest.raises(InputValueError, match=f"{named} carry different indices"):
        pr.validate(LEARNER, **given, n_resamples=2)


def test_rows_in_the_same_order_are_read_whatever_their_index():
    pandas = pytest.importorskip("pandas")
    order = np.random.default_rng(1).permutation(120)
    frame, series = pandas.DataFrame(X, index=order), pandas.Series(Y, index=order)
    options = {"measures": MEASURES, "n_resamples": 3, "seed": 1}
    ours, plain = pr.validate(LEARNER, frame, series, **options), pr.validate(LEARNER, X, Y, **options)
    np.testing.assert_array_equal(ours.corrected.value, plain.corrected.value)


def noise(seed, events):
    """Return predictors of 200 cases that say nothing about the outcomes."""
    return np.random.default_rng(seed).normal(size=(200, 4)), np.arange(200) < events


@pytest.mark.parametrize("events", [1, 2])
def test_few_events_do_not_improve_the_corrected_score(events):
    found = [
        pr.validate(LEARNER, *noise(seed, events), measures=[pr.Brier()], n_resamples=20, seed=seed)
        for seed in range(3)
    ]
    apparent, corrected = (
        np.mean([getattr(one, name).value[0] for one in found]) for name in ("apparent", "corrected")
    )
    assert apparent - 1e-4 < corrected < 1.2 * events / 200
    assert f"Samples were drawn within each class, because class True has only {events} case" in str(found[0])


def test_a_rare_class_is_drawn_as_often_as_it_occurs():
    x, y = noise(1, 3)
    sample = Sample.of(LEARNER, x, y, None, None)
    drawn = [drawn_rows(sample, None, seed, by_class=True) for seed in np.random.SeedSequence(1).spawn(20)]
    assert {(len(rows), int(y[rows].sum())) for rows in drawn} == {(200, 3)}
    assert len({tuple(np.sort(rows[y[rows]])) for rows in drawn}) > 3
    # The event of one is never left out, and cases that are left out say nothing about events.
    found = pr.validate(LEARNER, *noise(1, 1), measures=[pr.Brier()], n_resamples=5, seed=1)
    assert len(found.corrected_632) == 0


def test_cases_left_out_have_the_shares_of_the_classes():
    x, y = noise(1, 2)
    found = pr.validate(LEARNER, x, y, measures=[pr.Brier()], n_resamples=10, seed=3)
    sample, left_out = Sample.of(LEARNER, x, y, None, None), []
    for seed in np.random.SeedSequence(3).spawn(10):
        rows = drawn_rows(sample, None, seed, by_class=True)
        rest = np.setdiff1d(np.arange(200), rows)
        loss = (clone(LEARNER).fit(x[rows], y[rows]).predict_proba(x)[:, 1] - y) ** 2
        if y[rest].any():
            left_out.append(0.01 * loss[rest][y[rest]].mean() + 0.99 * loss[rest][~y[rest]].mean())
    p = clone(LEARNER).fit(x, y).predict_proba(x)[:, 1]
    chance = np.mean(0.01 * (1 - p) ** 2 + 0.99 * p**2)
    by_hand = corrected_632(found.apparent.value[0], np.mean(left_out), chance, higher_is_better=False)
    assert found.corrected_632.value[0] == pytest.approx(by_hand)


def test_groups_that_alone_have_a_class_are_noted():
    x, y = noise(1, 10)
    groups = np.arange(200) // 5
    found = pr.validate(LEARNER, x, y, groups=groups, measures=[pr.Brier()], n_resamples=5, seed=1)
    assert "Only 2 of 40 groups have cases of class True; samples without them were drawn again" in str(found)
    spread = pr.validate(LEARNER, x, y, groups=np.arange(200) % 10, measures=[pr.Brier()], n_resamples=5, seed=1)
    assert "drawn again" not in str(spread)


def test_limits_stay_within_the_range_of_the_measure():
    x, y = np.random.default_rng(2).normal(size=(40, 4)), np.arange(40) < 8
    flexible = linear_model.LogisticRegression(C=1e4)
    found = pr.validate(flexible, x, y, measures=MEASURES, n_resamples=10, seed=1, level=0.9999)
    assert found.corrected.low[0] == 0.0  # Shifted by the optimism, the limit would be -0.14.
    assert all(row.low <= row.value <= row.high <= 1.0 for row in found.corrected)
    np.testing.assert_allclose(found.optimism.value, found.apparent.value - found.corrected.value)


def test_caveats_of_estimates_are_told_once():
    x, y = noise(1, 4)
    for options in ({"n_resamples": 5}, {"method": "cross-validation", "cv": 2}):
        both = pr.validate({"a": LEARNER, "b": LEARNER}, x, y, measures=MEASURES, seed=1, **options)
        assert str(both).count("ased on 4 events: the interval may be too narrow.") == 1
    assert pr.validate(LEARNER, X, Y, n_resamples=5, seed=1).corrected.notes.tolist() == [()] * 3


def test_the_cases_that_are_tested_are_counted():
    half = np.arange(60), np.arange(60, 120)
    found = pr.validate(LEARNER, X, Y, measures=[pr.Brier()], method="cross-validation", cv=[half])
    assert (found.corrected.n[0], str(found).split(". ")[-1]) == (60, "60 of 120 cases are never tested.")
    assert "1-fold cross-validation, 60 cases." in str(found)
    splitter = ShuffleSplit(3, test_size=0.6, random_state=1)
    again = pr.validate(LEARNER, X, Y, measures=[pr.Brier()], method="cross-validation", cv=splitter)
    assert again.corrected.n[0] == len(np.unique(np.concatenate([test for _, test in splitter.split(X)])))
    assert str(again).endswith("Cases are tested up to 3 times.")


@pytest.mark.parametrize("missing", [np.nan, None])
def test_missing_outcomes_are_named(missing):
    y = Y.astype(object)
    y[7] = missing
    for given in (y, y.astype(float), y.tolist()):
        with pytest.raises(
            MissingValuesError, match=r"y_true must not hold missing.*row 7 is missing.*leave such rows"
        ):
            pr.validate(LEARNER, X, given)


def test_outcomes_that_are_no_classes_are_named():
    row = int(Y.argmax())
    with pytest.raises(
        InputValueError, match=rf"y_true must hold classes.*row {row} is 0\.3 \({Y.sum()} of 120 rows\)"
    ):
        pr.validate(LEARNER, X, Y * 0.3)
    with pytest.raises(InputTypeError, match="y_true must hold classes"):
        pr.validate(LEARNER, X, ["a", 1] * 60)
    with pytest.raises(InputValueError, match="two classes or more; it is empty"):
        pr.validate(LEARNER, X[:0], Y[:0])


def test_outcomes_are_read_as_everywhere():
    pandas = pytest.importorskip("pandas")
    options = {"measures": MEASURES, "n_resamples": 3, "seed": 1}
    plain = pr.validate(LEARNER, X, Y, **options).to_json()
    for y in (Y.astype(object), pandas.Series(Y, dtype="Int64"), pandas.Series(Y, dtype="category"), Y == 1):
        assert pr.validate(LEARNER, X, y, **options).to_json() == plain


@pytest.mark.parametrize(
    ("part", "message"),
    [
        ([3, 120], "rows of X, from 0 to 119; the test set of fold 1 has row 120"),
        ([-1, 3], "rows of X, from 0 to 119; the test set of fold 1 has row -1"),
        ([0.5], "numbers of rows; the test set of fold 1 has shape .* and dtype float64"),
        ([], "cases to fit to and to test; the test set of fold 1 is empty"),
    ],
)
def test_rows_that_a_splitter_cannot_have_are_named(part, message):
    fine = np.arange(60), np.arange(60, 120)
    with pytest.raises(InputValueError, match=f"cv must give {message}"):
        pr.validate(LEARNER, X, Y, method="cross-validation", cv=[fine, (np.arange(60), part)])


def test_masks_of_a_splitter_are_read():
    rows = np.arange(120) < 60
    options = {"measures": MEASURES, "method": "cross-validation", "seed": 1}
    masks = pr.validate(LEARNER, X, Y, cv=[(rows, ~rows), (~rows, rows)], **options)
    numbers = [(np.arange(60), np.arange(60, 120)), (np.arange(60, 120), np.arange(60))]
    np.testing.assert_array_equal(
        masks.corrected.value, pr.validate(LEARNER, X, Y, cv=numbers, **options).corrected.value
    )


def test_a_training_set_with_one_class_is_named():
    site = np.where(Y == 1, "a", np.where(X[:, 0] > 0, "b", "c"))
    with pytest.raises(
        InputValueError, match=r"groups must have all 2 classes .* without site 'a' there is only \[0\]"
    ):
        pr.validate(LEARNER, X, Y, method="leave-one-site-out", groups=site)
    lone = np.arange(120) == 7
    with (
        pytest.warns(UserWarning, match="least populated"),
        pytest.raises(InputValueError, match=r"cv must have all 2 classes .* fold \d has only \[False\]"),
    ):
        pr.validate(LEARNER, X, lone, method="cross-validation", cv=5, seed=1)
