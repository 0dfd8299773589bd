"""Internal validation: optimism, folds and sites, against scikit-learn and direct computation."""

import json

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot as plt
from scipy.stats import t

import propriety as pr
from propriety.errors import InputTypeError, InputValueError
from propriety.inference.finding_words import notes_of
from propriety.inference.measures.of_means import MeanScore
from propriety.products.validation.optimism import corrected_632, without_information
from propriety.products.validation.parts import compare_learners, corrected_t
from propriety.products.validation.resampled_fits import Fold, Sample, drawn_rows, folds_of
from propriety.tables.forecast_table import ForecastTable

linear_model = pytest.importorskip("sklearn.linear_model")
from sklearn.base import clone  # noqa: E402
from sklearn.metrics import brier_score_loss, roc_auc_score  # noqa: E402
from sklearn.model_selection import (  # noqa: E402
    LeaveOneGroupOut,
    RepeatedStratifiedKFold,
    StratifiedKFold,
    cross_val_predict,
    cross_val_score,
)
from sklearn.tree import DecisionTreeClassifier  # noqa: E402

mpl.use("agg")

RNG = np.random.default_rng(1)
X = RNG.normal(size=(120, 4))
Y = (RNG.random(120) < 1 / (1 + np.exp(0.5 - X[:, 0]))).astype(int)
LEARNER = linear_model.LogisticRegression(C=1.0)
MEASURES = [pr.measures.AreaUnderRoc(), pr.Brier()]


def test_optimism_is_the_mean_difference_between_drawn_and_original_cases():
    found = pr.validate(LEARNER, X, Y, measures=MEASURES, n_resamples=8, seed=3)
    sample = Sample.of(LEARNER, X, Y, None, None)
    gaps, left_out = [], []
    for seed in np.random.SeedSequence(3).spawn(8):
        rows = drawn_rows(sample, None, seed)
        p = clone(LEARNER).fit(X[rows], Y[rows]).predict_proba(X)[:, 1]
        rest = np.setdiff1d(np.arange(len(Y)), rows)
        scores = [roc_auc_score, brier_score_loss]
        gaps.append([score(Y[rows], p[rows]) - score(Y, p) for score in scores])
        left_out.append([score(Y[rest], p[rest]) for score in scores])
    p = clone(LEARNER).fit(X, Y).predict_proba(X)[:, 1]
    np.testing.assert_allclose(found.apparent.value, [roc_auc_score(Y, p), brier_score_loss(Y, p)])
    np.testing.assert_allclose(found.optimism.value, np.mean(gaps, axis=0), atol=1e-12)
    np.testing.assert_allclose(found.corrected.value, found.apparent.value - found.optimism.value)
    apparent = pr.estimate(Y, p, pr.Brier())
    assert found.corrected.low[1] == pytest.approx(apparent.low - found.optimism.value[1])
    chance = np.mean([(a - b) ** 2 for a in Y for b in p])
    by_hand = corrected_632(found.apparent.value[1], np.mean(left_out, axis=0)[1], chance, higher_is_better=False)
    assert found.corrected_632.value[1] == pytest.approx(by_hand)


def test_every_learner_of_several_has_its_own_optimism():
    learners = {"weak": linear_model.LogisticRegression(C=1e-3), "usual": LEARNER}
    found = pr.validate(learners, X, Y, measures=MEASURES, n_resamples=6, seed=3)
    for place, (name, learner) in enumerate(learners.items()):
        alone = pr.validate(learner, X, Y, measures=MEASURES, n_resamples=6, seed=3)
        rows = slice(2 * place, 2 * place + 2)
        assert found.corrected.model[rows].tolist() == [name, name]
        for statistic in ("apparent", "corrected", "corrected_632"):
            of_both, own = getattr(found, statistic), getattr(alone, statistic)
            for column in ("value", "low", "high"):
                np.testing.assert_allclose(getattr(of_both, column)[rows], getattr(own, column), rtol=1e-12)


