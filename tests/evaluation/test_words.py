"""An evaluation in plain words: only what was found is said, and of the right score."""

from types import SimpleNamespace

import numpy as np
import pytest
from sliced import Sliced, slices

import propriety as pr
from propriety.evaluation import words
from propriety.number_words import percent
from propriety.report.group_sections import group_sections

N = 600
RNG = np.random.default_rng(7)
TRUTH = RNG.beta(1, 3, N)
Y = (RNG.random(N) < TRUTH).astype(int)
BOLD = TRUTH**2 / (TRUTH**2 + (1 - TRUTH) ** 2)
DRAWS = {"seed": 1, "n_resamples": 30}


def card(y, forecasts, **options):
    return pr.evaluate(y, forecasts, **(DRAWS | options)).card


def sentences(y, forecasts, **options):
    return card(y, forecasts, **options).sentences


def line(card, measure):
    """Return the rows of a measure by model."""
    return {row.model: row for row in card.rows if row.measure == measure}


@pytest.mark.parametrize(
    ("level", "told"),
    [(0.995, "99.5%"), (0.975, "97.5%"), (0.9999, "99.99%"), (0.99999, "99.999%")],
    ids=str,
)
def test_levels_are_not_rounded(level, told):
    sure = (Y == 1) ^ (np.arange(N) % 3 == 0)
    assert card(Y, np.where(sure, 0.9, 0.1), level=level).notes[-1].startswith(f"{told} intervals. ")


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
    assert "The log score of 'sure' is infinite in odd." in found.card.sentences
    assert not [one for one in found.card.sentences if "of 'sound' is infinite" in one]
    few = line(found.card, "Too few cases or events to tell")["sound"]
    assert (few.value, few.outcome) == (1.0, "of 3")


@pytest.mark.parametrize(
    ("by", "shared"),
    [(np.arange(N) % 100, {}), (np.arange(N) % 2, {"cluster": np.arange(N) % 6})],
    ids=["cases", "clusters"],
)
def test_where_nothing_was_tested_no_group_is_cleared(by, shared):
    found = card(Y, TRUTH, by=by, **shared)
    assert "No group could be compared with the rest." in found.sentences
    assert not line(found, "Differ from the rest in skill")


def test_groups_that_were_tested_are_cleared():
    found = card(Y, TRUTH, by=np.arange(N) % 3 == 0)
    assert "No group with enough data was found to be miscalibrated." in found.sentences
    assert "No group could be compared with the rest." not in found.sentences
    (row,) = line(found, "Differ from the rest in skill").values()
    assert (row.value, row.outcome) == (0.0, "of 2 compared")


# Adjusted p-values of the difference between the groups in score and in skill, which lie on both sides of 0.1.
@pytest.mark.parametrize(
    ("seed", "score", "skill"), [(31, 0.0427, 0.128), (23, 0.0115, 0.0555)], ids=["score", "skill"]
)
def test_groups_differ_at_the_level_of_the_evaluation(seed, score, skill):
    rng = np.random.default_rng(seed)
    p = rng.beta(2, 3, 300)
    y = rng.random(300) < p
    north = np.arange(300) < 120
    forecasts = {"m": np.where(north, 1 - 0.8 * (1 - p), p)}
    group = np.where(north, "north", "south")
    for level in (0.95, 0.9, 0.8, 0.7):
        result = pr.evaluate(y, forecasts, by=group, level=level, **DRAWS)
        assert Sliced(result.slices).p_adjusted == pytest.approx([score, score], abs=0.001)
        assert Sliced(result.group_skill).p_adjusted == pytest.approx([skill, skill], abs=0.001)
        told = result.card.sentences
        assert any("has less skill in" in one for one in told) == (skill <= 1 - level), level
        assert any(one.startswith("The Brier score differs in") for one in told) == (score <= 1 - level < skill), level
        (row,) = line(result.card, "Differ from the rest in skill").values()
        assert row.value == (2.0 if skill <= 1 - level else 0.0)


