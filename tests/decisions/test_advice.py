"""The advice: every call runs, every problem has an answer, and what it says of measures is true."""

import itertools
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import propriety as pr
from propriety.decisions.recommendations import WIDTH, Advice, advise
from propriety.errors import InputTypeError, InputValueError

PROBLEMS = [
    {"decisions": decisions, "thresholds": thresholds, "kind": outcome, "rare": rare, "need": need}
    for decisions, thresholds, outcome, rare, need in itertools.product(
        ["independent", "capacity"],
        [None, 0.2, 0.5, (0.05, 0.2), (0.0, 0.3), (0.2, 1.0)],
        ["binary", "multiclass", "ordinal"],
        [False, True],
        ["probabilities", "ranks", "decisions"],
    )
]
CALLS = sorted({entry.call for problem in PROBLEMS for entry in advise(**problem).recommended})


def small_sample():
    generator = np.random.default_rng(1)
    rows = generator.dirichlet([1, 1, 1], size=60)
    y = np.array([generator.choice(3, p=row) for row in rows])
    p = generator.uniform(0.05, 0.6, size=60)
    return {"pr": pr, "y": y, "P": rows, "p": p}, (generator.random(60) < p).astype(int)


@pytest.mark.parametrize("call", CALLS)
def test_every_recommended_call_runs(call):
    names, events = small_sample()
    if "P" not in re.findall(r"\w+", call):
        names["y"] = events
    assert eval(call, names) is not None  # noqa: S307  (the calls of the package itself)


def test_every_problem_has_an_answer_without_contradiction():
    for problem in PROBLEMS:
        advice = advise(**problem)
        assert isinstance(advice, Advice), problem
        assert advice.recommended, problem
        assert advice.misleading, problem
        used, avoided = ([entry.measure for entry in entries] for entries in (advice.recommended, advice.misleading))
        assert len(set(used)) == len(used), problem
        assert len(set(avoided)) == len(avoided), problem
        assert not set(used) & set(avoided), problem
        for entry in (*advice.recommended, *advice.misleading):
            assert re.search(r"doi:10\.|arXiv:\d", entry.reference), problem
            assert entry.why.endswith("."), problem


def test_the_text_fits_a_terminal_and_tells_everything():
    for problem in PROBLEMS:
        advice = advise(**problem)
        text = repr(advice)
        calls = {entry.call for entry in advice.recommended}
        assert all(len(line) <= WIDTH for line in text.splitlines() if line.strip() not in calls), problem
        for entry in (*advice.recommended, *advice.misleading):
            assert f"\n  {entry.measure}\n" in text, problem
        assert all(f"      {call}\n" in text for call in calls), problem


def test_tables_and_data():
    advice = advise(thresholds=(0.05, 0.2))
    frame = advice.to_frame(backend="polars")
    assert frame.columns == ["advice", "measure", "call", "why", "reference"]
    assert frame["advice"].to_list().count("use") == len(advice.recommended)
    data = advice.to_dict()
    assert data["thresholds"] == [0.05, 0.2]
    assert data["recommended"][0]["call"] == "pr.bounded_brier_score(y, p, thresholds=(0.05, 0.2))"
    assert data["misleading"][0]["measure"] == "accuracy"
    page = advice._repr_html_()
    assert page.count("<tr>") == 1 + len(frame)
    assert "<code>pr.bounded_brier_score(y, p, thresholds=(0.05, 0.2))</code>" in page
    assert "<0985" not in page


def first(**problem):
    return advise(**problem).recommended[0].measure


def avoided(**problem):
    return [entry.measure for entry in advise(**problem).misleading]


def test_the_four_cells_of_the_taxonomy():
    assert first() == "Brier score"
    assert first(thresholds=0.1) == "regret at the threshold"
    assert first(decisions="capacity") == "net benefit of the top k"
    assert first(decisions="capacity", thresholds=0.1) == "net benefit of the top k"
    assert "thresholds=0.1" in advise(decisions="capacity", thresholds=0.1).recommended[0].call


