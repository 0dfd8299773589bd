"""Gates: how a condition is read, and on what it is tried."""

import json
import math
from dataclasses import replace
from xml.etree import ElementTree as ET

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

import propriety as pr
from propriety.cli.gate_facts import Facts, GroupNumbers, Numbers
from propriety.cli.gate_grammar import Group, Inequality, Miscalibrated, Number, Path, Relation, parse_condition
from propriety.cli.gates import OPERATORS, check_gates
from propriety.errors import InputValueError
from propriety.inference.group_rows import group_rows

names = st.text('aé/_. -+1=<>"', min_size=1) | st.sampled_from(
    ["worse than", "baseline", "any group", "a worse than b"]
)
groups = st.none() | st.just(Group()) | st.builds(Group, names, names)
paths = st.builds(Path, metric=st.sampled_from(["brier", "auc_low"]), model=st.none() | names, group=groups)
sides = paths | st.builds(Path, metric=st.just("brier"), model=st.none() | names, in_baseline=st.just(value=True))
limits = st.builds(Number, st.integers(-99, 99).map(lambda one: one / 8))
right = (sides | limits).filter(lambda side: getattr(side, "group", None) != Group())


@given(
    st.builds(Inequality, sides, st.sampled_from(sorted(OPERATORS)), right)
    | st.builds(Relation, names, st.sampled_from(["better", "worse"]), names, st.booleans())
    | st.builds(lambda path: Miscalibrated(Path(metric="miscalibrated", model=path.model, group=path.group)), paths)
)
def test_what_is_written_is_read(condition):
    assert parse_condition(str(condition)) == condition


def test_spaces_and_signs():
    assert parse_condition(" model a/brier>=.2 ") == Inequality(
        Path(metric="brier", model="model a"), ">=", Number(0.2)
    )
    assert parse_condition('"a<b"/brier>=0.1') == Inequality(Path(metric="brier", model="a<b"), ">=", Number(0.1))
    assert parse_condition("0.7 > auc") == Inequality(Number(0.7), ">", Path(metric="auc"))
    assert parse_condition('"x ""y"""  not worse  than b') == Relation('x "y"', "worse", "b", negated=True)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            "brier",
            "brier=0.1",
            "brier==0.1",
            ">0.1",
            "brier>",
            "brier>nan",
            "brier>1e400",
            "brier>-inf",
            "1>2",
            "a/b/c/brier>1",
            "a<b/brier>=1",
        ),
        *(
            '"a>1',
            "a worse than",
            "a worse than b c/d",
            "brier>1>2",
            "brier > any group/brier",
            "baseline/miscalibrated",
        ),
        *("sex=f", "sex=f/site=n/brier>1", "a/", "sex=/brier>1"),
    ],
)
def test_what_is_no_condition(text):
    with pytest.raises(InputValueError, match="--fail-if must"):
        parse_condition(text)


def facts(flat, models=("a",), baseline=None, groups=None):
    return Facts(numbers=Numbers(models, flat), comparison=None, baseline=baseline, groups=lambda: groups)


def checked(text, *given, **options):
    return check_gates([parse_condition(text)], facts(*given, **options))


@pytest.mark.parametrize(("sign", "fails"), [("<", False), ("<=", True), (">", False), (">=", True)])
def test_the_limit_itself(sign, fails):
    (result,) = checked(f"brier{sign}0.25", {"brier": 0.25})
    assert result.failed == fails


@pytest.mark.parametrize("sign", sorted(OPERATORS))
def test_a_number_that_is_not_known_fails(sign):
    (result,) = checked(f"auc{sign}0.5", {"auc": math.nan})
    assert result.failed
    assert "auc could not be computed" in str(result)


TWO = {"a/brier": 0.1, "b/brier": 0.2, "n": 3}


@pytest.mark.parametrize(
    ("key", "numbers", "models", "tried"),
    [
        ("brier", TWO, ("a", "b"), ["a/brier", "b/brier"]),
        ("b/brier", TWO, ("a", "b"), ["b/brier"]),
        ("n", TWO, ("a", "b"), ["n"]),
        ("brier", {"brier": 0.1}, ("a",), ["brier"]),
        ("a/brier", {"brier": 0.1}, ("a",), ["brier"]),
    ],
)
def test_the_model_may_be_left_out(key, numbers, models, tried):
    assert [result.key for result in checked(f"{key}>1", numbers, models)] == tried