def test_value_without_information_is_that_of_all_pairs():
    p = RNG.random(50)
    y = RNG.random(50) < p
    table = ForecastTable.from_predictions(y, p)
    for measure in (MeanScore(pr.Log()), pr.measures.NetBenefit(0.3)):
        pairs = [measure.value(ForecastTable.from_predictions([one], [q])) for one in y for q in p]
        assert without_information(measure, table) == pytest.approx(np.mean(pairs))
    assert without_information(pr.measures.AreaUnderRoc(), table) == 0.5
    assert np.isnan(without_information(pr.measures.CalibrationSlope(), table))


def test_632_plus_lies_between_its_parts():
    assert corrected_632(0.1, 0.1, 0.3, higher_is_better=False) == pytest.approx(0.1)
    plain = 0.368 * 0.1 + 0.632 * 0.2
    assert plain < corrected_632(0.1, 0.2, 0.3, higher_is_better=False) < 0.2
    # Beyond no information, the estimate is that without information.
    assert corrected_632(0.1, 0.4, 0.3, higher_is_better=False) == pytest.approx(0.3)
    assert np.isnan(corrected_632(0.1, 0.2, np.nan, higher_is_better=False))


def test_folds_and_all_forecasts_are_those_of_scikit_learn():
    splitter = StratifiedKFold(5, shuffle=True, random_state=2)
    found = pr.validate(LEARNER, X, Y, measures=MEASURES, method="cross-validation", cv=splitter, seed=1)
    p = cross_val_predict(LEARNER, X, Y, cv=splitter, method="predict_proba")[:, 1]
    np.testing.assert_allclose(found.corrected.value, [roc_auc_score(Y, p), brier_score_loss(Y, p)])
    areas = cross_val_score(LEARNER, X, Y, cv=splitter, scoring="roc_auc")
    np.testing.assert_allclose(found.parts.where(measure="auc").value, areas)
    assert found.corrected.extra["fold_mean"][0] == pytest.approx(areas.mean())
    assert found.corrected.extra["fold_sd"][0] == pytest.approx(areas.std(ddof=1))
    alone = pr.estimate(Y, p, pr.measures.AreaUnderRoc())
    assert (found.corrected.low[0], found.corrected.high[0]) == pytest.approx((alone.low, alone.high))
    assert list(found.ledger.keys) == ["fold"]


def test_repeats_count_a_case_once():
    found = pr.validate(LEARNER, X, Y, measures=[pr.Brier()], method="cross-validation", cv=5, n_repeats=3, seed=1)
    assert (found.n_folds, found.n_repeats, found.ledger.n) == (5, 3, 360)
    once = pr.validate(LEARNER, X, Y, measures=[pr.Brier()], method="cross-validation", cv=5, seed=1)
    width, width_once = found.corrected.high[0] - found.corrected.low[0], once.corrected.high[0] - once.corrected.low[0]
    assert width == pytest.approx(width_once, rel=0.1)  # Not narrower by the root of 3.
    assert str(found).splitlines()[-1].startswith("5-fold cross-validation, repeated 3 times, 120 cases.")
    assert (found.n_repeats, found.corrected.n[0], once.n_repeats, once.corrected.n[0]) == (3, 120, 1, 120)
    assert str(once).splitlines()[-1].startswith("5-fold cross-validation, 120 cases.")
    again = pr.validate(LEARNER, X, Y, measures=[pr.Brier()], method="cross-validation", cv=5, seed=1)
    np.testing.assert_array_equal(again.parts.value, once.parts.value)  # The seed decides on the parts.


@pytest.mark.product("sites")
def test_sites_are_left_out_in_turn_and_summarized():
    site = np.array(["a", "b", "c"])[np.arange(120) % 3]
    found = pr.validate(LEARNER, X, Y, measures=MEASURES, method="leave-one-site-out", groups=site)
    p = cross_val_predict(LEARNER, X, Y, groups=site, cv=LeaveOneGroupOut(), method="predict_proba")[:, 1]
    assert found.corrected.value[1] == pytest.approx(brier_score_loss(Y, p))
    summary = pr.pool_sites(found.ledger, measures=[pr.Brier()])
    own = [brier_score_loss(Y[site == one], p[site == one]) for one in "abc"]
    np.testing.assert_allclose([row.value for row in summary if row.keys], own)
    assert "Each of 3 sites" in str(found)