def test_between_the_cells():
    assert first(thresholds=(0.1, 0.2)) == "bounded Brier score"
    assert first(thresholds=(0.1, 0.2), rare=True) == "bounded log score"
    assert first(thresholds=(0.0, 0.2), rare=True) == "bounded Brier score"
    assert first(need="ranks") == "H-measure"
    assert first(kind="ordinal") == "ranked probability score"
    assert first(kind="multiclass", thresholds=0.3) == "regret at the threshold of each class"


def test_what_misleads_depends_on_the_decision():
    assert "accuracy" in avoided()
    assert "accuracy" not in avoided(thresholds=0.5)
    assert "full Brier and log score" not in avoided()
    assert "full Brier and log score" in avoided(thresholds=(0.1, 0.2))
    assert "net benefit at a fixed threshold" in avoided(decisions="capacity", thresholds=0.2)


cases = st.lists(st.tuples(st.booleans(), st.integers(0, 10).map(lambda tenths: tenths / 10)), min_size=1, max_size=20)


@given(cases, st.floats(0.05, 0.95))
def test_net_benefit_is_prevalence_less_the_scaled_regret(drawn, threshold):
    y, p = (np.array(column) for column in zip(*drawn, strict=True))
    acts = p >= threshold
    benefit = (acts & y).mean() - (acts & ~y).mean() * threshold / (1 - threshold)
    regret = pr.mean_score(y, p, rule=pr.Elementary(threshold))
    assert y.mean() - regret / (1 - threshold) == pytest.approx(benefit, abs=1e-12)
    half = pr.mean_score(y, p, rule=pr.Elementary(0.5))
    accuracy = ((p >= 0.5) == y).mean()
    assert accuracy == pytest.approx((y.mean() - 2 * half) + 1 - y.mean(), abs=1e-12)


def test_the_numbers_of_the_opposite_ranks(golden):
    given_, _ = golden("rank_reversal_brier_vs_nb")
    text = next(e.why for e in advise(thresholds=(0.1, 0.9)).misleading if e.measure.startswith("mean net benefit"))
    for forecast in (given_["s_all"], given_["s_none"]):
        regret = pr.bounded_brier_score(given_["y"], forecast, thresholds=(0.1, 0.9))
        benefit = pr.bounded_net_benefit(given_["y"], forecast, thresholds=(0.1, 0.9))
        assert f"{round(float(regret), 3):g}" in text
        assert f"{round(float(benefit), 3):g}" in text


def test_the_breast_cancer_data_say_what_is_said_of_them(golden):
    _, models = golden("bcsc_table2")
    constant = models["climatological"]
    others = {name: model for name, model in models.items() if name != "climatological"}
    assert all(constant["brier"] < model["brier"] for model in others.values())
    worst = max(others, key=lambda name: others[name]["brier"])
    best = min(models, key=lambda name: models[name]["printed_interval_prob"]["avg_regret"])
    assert worst == best == "xgboost_2pct"


@pytest.mark.parametrize(
    ("problem", "message"),
    [
        ({"decisions": "alone"}, 'decisions must be one of "independent", "capacity"; got \'alone\''),
        ({"kind": "count"}, "kind must be one of"),
        ({"need": "money"}, "need must be one of"),
        ({"thresholds": 0.0}, "thresholds must lie strictly between 0 and 1; got 0.0"),
        ({"thresholds": 20}, "thresholds must lie strictly between 0 and 1; got 20"),
        ({"thresholds": (0.3, 0.1)}, "0 <= low < high <= 1"),
    ],
    ids=["decisions", "kind", "need", "zero", "percent", "order"],
)
def test_problems_that_are_refused(problem, message):
    with pytest.raises(InputValueError, match=re.escape(message)):
        advise(**problem)


@pytest.mark.parametrize("thresholds", ["0.2", (0.1, 0.2, 0.3), True], ids=str)
def test_what_is_no_threshold(thresholds):
    with pytest.raises(InputTypeError, match="thresholds must be None, a number, or a pair"):
        advise(thresholds=thresholds)


def entries():
    """Return all that is ever said of measures."""
    advices = [advise(**problem) for problem in PROBLEMS]
    return {entry for advice in advices for entry in (*advice.recommended, *advice.misleading)}