def test_models_are_compared_with_each_other():
    (result,) = checked("b/brier > a/brier", TWO, ("a", "b"))
    assert (result.failed, result.value, result.limit) == (True, 0.2, 0.1)
    assert str(result) == "Gate failed: b/brier is 0.2, which is above a/brier (0.1)."
    assert [one.key for one in checked("brier >= a/brier", TWO, ("a", "b"))] == ["b/brier"]


def test_only_the_same_number_is_not_compared_with_itself():
    (result,) = checked("a/brier > brier_low", {"brier": 0.2, "brier_low": 0.1})
    assert result.failed
    limits = TWO | {"a/brier_low": 0.05, "b/brier_low": 0.1}
    assert [one.limit for one in checked("b/brier > brier_low", limits, ("a", "b"))] == [0.05, 0.1]
    rows = GroupNumbers(("sex",), {("a", "f"): {"brier": 0.1}, ("b", "f"): {"brier": 0.3}})
    results = checked("b/sex=f/brier > brier", TWO, ("a", "b"), groups=rows)
    assert [(one.key, one.limit) for one in results] == [("b/sex=f/brier", 0.1), ("b/sex=f/brier", 0.2)]


@pytest.mark.parametrize("condition", ["a/brier > brier", "brier >= brier", "a/brier < a/brier"])
def test_a_gate_without_anything_to_compare_is_refused(condition):
    with pytest.raises(InputValueError, match="--fail-if must compare two numbers; got"):
        checked(condition, {"brier": 0.2})


def test_an_earlier_evaluation_is_the_baseline():
    before = Numbers(("a", "b"), {"a/brier": 0.05, "b/brier": 0.3})
    results = checked("brier > baseline/brier", TWO, ("a", "b"), baseline=before)
    assert [(one.key, one.limit, one.failed) for one in results] == [("a/brier", 0.05, True), ("b/brier", 0.3, False)]
    alone = Numbers(("old",), {"brier": 0.15})
    assert [one.failed for one in checked("brier > baseline/brier", TWO, ("a", "b"), baseline=alone)] == [False, True]
    (result,) = checked("a/brier > baseline/old/brier", TWO, ("a", "b"), baseline=alone)
    assert str(result) == "Gate passed: a/brier is 0.1, not above baseline/brier (0.15)."
    with pytest.raises(InputValueError, match="needs an earlier evaluation"):
        checked("brier > baseline/brier", TWO, ("a", "b"))
    named = {"baseline/brier": 0.1, "b/brier": 0.2}
    assert [one.failed for one in checked("b/brier > baseline/brier", named, ("baseline", "b"))] == [True]


@pytest.mark.parametrize(
    ("condition", "told"),
    [
        ("b/briar>1", "got 'b/briar'. Hint: did you mean b/brier or a/brier?"),
        ("briar>1", "got 'briar'. Hint: did you mean brier?"),
        ("c/brier>1", "must name a model; got 'c/brier'. Hint: the models are a, b."),
        ("zzz>1", "got 'zzz'. Hint: the numbers are brier."),
        ("a worse than B", "did you mean b?"),
        ("a worse than b", "tested on the same cases"),
        ("sex=f/brier>1", "needs groups; got 'sex=f/brier'. Hint: name their columns by --by; a ledger"),
    ],
)
def test_unknown_names_list_those_that_are_near(condition, told):
    with pytest.raises(InputValueError) as raised:
        checked(condition, TWO, ("a", "b"))
    assert told in str(raised.value)


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("a/miscalibrated", 1.0, "Gate failed: a is miscalibrated."),
        ("a/miscalibrated", 0.0, "Gate passed: a is not, or only slightly, miscalibrated."),
        (
            "a/miscalibrated",
            math.nan,
            "Gate failed: whether a is miscalibrated cannot be told: there are too few events or cases.",
        ),
    ],
)
def test_a_verdict_is_told_in_words(key, value, words):
    given = replace(facts({key: value, "b/miscalibrated": 0.0}, ("a", "b")), verdict=lambda *_: "too few")
    result, _ = check_gates([parse_condition("miscalibrated")], given)
    assert str(result) == words


