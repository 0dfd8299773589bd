"""The shape rule: every public function that takes forecasts reads every shape and container in the same way.

Run this file to write the page of shapes, `docs/reference/shapes.md`.
"""

import inspect
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import propriety as pr
from propriety.errors import InputValueError, ProprietyError
from propriety.public_names import public_names
from propriety.result import Result

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "shapes.md"
RNG = np.random.default_rng(3)
N = 64
# Sixteenths, which every number type represents exactly.
P, Q = (RNG.integers(1, 16, N) / 16 for _ in range(2))
Y = (RNG.random(N) < P).astype(int)
ROWS = RNG.multinomial(13, [0.5, 0.3, 0.2], N) / 16 + 1 / 16
OTHER_ROWS = ROWS[::-1].copy()
GRADE = np.array([RNG.choice(3, p=row) for row in ROWS])
SITE = np.arange(N) % 2

DRAWS = {"n_resamples": 20, "seed": 1}
OPTIONS = {
    "mean_score": {"rule": pr.Brier()},
    "case_scores": {"rule": pr.Brier()},
    "skill_score": {"rule": pr.Brier()},
    "bounded_brier_score": {"thresholds": (0.1, 0.4)},
    "bounded_log_score": {"thresholds": (0.1, 0.4)},
    "bounded_net_benefit": {"thresholds": (0.1, 0.4)},
    "weighted_regret": {"weight": pr.weights.BetaWeight(2, 3)},
    "top_k": {"k": 5},
    "check_calibration": DRAWS,
    "compare": DRAWS,
    "decision_uncertainty": {"grid": [0.2, 0.5], **DRAWS},
    "estimate": DRAWS,
    "evaluate": DRAWS,
    "slices": {"by": SITE},
    "recalibrate": {"method": "auto"},
    "find_segments": {"by": {"site": SITE}, "n_resamples": 60, "seed": 1},
    "plan": {"thresholds": 0.2},
    "late_labels": {
        "made": np.arange(N) % 8,
        "reported": np.where(Y == 1, np.arange(N) % 8 + np.arange(N) % 3, np.nan),
    },
}
OF_HORIZONS = ("horizon_curve",)  # The columns are forecasts of the same event by several times.
OF_ONE_MODEL = ("estimate", "find_segments", "recalibrate")
DECIDED = ("expected_cost", "quadratic_weighted_kappa")  # A single column holds decided classes, not forecasts.


def functions():
    """Return every public function that takes forecasts, by name."""
    found = {name: getattr(pr, name) for name in sorted(public_names()) if "." not in name}
    names = {"y_proba", "forecasts", "y_pred"}
    return {
        name: one
        for name, one in found.items()
        if inspect.isfunction(one) and names & inspect.signature(one).parameters.keys() and name not in OF_HORIZONS
    }


FUNCTIONS = functions()


def called(name, y, p, q):
    """Call a function with one model, or with two models if it takes several."""
    parameters = inspect.signature(FUNCTIONS[name]).parameters
    if "y_true" not in parameters:
        return FUNCTIONS[name](p, **OPTIONS.get(name, {}))
    if name == "estimate_prevalence":
        return FUNCTIONS[name](y, p, unlabelled=q)
    several = "forecasts" in parameters and name not in OF_ONE_MODEL
    return FUNCTIONS[name](y, {"a": p, "b": q} if several else p, **OPTIONS.get(name, {}))


def plain(found):
    """Return a result as numbers that can be compared bit by bit, without the labels of the outcomes."""
    if isinstance(found, pr.results.Evaluation):
        return plain(found.to_dict())
    if isinstance(found, pr.Ledger):
        events = found.labels or (None,)
        return {model: [plain(found.table(model, one).to_dict()) for one in events] for model in found.models}
    if isinstance(found, Result):
        found = {name: column for name, column in found.columns().items() if name not in ("outcome", "decision")}
    if isinstance(found, dict):
        return {str(key): plain(value) for key, value in found.items()}
    return np.asarray(found).tolist() if not isinstance(found, str) else found


def same(one, other):
    """Whether two plain results are equal, with NaN equal to NaN; class "c_1" counts as 1."""
    first, second = (repr(result).replace("c_", "").replace("'", "") for result in (one, other))
    return first == second


def columns(p):
    return np.column_stack([1 - p, p])


def tensor(dtype, *, rows=False, grad=False):
    def make(p):
        torch = pytest.importorskip("torch")
        values = torch.tensor(columns(p) if rows else p, dtype=getattr(torch, dtype))
        return values.requires_grad_(grad)

    return make