def test_measures_have_the_names_of_the_field():
    words = {word for entry in entries() for word in entry.measure.split()}
    assert {word for word in words if word != word.lower()} == {"Brier", "AUC", "F1", "H-measure"}
    assert not words & {"brier", "auc", "f1", "h-measure"}
    assert all(re.fullmatch(r"[\w-]+", word) and "xx" not in word.lower() for word in words)


def test_reasons_are_plain_sentences():
    for entry in entries():
        assert re.fullmatch(r"[A-Z].*\.", entry.why)
        assert "XX" not in entry.why
        assert set(re.findall(r"\b[A-Z]{2,}\b", entry.why)) <= {"AUC", "NB"}
        assert not re.search(r"(?<!al)\. [a-z]", entry.why)
        assert not re.search(r"\b(auc|brier|flores|nb|f1)\b", entry.why)
        assert "XX" not in entry.reference


def test_calls_are_calls():
    calls = {entry.call for problem in PROBLEMS for entry in advise(**problem).recommended}
    assert all(re.match(r"(\{label: )?pr\.[a-z_]+\(", call) for call in calls)
    assert calls == set(CALLS)


MEASURES = {
    "any": ({}, ["Brier score", "log score", "skill", "decomposition", "regret curve"]),
    "any, rare": ({"rare": True}, ["log score", "Brier score", "skill", "decomposition", "regret curve"]),
    "between": (
        {"thresholds": (0.05, 0.2)},
        ["bounded Brier score", "bounded log score", "bounded skill", "bounded decomposition", "decision curve"],
    ),
    "between, rare": (
        {"thresholds": (0.05, 0.2), "rare": True},
        ["bounded log score", "bounded Brier score", "bounded skill", "bounded decomposition", "decision curve"],
    ),
    "from zero": (
        {"thresholds": (0.0, 0.2), "rare": True},
        ["bounded Brier score", "bounded skill", "bounded decomposition", "decision curve"],
    ),
    "up to one": (
        {"thresholds": (0.2, 1.0)},
        ["bounded Brier score", "bounded skill", "bounded decomposition", "decision curve"],
    ),
    "at one": (
        {"thresholds": 0.1},
        ["regret at the threshold", "decision curve", "decomposition at the threshold"],
    ),
    "ranks": ({"need": "ranks"}, ["H-measure", "discrimination"]),
    "ranks, rare": (
        {"need": "ranks", "rare": True},
        ["H-measure", "H-measure around the event rate", "discrimination"],
    ),
    "capacity": (
        {"decisions": "capacity"},
        ["net benefit of the top k", "the top k at several capacities", "Brier score"],
    ),
    "classes": ({"kind": "multiclass"}, ["Brier score", "log score", "skill", "decomposition"]),
    "order": ({"kind": "ordinal"}, ["ranked probability score", "skill", "decomposition"]),
}
CALIBRATION = ["reliability curve", "check of calibration"]


@pytest.mark.parametrize(("problem", "measures"), MEASURES.values(), ids=MEASURES)
def test_what_is_recommended_in_which_order(problem, measures):
    each = {"multiclass": " of each class", "ordinal": " of each cut point"}.get(problem.get("kind"), "")
    calibration = CALIBRATION if not each else [CALIBRATION[0] + each, CALIBRATION[1]]
    calibration = [] if problem.get("need") == "ranks" else calibration
    assert [entry.measure for entry in advise(**problem).recommended] == measures + calibration


def test_decisions_alone_need_other_measures():
    def used(**problem):
        return [entry.measure for entry in advise(need="decisions", **problem).recommended]

    assert used() == ["Brier score", "log score", "skill", "decision curve", "decomposition", "regret curve"]
    assert used(thresholds=(0.1, 0.3))[-1] == "mean net benefit"
    assert used(thresholds=(0.1, 1.0))[-1] == "decision curve"
    assert used(kind="multiclass")[-1] == "penalized Brier score"
    assert "penalized Brier score" not in used(kind="ordinal")
    assert used(decisions="capacity") == ["net benefit of the top k", "the top k at several capacities"]