ROWS = {
    ("a", "sex: f"): {"brier": 0.1, "brier_low": 0.05, "miscalibrated": 1.0},
    ("a", "sex: m"): {"brier": 0.3, "brier_low": 0.2, "miscalibrated": 0.0},
    ("a", "sex, site: f, 1"): {"brier": 0.2, "brier_low": math.nan, "miscalibrated": math.nan},
}


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        ("sex=f/miscalibrated", "Gate failed: a is miscalibrated in sex=f."),
        ("a/sex=m/miscalibrated", "Gate passed: a is not, or only slightly, miscalibrated in sex=m."),
        (
            "sex,site=f,1/miscalibrated",
            "Gate failed: whether a is miscalibrated in sex,site=f,1 cannot be told: it was not tested.",
        ),
        ("any group/miscalibrated", "Gate failed: a is miscalibrated in 1 of 2 groups: sex: f."),
        ("any group/brier>0.3", "Gate passed: any group/brier is above 0.3 in none of 3 groups."),
        ("any group/brier_low>0.1", "Gate failed: any group/brier_low is above 0.1 in 1 of 2 groups: sex: m."),
        (
            "any group/brier_low>0.2",
            (
                "Gate failed: whether any group/brier_low is above 0.2 cannot be told: it could not be computed in 1 of 3 "
                "groups: sex, site: f, 1."
            ),
        ),
        ("any group/brier>brier", "Gate failed: any group/brier is above brier (0.25) in 1 of 3 groups: sex: m."),
        ("sex=m/brier > sex=f/brier", "Gate failed: sex=m/brier is 0.3, which is above sex=f/brier (0.1)."),
    ],
)
def test_groups(condition, words):
    (result,) = checked(condition, {"brier": 0.25}, groups=GroupNumbers(("sex", "sex, site"), ROWS))
    assert str(result) == words


@pytest.mark.parametrize(
    ("condition", "told"),
    [
        ("sex=F/brier>1", "sex: f"),
        ("six=f/brier>1", "sex: f"),
        ("sex=f/briar>1", "brier"),
        ("any group/auc<1", "brier"),
    ],
)
def test_unknown_groups(condition, told):
    with pytest.raises(InputValueError) as raised:
        checked(condition, {"brier": 0.25}, groups=GroupNumbers(("sex", "sex, site"), ROWS))
    assert told in str(raised.value)


@pytest.fixture(scope="module")
def comparison():
    rng = np.random.default_rng(1)
    p = rng.random(800)
    models = {"good": p, "bad": 0.25 + p / 2, "same": p, "near": np.clip(p + 1e-4 * rng.normal(size=800), 0, 1)}
    return pr.compare(rng.random(800) < p, models)


@pytest.mark.parametrize(
    ("condition", "failed"),
    [
        ("bad worse than good", True),
        ("good worse than bad", False),
        ("good better than bad", True),
        ("good not better than bad", False),
        ("near not better than good", True),
        ("near not worse than good", True),
        ("same worse than good", False),
        ("good/brier > bad/brier", False),
        ("bad/brier_low > good/brier", True),
        ("n<900", True),
    ],
)
def test_verdicts_are_those_of_the_comparison(comparison, condition, failed):
    (result,) = check_gates([parse_condition(condition)], Facts.of_comparison(comparison))
    assert result.failed == failed
    assert result.reason.endswith(".")


def test_a_verdict_without_a_test_fails():
    untested = pr.compare([1, 1, 1], {"a": [0.5, 0.6, 0.7], "b": [0.5, 0.5, 0.7]})
    for condition in ("a worse than b", "a not worse than b"):
        (result,) = check_gates([parse_condition(condition)], Facts.of_comparison(untested))
        assert (result.failed, result.answer) == (True, "cannot be told")
        assert math.isnan(result.value)
        assert result.reason.startswith("whether a is worse than b cannot be told: ")


def test_the_numbers_of_groups_are_those_of_the_evaluation():
    rng = np.random.default_rng(1)
    p = rng.beta(1, 3, 9000)
    site = np.repeat(["north", "south", "tiny"], [4500, 4490, 10])
    y = rng.random(9000) < np.where(site == "south", np.minimum(2 * p, 1), p)
    found = pr.evaluate(y, {"a": p}, by={"site": site}, n_resamples=50, seed=1)
    facts = Facts.of_evaluation(found)
    conditions = ["site=south/miscalibrated", "site=north/miscalibrated", "site=tiny/miscalibrated"]
    conditions += ["any group/miscalibrated", "site=south/observed_expected>1.5", "site=south/brier<0"]
    results = check_gates([parse_condition(one) for one in conditions], facts)
    assert [one.failed for one in results] == [True, False, True, True, True, False]
    rows = {row.group: row.value.value for row in group_rows(found.slices)}
    assert results[-1].value == rows["south"]
    assert isinstance(facts.groups(), GroupNumbers)