YES = np.where(Y == 1, "yes", "no")
BINARY = {
    "(n,)": (Y, np.asarray),
    "(n, 1)": (Y, lambda p: p[:, None]),
    "(n, 2)": (Y, columns),
    "(n, 2), outcomes as text": (YES, columns),
    "pandas columns named 0 and 1": (Y, lambda p: pd.DataFrame({"1": p, "0": 1 - p})),
    "pandas columns named like text": (pd.Series(YES), lambda p: pd.DataFrame({"yes": p, "no": 1 - p})),
    "Polars columns named like text": (pl.Series(YES), lambda p: pl.DataFrame({"yes": p, "no": 1 - p})),
    "PyArrow columns named like text": (pa.chunked_array([YES]), lambda p: pa.table({"yes": p, "no": 1 - p})),
    "torch (n,), float64": (Y, tensor("float64")),
    "torch (n,), float32": (Y, tensor("float32")),
    "torch (n,), bfloat16": (Y, tensor("bfloat16")),
    "torch (n, 2), bfloat16": (Y, tensor("bfloat16", rows=True)),
    "torch (n, 2), with gradients": (Y, tensor("float32", rows=True, grad=True)),
}
NAMES = ["c_0", "c_1", "c_2"]


def named(library):
    return lambda rows: library(dict(zip(NAMES, rows.T, strict=True)))


def tensor_of_rows(rows):
    torch = pytest.importorskip("torch")
    return torch.tensor(rows, dtype=torch.bfloat16).requires_grad_()


NAMED = np.array(NAMES)[GRADE]
CLASSES = {
    "(n, K)": (GRADE, np.asarray),
    "torch (n, K), bfloat16 with gradients": (GRADE, tensor_of_rows),
    "pandas columns named 0, 1, 2": (GRADE, lambda rows: pd.DataFrame({str(k): rows[:, k] for k in (2, 0, 1)})),
    "pandas columns named like text": (NAMED, named(pd.DataFrame)),
    "Polars columns named like text": (NAMED, named(pl.DataFrame)),
    "PyArrow columns named like text": (NAMED, named(pa.table)),
}
WITHOUT_OUTCOMES = {"bayes_decisions", "before_labels", "estimate_prevalence", "late_labels", "plan"}


def outcome_of(name, shape, table, values):
    """Return what a function does with a shape: its plain result, or its error."""
    y, make = table[shape]
    try:
        return plain(called(name, y, *(make(one) for one in values)))
    except ProprietyError as error:
        return error


def expects_decisions(name, shape):
    return name in DECIDED and ("(n,)" in shape or "(n, 1)" in shape)


@pytest.fixture(scope="module")
def expected():
    """Results of the plainest shape: one column for an event, an array for classes."""
    found = {}

    def of(name, *, classes):
        if (name, classes) not in found:
            table, values = (CLASSES, (ROWS, OTHER_ROWS)) if classes else (BINARY, (P, Q))
            shape = "(n, K)" if classes else "(n, 2)" if name in DECIDED else "(n,)"
            found[name, classes] = outcome_of(name, shape, table, values)
        return found[name, classes]

    return of


@pytest.mark.parametrize("shape", list(BINARY))
@pytest.mark.parametrize("name", list(FUNCTIONS))
def test_one_event_has_one_result_in_every_shape(name, shape, expected):
    if expects_decisions(name, shape):
        pytest.skip("a single column holds decided classes")
    if name in WITHOUT_OUTCOMES and "named" in shape:
        pytest.skip("without outcomes, columns are matched to labels= only")
    found = outcome_of(name, shape, BINARY, (P, Q))
    assert not isinstance(found, ProprietyError), found
    assert same(found, expected(name, classes=False))


@pytest.mark.parametrize("shape", list(CLASSES))
@pytest.mark.parametrize("name", list(FUNCTIONS))
def test_classes_have_one_result_in_every_shape(name, shape, expected):
    reference = expected(name, classes=True)
    if "named" in shape and name in WITHOUT_OUTCOMES:
        pytest.skip("without outcomes, columns are matched to labels= only")
    found = outcome_of(name, shape, CLASSES, (ROWS, OTHER_ROWS))
    if isinstance(reference, ProprietyError):
        assert isinstance(found, type(reference))
        assert "one event" in str(found)
    else:
        assert not isinstance(found, ProprietyError), found
        assert same(found, reference)


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "pyarrow"])
def test_columns_named_like_the_classes_may_have_any_order(library):
    frame = library({name: ROWS[:, NAMES.index(name)] for name in NAMES[::-1]})
    assert pr.log_score(NAMED, frame) == pr.log_score(GRADE, ROWS)
    assert pr.ranked_probability_score(NAMED, frame, labels=NAMES) == pr.ranked_probability_score(GRADE, ROWS)


@pytest.mark.parametrize(
    ("pos_label", "note"), [(None, "1, the second of two columns"), (0, "0, the first of two columns")]
)
def test_the_evaluation_says_which_column_is_the_event(pos_label, note):
    found = pr.evaluate(Y, columns(P), pos_label=pos_label, **DRAWS)
    assert f"; event: {note}" in found.card.about
    assert note in repr(found)
    assert found.kind == "binary"
    event, happened = (P, Y) if pos_label is None else (1 - P, 1 - Y)
    assert same(plain(found), plain(pr.evaluate(happened, event, **DRAWS)))
    assert "event:" not in pr.evaluate(Y, P, **DRAWS).card.about