def test_groups_stay_together():
    groups = np.arange(120) // 4
    sample = Sample.of(LEARNER, X, Y, None, None, groups)
    rows = drawn_rows(sample, groups, np.random.SeedSequence(1))
    counts = np.bincount(rows, minlength=120).reshape(-1, 4)
    assert (counts == counts[:, :1]).all()
    for fold in folds_of(sample, 5, 2, groups, 1):
        assert not set(groups[fold.train]) & set(groups[fold.test])
    found = pr.validate(LEARNER, X, Y, measures=[pr.Brier()], method="cross-validation", cv=5, groups=groups, seed=1)
    assert found.ledger.dependence == "cluster"


def test_the_corrected_test_allows_for_overlap():
    differences = np.array([0.02, 0.05, 0.01, 0.03, 0.04])
    mean, low, high, error, statistic, p = corrected_t(differences, 0.25, 0.95)
    assert error == pytest.approx(np.sqrt((1 / 5 + 1 / 4) * differences.var(ddof=1)))
    assert p == pytest.approx(2 * t.sf(mean / error, 4))
    assert (low, high) == pytest.approx(t.interval(0.95, 4, mean, error))
    assert statistic == pytest.approx(mean / error)


def test_learners_are_compared_by_the_same_folds():
    learners = {"weak": linear_model.LogisticRegression(C=1e-3), "b": LEARNER, "c": linear_model.LogisticRegression()}
    found = pr.validate(learners, X, Y, measures=MEASURES, method="cross-validation", cv=5, seed=1)
    compared = found.differences.where(measure="brier")
    pairs = [("weak", "b"), ("weak", "c"), ("b", "c")]
    assert list(zip(compared.model, compared.against, strict=True)) == pairs
    values = found.parts.where(measure="brier").value.reshape(3, -1)
    assert compared.value[0] == pytest.approx((values[0] - values[1]).mean())
    # The last two learners are the same.
    assert compared.value[2] == 0.0
    assert np.isnan(compared.p[2])
    assert "b and c have the same score in every case." in str(found)
    assert compared.extra["df"].tolist() == [4, 4, 4]
    assert compared.units.tolist() == [5, 5, 5]
    first = str(found).splitlines()[0]
    assert first.startswith(f"Area under the ROC curve of weak: {found.corrected.value[0]:.3f}, 95% CI ")
    assert json.loads(found.to_json())["imitation"] == "cross-validation"


def test_labels_frames_and_classes_are_read():
    pandas = pytest.importorskip("pandas")
    names = np.where(Y == 1, "ill", "well")
    frame = pandas.DataFrame(X, columns=list("abcd"))
    options = {"measures": MEASURES, "n_resamples": 3, "seed": 1}
    named, plain = pr.validate(LEARNER, frame, names, pos_label="ill", **options), pr.validate(LEARNER, X, Y, **options)
    np.testing.assert_allclose(named.corrected.value, plain.corrected.value)
    three = np.digitize(X[:, 0] + RNG.normal(size=120), [-0.5, 0.5])
    for method, own in (("bootstrap", {"n_resamples": 3}), ("cross-validation", {"cv": 3})):
        found = pr.validate(LEARNER, X, three, method=method, **own, seed=1)
        assert [one.key for one in found.corrected.measure] == ["brier", "log"]
        assert (found.corrected.value > found.apparent.value).all()


@pytest.mark.slow
def test_the_result_does_not_depend_on_the_workers():
    options = {"measures": MEASURES, "n_resamples": 6, "seed": 1}
    one, two = (pr.validate(LEARNER, X, Y, workers=workers, **options) for workers in (1, 2))
    assert one.to_json() == two.to_json()