def test_a_group_of_classes_that_is_too_small_to_test_does_not_pass():
    rng = np.random.default_rng(1)
    rows = rng.dirichlet([1, 1, 1], 6000)
    y = (rng.random(6000)[:, None] > rows.cumsum(axis=1)).sum(axis=1)
    site = np.repeat(["north", "south", "tiny"], [3000, 2992, 8])
    facts = Facts.of_evaluation(pr.evaluate(y, {"a": rows}, by={"site": site}, n_resamples=50, seed=1))
    conditions = ["any group/miscalibrated", "site=tiny/miscalibrated"]
    results = check_gates([parse_condition(one) for one in conditions], facts)
    untold = "cannot be told: it was not tested"
    assert str(results[0]) == f"Gate failed: whether a is miscalibrated in any group {untold} in 1 of 3 groups: tiny."
    assert str(results[1]) == f"Gate failed: whether a is miscalibrated in site=tiny {untold}."
    tested = check_gates([parse_condition("site=north/miscalibrated")], facts)
    assert str(tested[0]) == "Gate passed: a is not, or only slightly, miscalibrated in site=north."


def test_a_number_on_the_left_is_a_limit():
    evaluation = pr.evaluate([0, 1, 0, 1] * 20, np.linspace(0.1, 0.9, 80), n_resamples=20, seed=1)
    facts = Facts.of_evaluation(evaluation, None)
    (turned,) = check_gates([parse_condition("0.1<brier")], facts)
    (plain,) = check_gates([parse_condition("brier>0.1")], facts)
    assert (turned.gate, plain.gate) == ("0.1 < brier", "brier > 0.1")
    assert (turned.value, turned.limit, turned.reason) == (plain.value, plain.limit, plain.reason)
    assert turned.reason.startswith("brier is ")


def test_a_baseline_on_another_scale_is_refused():
    now = Numbers(("a",), {"brier": 0.2, "bounded_brier": 0.1}, "binary", (0.1, 0.3))
    other = Numbers(("a",), {"brier": 0.3, "bounded_brier": 0.2}, "binary", (0.3, 0.9))
    classes = Numbers(("a",), {"brier": 0.3}, "multiclass")

    def checked(condition, baseline):
        return check_gates([parse_condition(condition)], Facts(numbers=now, comparison=None, baseline=baseline))

    assert not checked("brier>baseline/brier", other)[0].failed
    with pytest.raises(InputValueError, match=r"it has thresholds 0\.3 to 0\.9, this has thresholds 0\.1 to 0\.3"):
        checked("bounded_brier>baseline/bounded_brier", other)
    with pytest.raises(InputValueError, match="its outcomes are of classes, these are of one event"):
        checked("brier>baseline/brier", classes)


@pytest.fixture
def nights(folder):
    """Write two nights of the same model: the second has fewer events, so that its headline is the log score."""
    rng = np.random.default_rng(5)
    for name, power in (("mon", 1.0), ("tue", 1.6)):
        p = rng.beta(1, 6, 1500) ** power
        y = (rng.random(1500) < p).astype(int)
        parquet.write_table(pa.table({"y": y, "p": p, "half": np.arange(1500) % 2}), folder / f"{name}.parquet")
    return folder


CASE = ("--outcome", "y", "--forecast", "p", "--resamples", "20", "--seed", "1")


def test_gains_in_another_score_are_not_compared(nights, run, refusal):
    assert run("evaluate", "mon.parquet", *CASE, "--json", "mon.json").exit_code == 0
    given = ("--baseline", "mon.json", "--fail-if", "recalibration_gain>baseline/recalibration_gain")
    told = refusal("evaluate", "tue.parquet", *CASE, *given)
    assert "--baseline must be on the scale of this evaluation to compare recalibration_gain" in told
    assert "its gains are in the score brier, these in log" in told
    assert "another" not in run("evaluate", "mon.parquet", *CASE, *given).stderr
    assert "brier, these in" in refusal("evaluate", "mon.parquet", *CASE, *given, "--thresholds", "0.2")


def test_groups_have_one_score_and_the_error_says_which(nights, run, refusal):
    by = (*CASE, "--by", "half", "--fail-if", "any group/brier>0.9")
    assert run("evaluate", "mon.parquet", *by).exit_code == 0
    told = refusal("evaluate", "tue.parquet", *by)
    assert "groups have the score log: log if fewer than 10% of the cases are events, else brier." in told


