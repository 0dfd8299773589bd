"""The advice: every call runs, every problem has an answer, and what it says of measures is true."""

import itertools
import re
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import propriety as pr
from propriety.decisions.advice import WIDTH, Advice, advise
from propriety.decisions.top_k import top_k
from propriety.decisions.weighted_regret import h_measure
from propriety.errors import InputTypeError, InputValueError

PROBLEMS = [
    {"decisions": decisions, "thresholds": thresholds, "outcome": outcome, "rare": rare, "need": need}
    for decisions, thresholds, outcome, rare, need in itertools.product(
        ["independent", "capacity"],
        [None, 0.2, 0.5, (0.05, 0.2), (0.0, 0.3), (0.2, 1.0)],
        ["binary", "multiclass", "ordinal"],
        [False, True],
        ["probabilities", "ranks", "decisions"],
    )
]
CALLS = sorted({entry.call for problem in PROBLEMS for entry in advise(**problem).recommended})

# Until the lead exports them, the functions of this part of the package are given to the calls by name.
NAMES = SimpleNamespace(**{"top_k": top_k, "h_measure": h_measure} | {name: getattr(pr, name) for name in pr.__all__})


def small_sample():
    generator = np.random.default_rng(1)
    rows = generator.dirichlet([1, 1, 1], size=60)
    y = np.array([generator.choice(3, p=row) for row in rows])
    p = generator.uniform(0.05, 0.6, size=60)
    return {"pr": NAMES, "y": y, "P": rows, "p": p}, (generator.random(60) < p).astype(int)


@pytest.mark.parametrize("call", CALLS)
def test_every_recommended_call_runs(call):
    missing = [name for name in re.findall(r"pr\.(\w+)", call) if not hasattr(NAMES, name)]
    if missing:
        pytest.skip(f"propriety does not export {missing[0]} yet")
    names, events = small_sample()
    if "P" not in re.findall(r"\w+", call):
        names["y"] = events
    assert eval(call, names) is not None  # noqa: S307  (the calls of the package itself)


@pytest.mark.parametrize("problem", PROBLEMS, ids=str)
def test_every_problem_has_an_answer_without_contradiction(problem):
    advice = advise(**problem)
    assert isinstance(advice, Advice)
    assert advice.recommended
    assert advice.misleading
    used, avoided = ([entry.measure for entry in entries] for entries in (advice.recommended, advice.misleading))
    assert len(set(used)) == len(used)
    assert len(set(avoided)) == len(avoided)
    assert not set(used) & set(avoided)
    for entry in (*advice.recommended, *advice.misleading):
        assert re.search(r"doi:10\.|arXiv:\d", entry.reference)
        assert entry.why.endswith(".")


@pytest.mark.parametrize("problem", PROBLEMS, ids=str)
def test_the_text_fits_a_terminal_and_tells_everything(problem):
    advice = advise(**problem)
    text = repr(advice)
    calls = {entry.call for entry in advice.recommended}
    assert all(len(line) <= WIDTH for line in text.splitlines() if line.strip() not in calls)
    for entry in (*advice.recommended, *advice.misleading):
        assert f"\n  {entry.measure}\n" in text
    assert all(f"      {call}\n" in text for call in calls)


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
    assert "cost=0.1" in advise(decisions="capacity", thresholds=0.1).recommended[0].call


def test_between_the_cells():
    assert first(thresholds=(0.1, 0.2)) == "bounded Brier score"
    assert first(thresholds=(0.1, 0.2), rare=True) == "bounded log score"
    assert first(thresholds=(0.0, 0.2), rare=True) == "bounded Brier score"
    assert first(need="ranks") == "H-measure"
    assert first(outcome="ordinal") == "ranked probability score"
    assert first(outcome="multiclass", thresholds=0.3) == "regret at the threshold of each class"


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
        ({"outcome": "count"}, "outcome must be one of"),
        ({"need": "money"}, "need must be one of"),
        ({"thresholds": 0.0}, "thresholds must lie strictly between 0 and 1; got 0.0"),
        ({"thresholds": 20}, "thresholds must lie strictly between 0 and 1; got 20"),
        ({"thresholds": (0.3, 0.1)}, "0 <= low < high <= 1"),
    ],
    ids=["decisions", "outcome", "need", "zero", "percent", "order"],
)
def test_problems_that_are_refused(problem, message):
    with pytest.raises(InputValueError, match=re.escape(message)):
        advise(**problem)


@pytest.mark.parametrize("thresholds", ["0.2", (0.1, 0.2, 0.3), True], ids=str)
def test_what_is_no_threshold(thresholds):
    with pytest.raises(InputTypeError, match="thresholds must be None, a number, or a pair"):
        advise(thresholds=thresholds)