def test_one_measure_is_drawn():
    found = pr.validate(LEARNER, X, Y, measures=MEASURES, method="cross-validation", cv=4, seed=1)
    ax = found.plot(measure=pr.Brier(), label="a title")
    lines = {line.get_label(): line for line in ax.get_lines()}
    assert lines["_corrected"].get_xdata()[0] == found.corrected.value[1]
    assert lines["_apparent"].get_xdata()[0] == found.apparent.value[1]
    np.testing.assert_array_equal(lines["_folds"].get_xdata(), found.parts.where(measure="brier").value)
    assert ax.get_xlabel() == "Brier score (lower is better)"
    plt.close("all")


def test_a_learner_that_is_too_flexible_for_the_bootstrap_is_noted():
    tree = DecisionTreeClassifier(random_state=1)
    found = pr.validate(tree, X, Y, measures=MEASURES, n_resamples=10, seed=1)
    assert "Harrell's correction is too small" in str(found)
    assert "Harrell" not in str(pr.validate(LEARNER, X, Y, measures=MEASURES, n_resamples=10, seed=1))


def test_undefined_values_of_draws_are_counted():
    def fragile(table):
        return float(1 / (table.n_events > 50)) if table.n_events > 45 else float("nan")

    found = pr.validate(LEARNER, X, Y, measures=[fragile], n_resamples=10, seed=1)
    assert "Undefined in" in str(found)


def test_wrong_arguments_are_named():
    with pytest.raises(InputTypeError, match="estimator"):
        pr.validate(linear_model.LinearRegression(), X, Y)
    with pytest.raises(InputValueError, match="one outcome for each row"):
        pr.validate(LEARNER, X, Y[:-1])
    with pytest.raises(InputValueError, match="groups must have one entry per case, 120 in all"):
        pr.validate(LEARNER, X, Y, groups=Y[:-1])
    with pytest.raises(InputValueError, match="site of each case"):
        pr.validate(LEARNER, X, Y, method="leave-one-site-out")
    with pytest.raises(InputValueError, match="method"):
        pr.validate(LEARNER, X, Y, method="holdout")
    with pytest.raises(InputValueError, match="n_repeats repeats belong"):
        pr.validate(LEARNER, X, Y, method="cross-validation", cv=StratifiedKFold(3), n_repeats=2)
    found = pr.validate(LEARNER, X, Y, measures=MEASURES, n_resamples=2, seed=1)
    with pytest.raises(InputValueError, match="measure must be one of"):
        found.plot(measure="log")


def test_a_splitter_that_repeats_counts_a_case_once():
    splitter = RepeatedStratifiedKFold(n_splits=4, n_repeats=3, random_state=1)
    one = pr.validate(LEARNER, X, Y, method="cross-validation", cv=splitter, seed=1)
    other = pr.validate(LEARNER, X, Y, method="cross-validation", cv=4, n_repeats=3, seed=1)
    np.testing.assert_allclose(
        one.corrected.high - one.corrected.low, other.corrected.high - other.corrected.low, rtol=0.15
    )
    assert one.corrected.n[0] == 120
    assert "Each case is tested 3 times." in str(one)
    assert "tested" not in str(other)


def test_intervals_of_the_bootstrap_count_groups():
    rows = np.repeat(np.arange(len(Y)), 4)
    alone, grouped = (pr.validate(LEARNER, X[rows], Y[rows], groups=one, n_resamples=5, seed=1) for one in (None, rows))
    np.testing.assert_allclose(
        (grouped.corrected.high - grouped.corrected.low)[2] / (alone.corrected.high - alone.corrected.low)[2],
        2.0,
        rtol=0.1,
    )


def test_parts_without_events_leave_the_spread_of_the_others():
    few = np.arange(len(X)) < 3
    with pytest.warns(UserWarning, match="least populated"):
        found = pr.validate(LEARNER, X, few, method="cross-validation", cv=5, seed=1)
    own = found.parts.where(measure="auc").value
    assert np.isnan(own).any()
    assert found.corrected.extra["fold_sd"][0] == pytest.approx(np.nanstd(own, ddof=1))