@pytest.mark.parametrize("path", ["any group/brier", "half=1/brier"])
def test_groups_of_the_baseline_are_refused(nights, run, refusal, path):
    assert run("evaluate", "mon.parquet", *CASE, "--json", "mon.json").exit_code == 0
    given = ("--by", "half", "--baseline", "mon.json", "--fail-if", f"baseline/{path}>0.1")
    assert "cannot refer to groups of the baseline" in refusal("evaluate", "mon.parquet", *CASE, *given)


def test_small_groups_of_classes_were_not_tested(folder, run):
    rng = np.random.default_rng(6)
    rows = rng.dirichlet([1, 1, 1], 300)
    y = (rng.random(300)[:, None] > rows.cumsum(axis=1)[:, :-1]).sum(axis=1)
    cases = {"y": y, **{f"p{place}": rows[:, place] for place in range(3)}, "g": np.arange(300) % 20}
    parquet.write_table(pa.table(cases), folder / "k.parquet")
    given = ("--outcome", "y", "--forecast", "m=p0,p1,p2", "--resamples", "20", "--seed", "1", "--by", "g")
    found = run("evaluate", "k.parquet", *given, "--fail-if", "any group/miscalibrated")
    assert found.exit_code == 1
    reason = "it was not tested in 20 of 20 groups: 0; 1; 2; 3; 4 and 15 more."
    assert f"Gate failed: whether m is miscalibrated in any group cannot be told: {reason}" in found.stderr


def test_a_number_of_all_models_is_compared_once(nights, folder, run):
    assert run("evaluate", "mon.parquet", *CASE, "--json", "mon.json").exit_code == 0
    two = ("--outcome", "y", "--forecast", "honest", "--forecast", "bold", "--resamples", "20", "--seed", "1")
    found = run("evaluate", "p.parquet", *two, "--baseline", "mon.json", "--fail-if", "n<baseline/n")
    assert found.exit_code == 1
    assert found.stderr.count("n is 300, which is below baseline/n (1500).") == 1


# 15 cases with one event, of which no test can tell much.
FEW_FORECASTS = [0.116, 0.06, 0.086, 0.013, 0.075, 0.136, 0.251, 0.118, 0.106, 0.062, 0.029, 0.105, 0.288, 0.176, 0.221]
FEW_OUTCOMES = [0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0]
DRAWS = {"n_resamples": 20, "seed": 1}


def test_a_gate_does_not_pass_on_what_was_not_tested(folder, run):
    """The summary said "too few events to tell", the gate passed with exit code 0, and the JSON had 0.0."""
    rows = [f"{y},{p}" for y, p in zip(FEW_OUTCOMES, FEW_FORECASTS, strict=True)]
    (folder / "few.csv").write_text("\n".join(["y,p", *rows]))
    outputs = ("--json", "g.json", "--junit", "g.xml", "--markdown", "g.md")
    done = run("evaluate", "few.csv", *CASE, "--fail-if", "miscalibrated", *outputs)
    reason = "whether p is miscalibrated cannot be told: there are too few events or cases."
    assert "Not enough data to tell" in done.stdout
    assert (done.exit_code, f"Gate failed: {reason}" in done.stderr) == (1, True)
    found = json.loads((folder / "g.json").read_text())
    assert (found["metrics"]["miscalibrated"], found["calibration"]["p"]["verdict"]) == (None, "too few")
    (gate,) = found["gates"]
    assert gate == {
        "gate": "miscalibrated",
        "key": "miscalibrated",
        "value": None,
        "limit": None,
        "answer": "cannot be told",
        "failed": True,
        "reason": reason,
    }
    (failure,) = ET.parse(folder / "g.xml").getroot().iter("failure")  # noqa: S314
    assert (failure.get("type"), failure.get("message")) == ("cannot be told", reason)
    assert "| ❌ cannot be told | miscalibrated |" in (folder / "g.md").read_text(encoding="utf-8")


def few_events():
    return pr.evaluate(FEW_OUTCOMES, FEW_FORECASTS, **DRAWS)


def one_class():
    return pr.evaluate([0] * 15, FEW_FORECASTS, **DRAWS)


def too_few_clusters():
    rng = np.random.default_rng(1)
    p = rng.random(600)
    return pr.evaluate(rng.random(600) < p, p, cluster=np.arange(600) % 5, **DRAWS)


