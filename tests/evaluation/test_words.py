"""An evaluation in plain words: only what was found is said, and of the right score."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

import propriety as pr
from propriety.evaluation import words
from propriety.inference.number_words import percent
from propriety.report.group_sections import group_sections

N = 600
RNG = np.random.default_rng(7)
TRUTH = RNG.beta(1, 3, N)
Y = (RNG.random(N) < TRUTH).astype(int)
BOLD = TRUTH**2 / (TRUTH**2 + (1 - TRUTH) ** 2)
DRAWS = {"seed": 1, "n_resamples": 30}


def said(y, forecasts, **options):
    return pr.evaluate(y, forecasts, **(DRAWS | options)).summary()


@pytest.mark.parametrize(
    ("level", "told"),
    [(0.995, "(99.5% CI"), (0.975, "(97.5% CI"), (0.9999, "(99.99% CI"), (0.99999, "(99.999% CI")],
    ids=str,
)
def test_levels_are_not_rounded(level, told):
    sure = (Y == 1) ^ (np.arange(N) % 3 == 0)
    assert said(Y, np.where(sure, 0.9, 0.1), level=level).count(told) == 1


def test_a_share_below_one_is_never_all():
    assert percent(0.99996) == "99.996%"
    assert percent(1.0) == "100%"


def test_small_groups_are_told_from_those_with_an_infinite_score():
    group = np.where(np.arange(N) < 30, "few", np.where(np.arange(N) % 2, "odd", "even"))
    wrong = BOLD.copy()
    rare = (Y == 1) & (np.cumsum(Y) > 40)  # So that the event is rare and the log score ranks the models.
    kept = ~rare
    y, p, q = Y[kept], TRUTH[kept], wrong[kept].copy()
    q[np.flatnonzero((y == 1) & (group[kept] == "odd"))[0]] = 0.0
    found = pr.evaluate(y, {"sound": p, "sure": q}, by=group[kept], **DRAWS)
    assert found.problem.headline.key == "log"
    lines = found.summary().splitlines()
    assert "Too few cases or events to compare their scores: few." in lines
    assert "sure: the log score is infinite in odd." in lines
    assert not [line for line in lines if line.startswith("sound: the score is infinite")]


def test_few_clusters_are_told_as_such():
    found = said(Y, TRUTH, by=np.arange(N) % 2, cluster=np.arange(N) % 6)
    assert "Too few cases, events or clusters to compare their scores: 0, 1." in found


@pytest.mark.parametrize("groups", [100, 1], ids=["all too small", "one"])
def test_where_nothing_was_tested_no_group_is_cleared(groups):
    found = said(Y, TRUTH, by=np.arange(N) % groups).splitlines()
    assert "No group could be compared with the rest." in found
    assert not [line for line in found if "differ" in line]


def test_groups_that_were_tested_are_cleared():
    found = said(Y, TRUTH, by=np.arange(N) % 3 == 0).splitlines()
    assert "No group with enough data was found to be miscalibrated." in found
    assert "No group was found to differ from the rest in score or skill." in found
    assert "No group could be compared with the rest." not in found


# Adjusted p-values of the difference between the groups in score and in skill, which lie on both sides of 0.1.
@pytest.mark.parametrize(("seed", "score", "skill"), [(31, 0.07, 0.256), (23, 0.021, 0.111)], ids=["score", "skill"])
def test_groups_differ_at_the_level_of_the_evaluation(seed, score, skill):
    rng = np.random.default_rng(seed)
    p = rng.beta(2, 3, 300)
    y = rng.random(300) < p
    north = np.arange(300) < 120
    forecasts = {"m": np.where(north, 1 - 0.8 * (1 - p), p)}
    group = np.where(north, "north", "south")
    for level in (0.95, 0.9, 0.8, 0.7):
        result = pr.evaluate(y, forecasts, by=group, level=level, **DRAWS)
        assert result.slices.p_adjusted == pytest.approx([score, score], abs=0.001)
        assert result.group_skill.p_adjusted == pytest.approx([skill, skill], abs=0.001)
        lines = result.summary().splitlines()
        assert any("Brier skill of" in line for line in lines) == (skill <= 1 - level), level
        assert any("the Brier score differs" in line for line in lines) == (score <= 1 - level < skill), level
        assert any("No group was found to differ" in line for line in lines) == (score > 1 - level), level


def test_the_gain_of_recalibration_is_in_units_of_the_headline():
    found = said(Y, BOLD, thresholds=(0.05, 0.2))
    assert "Bounded Brier score of forecast over the thresholds from 5% to 20%: " in found
    assert "would lower its bounded Brier score of " in found


@pytest.mark.parametrize("models", [1, 2])
def test_infinite_scores_have_no_lead(models):
    p = np.where(np.arange(N) < 570, 0.02, 0.9)
    y = (np.arange(N) >= 570).astype(int)
    y[0], p[0] = 1, 0.0
    found = said(y, {"ab"[place]: p for place in range(models)})
    assert f"Log score of {'every model' if models == 2 else 'a'}: infinite" in found
    assert "owest" not in found


def test_models_that_score_the_same_share_the_lead():
    found = said(Y, {"a": TRUTH, "b": BOLD, "c": TRUTH, "d": TRUTH})
    assert "Lowest Brier score: a, c and d, 0." in found
    assert " each (95% CI " in found
    assert "Lowest Brier score: a, 0." in said(Y, {"a": TRUTH, "b": BOLD})
    assert " each (95% CI " in said(Y, {"a": TRUTH, "b": BOLD, "c": TRUTH})


def test_a_weighted_share_is_not_one_of_cases():
    found = pr.evaluate(Y, TRUTH, sample_weight=np.where(Y == 1, 10.0, 1.0), **DRAWS)
    assert f"One model on 600 cases; weighted event rate {percent(found.rates['event'])}." in str(found)


def test_one_case_is_one():
    assert "One model on 1 case; event rate 100%; 2 rows with missing values were left out." in said(
        [1, 0, 1], [0.7, None, None], missing="drop"
    )


def few_of_the_last_class():
    rng = np.random.default_rng(3)
    rows = rng.dirichlet([40.0, 40.0, 0.4], 1500)
    y = np.array([rng.choice(3, p=row) for row in rows])
    wrong = rows.copy()
    wrong[:, :2] = np.clip(rows[:, :2] + np.array([0.2, -0.2]), 0.001, None)
    return y, rows, wrong / wrong.sum(axis=1, keepdims=True)


def test_cut_points_with_few_events_are_not_cleared_with_the_others():
    y, rows, wrong = few_of_the_last_class()
    found = said(y, rows, ordered=True)
    assert "forecast is consistent with calibration for 1 of 2 cut points: 0; " in found
    assert "has too few events to tell whether it is calibrated for 1 of 2 cut points: 1." in found
    accused = said(y, wrong, ordered=True)
    assert "forecast is miscalibrated for 1 of 2 cut points: 0" in accused
    assert "consistent" not in accused


def test_there_is_one_verdict_for_all_classes():
    y, rows, wrong = few_of_the_last_class()
    assert "forecast is consistent with calibration (p = " in said(y, rows)
    accused = said(y, wrong, n_resamples=400)
    assert "forecast is miscalibrated (p " in accused
    assert "class 0: too high" in accused
    assert "class 1: too low" in accused
    assert "consistent" not in accused


def test_a_group_that_differs_on_few_events_says_so():
    rng = np.random.default_rng(9)
    group = np.where(np.arange(4000) < 400, "small", "large")
    p = rng.beta(2, 8, 4000)
    y = rng.random(4000) < np.where(group == "small", 0.06, p)
    (line,) = [one for one in said(y, {"m": p}, by=group).splitlines() if "Brier score of small" in one]
    events = int(y[group == "small"].sum())
    assert events < 50
    assert f"than that of the rest (the test is approximate: the group has only {events} events)" in line


def test_the_note_on_few_events_is_in_the_table_the_json_and_the_report():
    rng = np.random.default_rng(9)
    group = np.repeat(["large", "one-sided", "small", "tiny"], [3000, 400, 400, 100])
    p = np.where(group == "one-sided", 0.95, rng.beta(2, 8, 3900))
    y = rng.permutation(3900) % 5 == 0
    for name, rate in (("one-sided", 380), ("small", 30), ("tiny", 3)):
        y[group == name] = np.arange(np.count_nonzero(group == name)) < rate
    found = pr.evaluate(y, {"m": p}, by=group, **DRAWS)
    told = [
        "",
        "the test is approximate: the group has only 20 non-events",
        "the test is approximate: the group has only 30 events",
        "too few to test: 3 events",
    ]
    assert found.slices.note.tolist() == told
    assert found.group_skill.note.tolist() == told
    assert found.slices.is_tested.tolist() == [True, True, True, False]
    assert json.loads(found.slices.to_json())["note"] == told
    tables = {item.title: item for item in next(group_sections(found, found.slices)).items}
    for title in ("Scores by group", "Skill by group"):
        assert tables[title].columns["note"] == [note or None for note in told]
    alone = pr.slices(y[group == "small"], p[group == "small"], by=group[group == "small"])
    assert alone.note.tolist() == [""]  # There is no rest to test it against.


def evaluation(**parts):
    """Return what the words are made from, with two models on 1,234 cases unless the parts say otherwise."""
    plain = {"models": ("a", "b"), "kind": "binary", "n": 1234, "dropped": 0, "is_weighted": False, "dependence": None}
    plain |= {"rates": {"event": 0.125}, "level": 0.95, "best": "a"}
    plain |= {"ledger": SimpleNamespace(cases=None, censoring=None, event_note="", where_cases_are="the cases")}
    return SimpleNamespace(**(plain | parts))


def test_the_cases_are_counted_with_their_kind_and_what_was_left_out():
    assert words.cases_words(evaluation()) == "2 models on 1,234 cases; event rate 12.5%."
    one = evaluation(models=("a",), n=1, dropped=1, is_weighted=True)
    left = "1 row with missing values was left out"
    assert words.cases_words(one) == f"One model on 1 case; weighted event rate 12.5%; {left}."
    rates = {"x": 0.5, "y": 0.25, "z": 0.25}
    graded = evaluation(kind="ordinal", rates=rates, dropped=2)
    assert words.cases_words(graded) == (
        "2 models on 1,234 cases of 3 grades; 2 rows with missing values were left out."
    )
    assert words.cases_words(evaluation(kind="multiclass", rates=rates)) == "2 models on 1,234 cases of 3 classes."
    ledger = SimpleNamespace(censoring=None, event_note="the second column")
    assert words.cases_words(evaluation(ledger=ledger)).endswith("event rate 12.5% (event: the second column).")
    ledger = SimpleNamespace(censoring=SimpleNamespace(n=1300, horizon=2.5, is_weighted=False), event_note="")
    assert words.cases_words(evaluation(ledger=ledger, dropped=6)) == (
        "2 models on 1,300 cases; 60 of them censored before 2.5, the others weighted to represent them; "
        "event rate by 2.5: 12.5%; 6 rows with missing values were left out."
    )


def test_what_needs_the_cases_is_named_once():
    def estimates(*labels):
        own = {name: SimpleNamespace(measure=SimpleNamespace(label=name), is_without=True) for name in labels}
        return {"a": own | {"n": SimpleNamespace(measure=SimpleNamespace(label="n"), is_without=False)}, "b": own}

    gains = SimpleNamespace(reasons={"a": "no folds"})
    shared = {"ranking": None, "recalibration": gains}
    one = evaluation(models=("a",), estimates=estimates("skill"), **shared)
    assert list(words.absent_words(one)) == ["The interval of skill needs the cases."]
    both = evaluation(estimates=estimates("slope", "skill"), is_weighted=True, **shared)
    assert list(words.absent_words(both)) == [
        "The intervals of skill and slope, the gain of recalibration and the ranking map need the cases."
    ]
    rows = evaluation(kind="multiclass", estimates=estimates(), dependence="clusters", **shared)
    assert list(words.absent_words(rows)) == ["The gain of recalibration and the confusion matrix need the cases."]
    only = evaluation(kind="ordinal", estimates=estimates(), **shared)
    assert list(words.absent_words(only)) == ["The confusion matrix needs the cases."]
    assert not list(words.absent_words(evaluation(models=("a",), estimates=estimates(), **shared)))
    ranked = evaluation(estimates=estimates(), ranking="a map", recalibration=gains)
    assert not list(words.absent_words(ranked))


def test_the_curves_that_are_drawn_are_named():
    tables = {"a": dict.fromkeys("xyz")}
    few = evaluation(kind="ordinal", drawn_classes=["x", "y", "z"], tables=tables)
    assert words.drawn_words(few) == "The curves of all cut points are drawn for a, which has the best score."
    alone = evaluation(kind="multiclass", models=("a",), drawn_classes=["x"], tables=tables)
    assert words.drawn_words(alone) == (
        "The curves are those of the 1 classes with the strongest evidence of miscalibration, of 3; "
        "all are in the table."
    )


def test_directions_and_differences_are_told_in_full():
    assert words._directions_words(["refuted", "too high", "too timid"]) == (
        "forecasts of exactly 0 or 1 were wrong; its forecasts are too high and too timid"
    )
    assert words._directions_words(["together"]) == words.TOGETHER
    found = SimpleNamespace(
        difference=[0.0123, -0.5], measure=pr.Brier(), group=["x", "y"], model=["a", "b"], note=["", "few events"]
    )
    assert words._difference_words(found, 0) == "a: the Brier score of x is 0.0123 higher than that of the rest"
    assert (
        words._difference_words(found, 1) == "b: the Brier score of y is 0.500 lower than that of the rest (few events)"
    )
    found.event_rate = [0.25, 0.5]
    two = "the Brier score differs from that of the rest in x (0.0123 higher; event rate 25%)"
    assert words._differences_words(found, [0]) == f"a: {two}"
    assert words._differences_words(found, [0, 1]) == f"a: {two} and y (0.500 lower; event rate 50%; few events)"
    many = words._differences_words(found, [0] * 10)
    assert many.endswith("event rate 25%) and 2 more")
    rate = ". A different event rate (12.5% overall) by itself changes the score"
    none = SimpleNamespace(event_rate=None)
    for rows, told in (([0], "this group"), ([0, 1], "these groups")):
        skill = f"; no difference in skill was found for {told}"
        assert words._rate_words(evaluation(), found, rows, tested=True) == f"{rate}{skill}"
        assert words._rate_words(evaluation(), none, rows, tested=True) == skill
    assert words._rate_words(evaluation(), found, [0], tested=False) == rate
    assert words._rate_words(evaluation(), none, [0], tested=False) == ""


def test_a_note_that_all_sentences_share_is_given_once():
    rng = np.random.default_rng(3)
    hospital = np.arange(2000) % 12
    p = rng.beta(1, 9, 2000)
    y = rng.random(2000) < p
    two = pr.evaluate(y, {"a": p, "b": p**1.2}, cluster=hospital, seed=1).summary()
    assert two.count("may be too narrow") == 1
    one = pr.evaluate(y, {"a": p}, cluster=hospital, seed=1).summary()
    assert one.count("may be too narrow") == 1
    assert one.splitlines()[-1] == "Based on 12 clusters: intervals may be too narrow."
    named = pr.evaluate(y, {"a. Note: b": p}, cluster=hospital, seed=1).summary()
    assert named.replace("a. Note: b", "a") == one