def test_what_is_warned_of():
    bins, ties = "calibration error in bins", "penalized scores in which ties count as correct"
    order = "squared absolute ranked probability score"
    full, opposite = "full Brier and log score", "mean net benefit together with a bounded score"
    assert avoided() == ["accuracy", "AUC", "F1", bins]
    assert avoided(need="ranks") == ["accuracy", "AUC", "F1"]
    assert avoided(thresholds=0.5) == ["AUC", "F1", full, bins]
    assert avoided(thresholds=0.5, kind="multiclass") == ["accuracy", "AUC", "F1", full, ties, bins]
    assert avoided(kind="ordinal") == ["accuracy", "AUC", "F1", order, bins]
    assert avoided(thresholds=(0.1, 0.2)) == ["accuracy", "AUC", "F1", full, opposite, bins]
    fixed = "net benefit at a fixed threshold"
    assert avoided(decisions="capacity", thresholds=(0.1, 0.2)) == ["accuracy", "AUC", "F1", fixed, bins]
    assert avoided(decisions="capacity", thresholds=0.5)[0] == "accuracy"


def test_why_accuracy_and_area_mislead_depends_on_the_problem():
    def why(measure, **problem):
        return next(entry.why for entry in advise(**problem).misleading if entry.measure == measure)

    assert "threshold 1/2" in why("accuracy")
    assert "rare" not in why("accuracy")
    assert why("accuracy", rare=True).endswith(
        "Never acting on a rare event is almost always right, and worth nothing."
    )
    assert why("accuracy", kind="multiclass").startswith("It depends only on the most likely class")
    assert why("accuracy", kind="ordinal").endswith("It ignores the order of the classes.")
    assert "capacities" in why("AUC", decisions="capacity")
    assert "capacities" not in why("AUC")


def test_the_page_begins_with_the_problem_and_ends_with_the_legend():
    advice = advise(thresholds=(0.05, 0.2), rare=True)
    lines = repr(advice).splitlines()
    blank = lines.index("")
    assert " ".join(lines[:blank]) == f"Advice for {advice.problem}"
    assert lines[blank + 1] == "Use"
    assert lines.count("Beware of") == 1
    assert lines[lines.index("Beware of") - 1] == ""
    assert lines[-2:] == ["", "`pr` is propriety, `y` the outcomes, `p` the probability of the event."]
    page = advice._repr_html_()
    assert page.startswith(f"<p>Advice for {advice.problem}. `pr` is propriety")
    head = "".join(f"<th>{name}</th>" for name in ("advice", "measure", "call", "why", "reference"))
    assert f"<table><thead><tr>{head}</tr></thead><tbody><tr><td style='text-align: left'>use</td>" in page
    assert "<td style='text-align: left'></td>" in page
    assert page.endswith("</td></tr></tbody></table>")
    assert advice.to_frame(backend="polars")["call"].to_list()[-1] == ""


def test_calls_about_classes_go_through_their_tables():
    calls = [entry.call for entry in advise(kind="ordinal", thresholds=0.2).recommended]
    start, end = "{label: ", " for label, table in pr.condense(y, P, ordered=True).tables().items()}"
    assert calls[0] == start + "pr.mean_score(table, rule=pr.Elementary(0.2))" + end
    rates = advise(kind="multiclass", need="ranks", rare=True).recommended[1].call
    inside = "pr.h_measure(table, alpha=1 + table.event_rate, beta=2 - table.event_rate)"
    assert rates == "{label: " + inside + " for label, table in pr.condense(y, P).tables().items()}"
    assert advise(need="ranks", thresholds=(0.1, 0.2)).recommended[-1].call == (
        "pr.decompose(y, p, rule=pr.BoundedBrier(0.1, 0.2)).discrimination"
    )
    assert advise(need="ranks", thresholds=0.1).recommended[-1].call == "pr.decompose(y, p).discrimination"
    assert advise(rare=True).recommended[2].call == "pr.skill_score(y, p, rule=pr.Log())"
    assert advise(decisions="capacity", thresholds=(0.1, 0.2)).recommended[0].call == "pr.top_k(y, p, k=10)"