def test_the_gain_of_recalibration_is_in_units_of_the_headline():
    found = pr.evaluate(Y, BOLD, thresholds=(0.05, 0.2), **DRAWS)
    (row,) = line(found.card, "Recalibration would save, of cost").values()
    verdict = found.recalibration["forecast"].verdict
    assert row.value == verdict.gain / found.estimates["forecast"]["bounded_brier"].value
    assert any("lower the decision cost of 'forecast' by" in one for one in found.card.sentences)


@pytest.mark.parametrize("models", [1, 2])
def test_infinite_scores_have_no_lead(models):
    p = np.where(np.arange(N) < 570, 0.02, 0.9)
    y = (np.arange(N) >= 570).astype(int)
    y[0], p[0] = 1, 0.0
    found = card(y, {"ab"[place]: p for place in range(models)})
    assert {row.value for row in line(found, "Log score").values()} == {np.inf}
    assert "refer" not in found.answer
    if models == 2:
        assert found.answer == "The models cannot be compared: the log score is infinite."


def test_models_that_score_the_same_are_not_preferred_to_each_other():
    four = card(Y, {"a": TRUTH, "b": BOLD, "c": TRUTH, "d": TRUTH})
    assert (
        four.answer == "No single model is shown to be best: 'a', 'c' and 'd' are not shown to be worse than any other."
    )
    assert card(Y, {"a": TRUTH, "b": BOLD}).answer.startswith("Prefer 'a': its Brier score is 0.0")
    same = card(Y, {"a": TRUTH, "b": TRUTH})
    assert same.answer == "The models have the same score in every case: keep the simplest one."


def test_a_weighted_share_is_not_one_of_cases():
    found = pr.evaluate(Y, TRUTH, sample_weight=np.where(Y == 1, 10.0, 1.0), **DRAWS)
    assert found.card.about == f"1 model, 600 cases, weighted event rate {percent(found.rates['event'])}"


def test_one_case_is_one():
    found = card([1, 0, 1], [0.7, None, None], missing="drop")
    assert found.about == "1 model, 1 case, 1 event (100%); 2 rows with missing values were left out"


def few_of_the_last_class():
    rng = np.random.default_rng(3)
    rows = rng.dirichlet([40.0, 40.0, 0.4], 1500)
    y = np.array([rng.choice(3, p=row) for row in rows])
    wrong = rows.copy()
    wrong[:, :2] = np.clip(rows[:, :2] + np.array([0.2, -0.2]), 0.001, None)
    return y, rows, wrong / wrong.sum(axis=1, keepdims=True)


def test_cut_points_with_few_events_are_not_cleared_with_the_others():
    y, rows, wrong = few_of_the_last_class()
    found = pr.evaluate(y, rows, ordered=True, **DRAWS)
    assert list(words.calibration_sentences(found)) == [
        (
            "forecast shows no error of calibration for 1 of 2 cut points: 0; has too few events to tell whether it "
            "is calibrated for 1 of 2 cut points: 1."
        )
    ]
    assert found.card.answer.startswith("Not enough data to tell whether the probabilities of 'forecast' are right: ")
    accused = sentences(y, wrong, ordered=True)
    assert accused[0].startswith("'forecast' is miscalibrated for 1 of 2 cut points: 0")
    assert not any("no error" in one for one in accused)


def test_there_is_one_verdict_for_all_classes():
    y, rows, wrong = few_of_the_last_class()
    assert "no error of calibration was found (p = " in card(y, rows).answer
    accused = card(y, wrong, n_resamples=400)
    assert " is miscalibrated (p " in accused.answer
    assert "no error" not in accused.answer
    assert "too high for 0" in accused.sentences[0]
    assert "too low for 1" in accused.sentences[0]