def test_cases_that_cannot_be_validated_are_named():
    groups = np.where(np.arange(len(Y)) < 3, np.nan, np.arange(len(Y)) % 4)
    with pytest.raises(InputValueError, match=r"groups must be known for every case.*3 of 120 rows"):
        pr.validate(LEARNER, X, Y, method="leave-one-site-out", groups=groups)
    with pytest.raises(InputValueError, match="two classes or more"):
        pr.validate(LEARNER, X, np.ones(len(Y)))
    with pytest.raises(InputValueError, match="needs the forecast of one event"):
        pr.validate(LEARNER, X, np.arange(len(Y)) % 3, measures=[pr.measures.AreaUnderRoc()])


class Rate:
    """A learner that is not scikit-learn's: it forecasts the event rate of its cases."""

    def fit(self, X, y):  # noqa: N803  (scikit-learn's name)
        self.classes_, self.rate = np.unique(y), np.mean(y)
        return self

    def predict_proba(self, X):  # noqa: N803
        return np.tile([1 - self.rate, self.rate], (len(X), 1))


def test_learners_need_only_fit_and_predict_proba():
    learner = Rate()
    found = pr.validate(learner, X, Y, measures=[pr.Brier()], method="cross-validation", cv=4, seed=1)
    assert found.apparent.value[0] == pytest.approx(Y.mean() * (1 - Y.mean()))
    assert not hasattr(learner, "rate")


@pytest.mark.parametrize("cv", [["a"], "five", 1.5, True, 1, 100, [], object()])
def test_what_is_not_a_splitter_is_named(cv):
    with pytest.raises(InputValueError, match="cv must"):
        pr.validate(LEARNER, X, Y, method="cross-validation", cv=cv)


@pytest.mark.parametrize("measures", [pr.Brier, 5, None])
def test_what_is_no_measure_is_refused(measures):
    with pytest.raises(InputTypeError, match="measures must be a rule, a measure or a function"):
        pr.validate(LEARNER, X, Y, measures=measures)


@pytest.mark.parametrize("features", [None, 5, np.array("a")])
def test_features_without_rows_are_named(features):
    with pytest.raises(InputTypeError, match="X must have one row per case"):
        pr.validate(LEARNER, features, Y)


def test_a_validation_is_told_word_for_word():
    found = pr.validate(LEARNER, X, Y, measures=[pr.Brier()], n_resamples=8, seed=3)
    value, low, high = (
        f"{number[0]:.3f}" for number in (found.corrected.value, found.corrected.low, found.corrected.high)
    )
    apparent, optimism = f"{found.apparent.value[0]:.3f}", f"{found.optimism.value[0]:.4f}"
    lines = str(found).splitlines()
    assert lines[0].startswith(
        f"Brier score: {value}, 95% CI {low} to {high} (apparent {apparent}, optimism {optimism[:6]}"
    )
    assert lines[-1].startswith("Corrected for optimism by 8 bootstrap samples of 120 cases.")


def test_groups_are_drawn_together():
    site = np.arange(120) // 30
    found, alone = (
        pr.validate(LEARNER, X, Y, measures=[pr.Brier()], n_resamples=4, seed=3, groups=groups)
        for groups in (site, None)
    )
    assert found.corrected.value[0] != alone.corrected.value[0]
    assert found.apparent.value[0] == pytest.approx(alone.apparent.value[0])


def one_certain_error():
    """A feature that separates the outcomes but for the case at its end; trees forecast 0 and 1."""
    x = np.random.default_rng(0).normal(size=200)
    y = (x > 0).astype(int)
    y[np.argmax(x)] = 0
    return x[:, None], y


CERTAIN = {"tree": DecisionTreeClassifier(max_depth=1), "logistic": linear_model.LogisticRegression()}