def stored_clusters():
    rng = np.random.default_rng(1)
    p = rng.random(600)
    ledger = pr.condense((rng.random(600) < p) * 1, p, cluster=np.arange(600) % 50)
    return pr.evaluate(replace(ledger, source=None), **DRAWS)


def few_classes():
    rng = np.random.default_rng(1)
    rows = rng.dirichlet([1.0, 1.0, 1.0], 15)
    return pr.evaluate((rng.random(15)[:, None] > rows.cumsum(axis=1)).sum(axis=1), rows, **DRAWS)


def one_rare_grade():
    """Of three grades, one happens in 1 of 600 cases: its cut point has too few events, the other enough."""
    rng = np.random.default_rng(1)
    p = rng.uniform(0.2, 0.8, 600)
    y = (rng.random(600) < p) * 1
    y[0] = 2
    return pr.evaluate(y, np.column_stack([1 - p, 0.998 * p, 0.002 * p]), ordered=True, **DRAWS)


def many_grades():
    rows = np.full((300, 130), 1 / 130)
    return pr.evaluate(np.arange(300) % 130, rows, ordered=True, labels=list(range(130)), **DRAWS)


UNTOLD_CASES = [few_events, one_class, too_few_clusters, stored_clusters, few_classes, one_rare_grade, many_grades]


@pytest.mark.parametrize("evaluated", UNTOLD_CASES, ids=lambda one: one.__name__)
def test_a_verdict_that_cannot_be_told_is_neither_yes_nor_no(evaluated):
    found = evaluated()
    (model,) = found.models
    assert math.isnan(found.miscalibrated[model])
    assert math.isnan(found.to_dict()["miscalibrated"])
    for condition in ("miscalibrated", "miscalibrated > 0.5", "miscalibrated < 0.5"):
        (result,) = check_gates([parse_condition(condition)], Facts.of_evaluation(found))
        assert (result.failed, result.answer, " cannot be told: " in result.reason) == (True, "cannot be told", True)


def test_groups_with_too_few_events_do_not_pass():
    rng = np.random.default_rng(1)
    p = np.where(np.arange(5400) < 5000, rng.beta(2, 4, 5400), 0.01)
    site = np.repeat(["busy", "quiet"], [5000, 400])
    found = pr.evaluate((rng.random(5400) < p) * 1, {"a": p}, by={"site": site}, **DRAWS)
    tests = found.group_calibration.where(measure="calibration")
    assert tests.verdict.tolist() == ["good", "too few"]
    conditions = ["site=busy/miscalibrated", "site=quiet/miscalibrated", "any group/miscalibrated"]
    results = check_gates([parse_condition(one) for one in conditions], Facts.of_evaluation(found))
    assert [one.answer for one in results] == ["no", "cannot be told", "cannot be told"]
    few = "cannot be told: there are too few events or cases"
    assert results[1].reason == f"whether a is miscalibrated in site=quiet {few}."
    assert results[2].reason == f"whether a is miscalibrated in any group {few} in 1 of 2 groups: quiet."


@pytest.mark.parametrize("condition", ["auc<0.6", "0.6>auc_low", "calibration_slope<0.5"])
def test_a_number_of_one_class_does_not_pass(condition):
    (result,) = check_gates([parse_condition(condition)], Facts.of_evaluation(one_class()))
    assert (result.failed, result.answer) == (True, "cannot be told")
    assert result.reason.endswith("could not be computed.")


def test_a_number_that_the_baseline_does_not_have_does_not_pass(folder, run, refusal):
    stored = {"schema": "propriety.evaluation", "version": 1, "models": ["p"], "kind": "binary"}
    (folder / "old.json").write_text(json.dumps({**stored, "metrics": {"auc": None}}))
    given = ("evaluate", "p.csv", "--outcome", "y", "--forecast", "p=honest", "--resamples", "20", "--seed", "1")
    given = (*given, "--baseline", "old.json", "--fail-if")
    done = run(*given, "auc<baseline/auc")
    reason = "whether auc is below baseline/auc cannot be told: baseline/auc could not be computed."
    assert (done.exit_code, f"Gate failed: {reason}" in done.stderr) == (1, True)
    assert "must name a number of the evaluation" in refusal(*given, "brier>baseline/brier")
    assert "needs an earlier evaluation" in refusal(*given[:-3], "--fail-if", "brier>baseline/brier")