def test_a_group_that_differs_on_few_events_says_so():
    rng = np.random.default_rng(9)
    group = np.where(np.arange(4000) < 400, "small", "large")
    p = rng.beta(2, 8, 4000)
    y = rng.random(4000) < np.where(group == "small", 0.06, p)
    events = int(y[group == "small"].sum())
    assert events < 50
    told = (
        f"'m' has less skill in small than in the rest (the test is approximate: the group has only {events} events)."
    )
    assert told in sentences(y, {"m": p}, by=group)


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
    groups = Sliced(found.slices)
    assert groups.note.tolist() == Sliced(found.group_skill).note.tolist() == told
    assert groups.is_tested.tolist() == [True, True, True, False]
    tables = {item.title: item for item in next(group_sections(found, found.slices)).items}
    for title in ("Scores by group", "Skill by group"):
        assert tables[title].columns["note"] == [note or None for note in told]
    alone = slices(y[group == "small"], p[group == "small"], by=group[group == "small"])
    assert alone.note.tolist() == [""]  # There is no rest to test it against.


def evaluation(**parts):
    """Return what the words are made from, with two models on 1,234 cases unless the parts say otherwise."""
    plain = {"models": ("a", "b"), "kind": "binary", "n": 1234, "dropped": 0, "is_weighted": False, "dependence": None}
    plain |= {"rates": {"event": 0.125}, "level": 0.95, "best": "a", "thresholds": None}
    plain |= {"tables": {"a": {"event": SimpleNamespace(n_events=154)}}}
    plain |= {"ledger": SimpleNamespace(cases=None, censoring=None, event_note="", where_cases_are="the cases")}
    return SimpleNamespace(**(plain | parts))


def test_the_cases_are_counted_with_their_kind_and_what_was_left_out():
    assert words.cases_words(evaluation()) == "2 models, 1,234 cases, 154 events (12.5%)"
    one = evaluation(models=("a",), n=1, dropped=1, is_weighted=True)
    left = "1 row with missing values was left out"
    assert words.cases_words(one) == f"1 model, 1 case, weighted event rate 12.5%; {left}"
    rates = {"x": 0.5, "y": 0.25, "z": 0.25}
    graded = evaluation(kind="ordinal", rates=rates, dropped=2)
    assert words.cases_words(graded) == "2 models, 1,234 cases, 3 grades; 2 rows with missing values were left out"
    assert words.cases_words(evaluation(kind="multiclass", rates=rates)) == "2 models, 1,234 cases, 3 classes"
    ledger = SimpleNamespace(censoring=None, event_note="the second column")
    assert words.cases_words(evaluation(ledger=ledger)).endswith("154 events (12.5%); event: the second column")
    ledger = SimpleNamespace(censoring=SimpleNamespace(n=1300, horizon=2.5, is_weighted=False), event_note="")
    assert words.cases_words(evaluation(ledger=ledger, dropped=6)) == (
        "2 models, 1,300 cases; 60 of them censored before 2.5, the others weighted to represent them; "
        "event rate by 2.5: 12.5%; 6 rows with missing values were left out"
    )
    assert words.cases_words(evaluation(dependence="clusters")).endswith("; cases may be correlated within clusters")


def test_what_needs_the_cases_is_named_once():
    def estimates(*labels):
        own = {name: SimpleNamespace(measure=SimpleNamespace(label=name), note=lambda _: True) for name in labels}
        return {"a": own | {"n": SimpleNamespace(measure=SimpleNamespace(label="n"), note=lambda _: None)}, "b": own}

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


def test_a_note_that_all_numbers_share_is_given_once():
    rng = np.random.default_rng(3)
    hospital = np.arange(2000) % 12
    p = rng.beta(1, 9, 2000)
    y = rng.random(2000) < p
    for models in ({"a": p, "b": p**1.2}, {"a": p}):
        told = pr.evaluate(y, models, cluster=hospital, seed=1).card.sentences
        assert [one for one in told if "may be too narrow" in one] == [
            "Based on 12 clusters: intervals may be too narrow."
        ]