def test_an_infinite_part_makes_a_learner_infinitely_bad_and_not_better():
    options = {"measures": [pr.Log(), pr.Brier()], "method": "cross-validation", "cv": 10, "seed": 1}
    found = pr.validate(CERTAIN, *one_certain_error(), **options)
    assert np.isinf(found.parts.value).sum() == 1
    assert (found.corrected.value[0], found.corrected.extra["fold_mean"][0]) == (np.inf, np.inf)
    assert np.isnan([found.corrected.low[0], found.corrected.high[0], found.corrected[0].extra["fold_sd"]]).all()
    assert np.isfinite(found.corrected.extra["fold_mean"][1:].astype(float)).all()
    assert "Infinite in 1 part (log score of tree)." in str(found)
    compared = found.differences.where(measure="log")
    assert compared.value.tolist() == [np.inf]
    assert np.isnan([compared.low, compared.error, compared.p, compared.p_adjusted]).all()
    assert "tree has an infinite log score and logistic does not, so the difference cannot be" in str(found)
    twice = {"tree": CERTAIN["tree"], "again": CERTAIN["tree"]}
    both = pr.validate(twice, *one_certain_error(), **options)
    assert "tree and again both have an infinite log score, so they cannot be compared." in str(both)


def test_an_infinite_draw_makes_the_corrected_value_infinite():
    found = pr.validate(CERTAIN, *one_certain_error(), measures=[pr.Log()], n_resamples=20, seed=1)
    assert (found.corrected.value[0], found.corrected_632.value[0], found.optimism.value[0]) == (
        np.inf,
        np.inf,
        -np.inf,
    )
    assert np.isfinite(found.corrected.value[1])
    assert "(log score of tree)." in str(found)
    assert "of logistic)" not in str(found)


def test_undefined_parts_are_counted_where_learners_are_compared():
    values = {"a": np.array([0.1, np.nan, 0.3, 0.2]), "b": np.array([0.2, 0.3, 0.1, 0.1])}
    folds = [Fold(np.arange(30), np.arange(10), 0, place) for place in range(4)]
    (row,) = compare_learners(values, folds, pr.measures.AreaUnderRoc(), 0.95)
    assert (row.extra["left_out"], row.extra["df"]) == (1, 2)
    assert row.value == pytest.approx(np.mean([-0.1, 0.2, 0.1]))
    assert notes_of(row) == "Area under the ROC curve is undefined in 1 part, left out."
    unknown = {name: np.array([0.1, np.nan, np.nan, np.nan]) for name in "ab"}
    (row,) = compare_learners(unknown, folds, pr.measures.AreaUnderRoc(), 0.95)
    assert (row.verdict, notes_of(row)) == ("not tested", "The area under the ROC curve is defined in 1 of 4 parts.")


@pytest.mark.parametrize("measure", [pr.measures.Miscalibration(), pr.measures.Discrimination()])
def test_distances_from_a_fitted_curve_have_no_optimism(measure):
    with pytest.raises(
        InputValueError,
        match=f"measures cannot contain the {measure.label}, which has no optimism.* Hint: pass the ledger",
    ):
        pr.validate(LEARNER, X, Y, measures=[pr.Brier(), measure])


@pytest.mark.parametrize(
    ("method", "options", "own"),
    [
        ("bootstrap", {"cv": 3}, "cross-validation"),
        ("bootstrap", {"n_repeats": 1}, "cross-validation"),
        ("cross-validation", {"n_resamples": 20}, "bootstrap"),
        ("leave-one-site-out", {"cv": 3}, "cross-validation"),
        ("leave-one-site-out", {"n_resamples": 20}, "bootstrap"),
    ],
)
def test_options_of_another_method_are_refused(method, options, own):
    (name,) = options
    with pytest.raises(InputValueError, match=rf'{name} is for method="{own}"; the method is {method!r}'):
        pr.validate(LEARNER, X, Y, method=method, groups=np.arange(len(Y)) % 3, **options)