def test_the_event_of_named_columns_is_named():
    frame = pd.DataFrame({"yes": P, "no": 1 - P})
    assert "; event: 'yes', the column of that name" in pr.evaluate(YES, frame, **DRAWS).card.about
    assert pr.brier_score(YES, frame, pos_label="no") == pr.brier_score(1 - Y, 1 - P)


def lazy(frame):
    return frame.lazy()


@pytest.mark.parametrize("of", [lazy, lambda frame: frame], ids=["lazy", "eager"])
@pytest.mark.parametrize(("outcome", "names"), [("y", ("q0", "q1")), ("word", ("q0", "q1")), ("word", ("yes", "no"))])
def test_column_lists_of_frames_follow_the_rule(of, outcome, names):
    frame = pl.DataFrame({"y": Y, "word": YES, "q0": 1 - P, "q1": P, "yes": P, "no": 1 - P, "b": Q})
    found = pr.condense(of(frame), {"a": list(names), "b": "b"}, outcome=outcome, rules=[pr.Brier()])
    expected = pr.condense(Y, {"a": P, "b": Q}, rules=[pr.Brier()])
    for model in ("a", "b"):
        assert found.table(model).to_dict() == expected.table(model).to_dict()
    np.testing.assert_allclose(found.moments(pr.Brier()).means, expected.moments(pr.Brier()).means, rtol=1e-15)
    with pytest.raises(InputValueError, match="sum to 1"):
        pr.condense(of(frame), {"a": ["q0", "b"]}, outcome=outcome, labels=[0, 1] if outcome == "y" else ["no", "yes"])


def test_lazy_columns_named_like_the_classes_need_no_labels():
    frame = pl.DataFrame({"grade": NAMED, **dict(zip(NAMES, ROWS.T, strict=True))})
    found = pr.condense(frame.lazy(), {"m": NAMES[::-1]}, outcome="grade")
    expected = pr.condense(GRADE, {"m": ROWS})
    for k, name in enumerate(NAMES):
        assert found.table("m", name).to_dict() == expected.table("m", k).to_dict()


def page():
    """Return the page of shapes, with what each function does with each of them."""
    said = {}
    for name in FUNCTIONS:
        event = "the event"
        classes = outcome_of(name, "(n, K)", CLASSES, (ROWS, OTHER_ROWS))
        one = "decided classes" if name in DECIDED else event
        said.setdefault((one, event, "rejected" if isinstance(classes, ProprietyError) else "classes"), []).append(name)
    lines = [INTRODUCTION, "| functions | `(n,)`, `(n, 1)` | `(n, 2)` | `(n, K)`, K ≥ 3 |", "| --- | --- | --- | --- |"]
    for cells, names in said.items():
        lines.append(f"| {', '.join(f'{{api}}`{name}`' for name in names)} | {' | '.join(cells)} |")
    shapes = [shape for shape in [*BINARY, *CLASSES] if "torch" in shape or "named" in shape or "text" in shape]
    listed = [f"- {shape}" for shape in dict.fromkeys(shapes)]
    return "\n".join(
        [*lines, "", "Every function is also tested with these, and gives the same results:", "", *listed, ""]
    )


INTRODUCTION = """# Shapes of forecasts

All functions read forecasts by the same rule:

| shape | meaning |
| --- | --- |
| `(n,)` or `(n, 1)` | the probability of the event |
| `(n, 2)` | the probabilities of both outcomes, as `predict_proba` of scikit-learn returns them; the event is the second class, or `pos_label` |
| `(n, K)`, K ≥ 3 | one column per class |

- Two columns give exactly the results of the event's column. Each row must sum to one. {api}`evaluate` says in its summary which column is the event.
- The order of two columns is that of `labels`. By default it is 0 and 1, or the order of the sorted labels, as in scikit-learn.
- The columns of an eager frame (pandas, Polars, PyArrow), or the fields of a column of structs, may be named like the classes. They are then matched by name, in any order, and need no `labels`. Numbers may be named by text, such as `"0"`, and all names may share a beginning or an end, such as `prob_0` or `p_yes`. For ordered classes named by text, the order of the columns is the order of the classes unless `labels` are given.
- Other names are an error, because nothing says that the columns have the order of the classes. Columns that are only numbered from 0, as pandas and Polars number those of an array, are in that order. Columns that are listed by name, as in `evaluate(frame, {"m": ["a", "b", "c"]}, outcome="y", labels=["low", "mid", "high"])`, are in the order of `labels`.
- The columns of a frame may also be models. Pass them as a mapping, `{name: frame[name] for name in frame}`.
- PyTorch tensors are accepted with or without gradients, on any device, and also as bfloat16.
- Rules for classes only, such as {api}`RankedProbability`, score the forecast of one event as the row (1 - p, p). `ordered=True` needs three or more classes.

What each function does:
"""


def test_the_page_lists_every_function():
    assert PAGE.read_text(encoding="utf-8") == page()


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