def test_notes_name_the_models_that_they_are_about():
    found = pr.validate(CERTAIN, *one_certain_error(), measures=[pr.measures.CalibrationSlope()], n_resamples=5, seed=1)
    assert "(calibration slope of tree)" in str(found)


@pytest.mark.parametrize("method", ["cross-validation", "leave-one-site-out"])
def test_a_measure_that_apparent_forecasts_do_not_have_is_undefined(method):
    """A tree forecasts 0 and 1 in the cases that it was fitted to, which have no log-odds."""
    rng = np.random.default_rng(1)
    features = rng.normal(size=(120, 5))
    y = (rng.random(120) < 1 / (1 + np.exp(1.0 - features[:, 0]))).astype(int)
    options = {"cv": 5} if method == "cross-validation" else {"groups": np.arange(120) % 4}
    found = pr.validate(DecisionTreeClassifier(random_state=0), features, y, method=method, seed=1, **options)
    slope = found.apparent.where(measure="calibration_slope")
    assert np.isnan(slope.value).all()
    assert "Calibration slope: undefined." in str(found)
    assert np.isfinite(found.corrected.where(measure="auc").value).all()


def test_draws_of_groups_need_groups():
    rng = np.random.default_rng(1)
    features = rng.normal(size=(120, 2))
    y = (rng.random(120) < 0.4).astype(int)
    options = {"measures": [pr.Brier()], "n_resamples": 5, "seed": 1}
    with pytest.raises(InputValueError, match="groups must have two groups or more; all cases are in one"):
        pr.validate(linear_model.LogisticRegression(), features, y, groups=np.zeros(120), **options)
    for groups, is_told in ((4, True), (12, False)):
        found = pr.validate(linear_model.LogisticRegression(), features, y, groups=np.arange(120) % groups, **options)
        assert (f"Draws of only {groups} groups estimate the optimism poorly." in str(found)) == is_told


def test_censored_outcomes_are_refused_without_advice_to_leave_them_out():
    outcomes = pr.censored([1.0, 2.0, 3.0, 4.0], [1, 0, 1, 0], horizons=3.5)
    with pytest.raises(InputTypeError, match="those by a horizon are weighted for censoring") as told:
        pr.validate(linear_model.LogisticRegression(), np.ones((4, 1)), outcomes)
    assert "leave" not in str(told.value)


def test_measures_of_one_key_are_refused():
    twice = [pr.BoundedBrier(0.05, 0.2), pr.BoundedBrier(0.4, 0.8)]
    with pytest.raises(InputValueError, match="a key of its own; 'bounded_brier' occurs twice"):
        pr.validate(LEARNER, X, Y, measures=twice)


def test_sites_keep_their_labels():
    mixed = np.array([[1, "1", 2][place % 3] for place in range(120)], dtype=object)
    pairs = [("a", place % 3) for place in range(120)]
    for groups, labels in ((mixed, {1, "1", 2}), (pairs, set(pairs))):
        found = pr.validate(LEARNER, X, Y, measures=[pr.Brier()], groups=groups, method="leave-one-site-out")
        assert set(found.ledger.keys["site"]) == labels
        assert set(found.parts.keys["site"].tolist()) == labels
        folded = pr.validate(
            LEARNER, X, Y, measures=[pr.Brier()], groups=groups, method="cross-validation", cv=3, seed=1
        )
        assert folded.n_folds == 3


@pytest.mark.filterwarnings("ignore:The groups parameter is ignored")
def test_splitters_that_split_groups_are_refused():
    groups = np.arange(120) // 4
    with pytest.raises(InputValueError, match=r"cv must keep each group in the training or in the test set; group"):
        pr.validate(LEARNER, X, Y, method="cross-validation", cv=StratifiedKFold(5), groups=groups, seed=1)
    found = pr.validate(LEARNER, X, Y, method="cross-validation", cv=LeaveOneGroupOut(), groups=groups // 5, seed=1)
    assert found.ledger.dependence == "cluster"
