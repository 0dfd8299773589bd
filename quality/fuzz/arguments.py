"""Hostile arguments to the public functions: one of the package's own errors, or the right number.

The right number is computed independently, in `oracle`, from what the containers report that they hold.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import Any, TypeVar

import containers
import oracle
from drawing import Drawing

import propriety as pr
from propriety.errors import ProprietyError
from propriety.tables import cases, pooling
from propriety.tables.forecast_table import ForecastTable

__all__ = ["one"]

Held = TypeVar("Held")

FAMILIES: tuple[tuple[Any, ...], ...] = (
    *((0, 1), (0, 1), (0, 1), (False, True), (0.0, 1.0), ("a", "b"), ("b", "a"), ("", "a"), (1, 2), (-1, 1), (1, 0)),
    *((0, 1, 2), (0, 1, 2, 3), ("x", "y", "z"), (b"a", b"b"), ("1", 1), (0.25, 0.5)),
)
LABELS = (None, math.nan, "nan", 2**70, 0.5, b"a", "1", True, -0.0, math.inf, "", -1, 255, "ä\0")
OPTIONS = (None, [], "ab", [0], [0, 0], [0, 1, 2], {0, 1}, [[0], [1]], 1, [math.nan, 1], [None, 1], {"a": 0}, object())
# Containers whose sound content must not be refused.
SOUND = {"list", "tuple", "float64", "float32", "big-endian", "every other", "pandas", "Polars", "Arrow", "Fortran"}
NEAR, NOTHING = 1e-11, 1e-140


def one(data: bytes) -> None:
    """Call the package with what the bytes say, and compare the answers."""
    drawing = Drawing(data)
    with warnings.catch_warnings(), _chunks_of(drawing.choice([2**14, 2**14, 3, 1])):
        warnings.simplefilter("error")
        (_classes if drawing.number(3) == 3 else _event)(drawing)


def _event(drawing: Drawing) -> None:
    n = drawing.number(12)
    family = drawing.choice(FAMILIES)
    y, y_kind = _held(drawing, containers.LABELS, _outcomes(drawing, family, n))
    p, p_kind = _held(drawing, containers.NUMBERS, _numbers(drawing, n, drawing.probability))
    w, w_kind = None, "list"
    if drawing.number(2) == 2:
        w, w_kind = _held(drawing, containers.NUMBERS, _numbers(drawing, n, lambda: float(drawing.number(4))))
    options: dict[str, Any] = {"sample_weight": w} | _options(drawing, family)
    judged = None if "" in (y_kind, p_kind, w_kind) else _judged_event(y, p, w, options)
    table = _answer(lambda: ForecastTable.from_predictions(y, p, **options))
    brier = _answer(lambda: pr.brier_score(pr.cases(y, p, **options)))
    _agree(table is None, brier is None, "the table and the score do not both refuse")
    if judged is None or table is None or brier is None:
        refused = judged is not None and {y_kind, p_kind, w_kind} <= SOUND and not _of_another_kind(judged, options)
        _agree(brier is not None or not refused, expected=True, what="sound cases are refused")
        _agree(brier is None or "" in (y_kind, p_kind, w_kind), expected=True, what="unsound cases are scored")
        return
    _compare_scores(brier, pr.log_score(pr.cases(y, p, **options)), judged)
    _compare_table(table, judged)
    _compare_views(table, judged)


def _classes(drawing: Drawing) -> None:
    n, width = drawing.number(6), drawing.choice([3, 3, 3, 3, 4, 10])  # Two columns are one event.
    family = drawing.choice([*FAMILIES, tuple(range(width)), tuple(range(width))])
    y, y_kind = _held(drawing, containers.LABELS, _outcomes(drawing, family, n))
    rows, p_kind = _held(drawing, containers.MATRICES, [_row(drawing, width) for _ in range(n)])
    options = _options(drawing, family)
    weighted = {"sample_weight": _numbers(drawing, n, lambda: float(drawing.number(4))) if drawing.number(1) else None}
    brier = _answer(lambda: pr.brier_score(pr.cases(y, rows, **weighted, **options)))
    ranked = _answer(
        lambda: pr.ranked_probability_score(pr.cases(y, rows, **weighted, **_without(options, "pos_label")))
    )
    if "" in (y_kind, p_kind) or (p_kind == "ragged" and n == 1):  # A single row may be of one event.
        return
    if _are_read_by_name(y, rows, options):
        return
    judged = _judged_rows(y, rows, weighted["sample_weight"], options)
    if judged is None or brier is None:
        refused = judged is not None and {y_kind, p_kind} <= SOUND
        _agree(brier is not None or not refused, expected=True, what="sound rows are refused")
        _agree(brier is None, expected=True, what="unsound rows are scored")
        return
    _compare_scores(brier, pr.log_score(pr.cases(y, rows, **weighted, **options)), judged)
    _close(ranked, oracle.rps(judged), "the ranked probability score")
    tables = pr.condense(pr.cases(y, rows, **weighted, **_without(options, "pos_label"))).tables()
    _close(math.fsum(pr.brier_score(table) for table in tables.values()), oracle.brier(judged), "the sum over classes")
    parts = pr.decompose(pr.cases(y, rows, **weighted, **_without(options, "pos_label")))
    _close(parts.miscalibration - parts.discrimination + parts.uncertainty, oracle.brier(judged), "the parts of rows")


def _compare_scores(brier: pr.results.Score, log: pr.results.Score, judged: oracle.Judged) -> None:
    _close(brier, oracle.brier(judged), "the Brier score")
    _close(log, oracle.log_loss(judged), "the log score")
    _agree((brier.n, brier.dropped), (judged.n, judged.dropped), "the counts of a score")
    _close(brier.weight, float(judged.weight), "the weight of a score")


def _compare_table(table: ForecastTable, judged: oracle.Judged) -> None:
    """Compare the rows of a table with sums by forecast."""
    sums: dict[Fraction, list[Fraction]] = {}
    for forecast, event, weight in judged.heavy:
        sums.setdefault(forecast, [Fraction(0), Fraction(0)])[1 - event] += weight
    _agree(table.forecast.tolist(), [float(forecast) for forecast in sorted(sums)], "the forecasts of a table")
    for place, forecast in enumerate(sorted(sums)):
        _close(table.events[place], float(sums[forecast][0]), "the events of a table")
        _close(table.non_events[place], float(sums[forecast][1]), "the non-events of a table")
    _agree((table.n, table.dropped), (judged.n, judged.dropped), "the counts of a table")
    _close(table.weight_squares, float(sum(w * w for _, _, w in judged.heavy)), "the squared weights of a table")


def _compare_views(table: ForecastTable, judged: oracle.Judged) -> None:
    """Compare what is read from a table: its score, its decomposition, its curves."""
    score = oracle.brier(judged)
    rate = float(sum(w for _, y, w in judged.heavy if y) / judged.weight)
    recalibrated = oracle.isotonic(judged)
    best = judged.mean([(recalibrated[p] - y) ** 2 for p, y, _ in judged.heavy])
    parts = pr.decompose(table)
    for found, expected, what in (
        (pr.brier_score(table), score, "the score of a table"),
        (parts.miscalibration - parts.discrimination + parts.uncertainty, score, "the sum of the parts"),
        (parts.miscalibration, score - best, "the miscalibration"),
        (parts.uncertainty, rate * (1.0 - rate), "the uncertainty"),
    ):
        _close(found, expected, what, slack=1e-12)
    _agree(min(parts.miscalibration, parts.discrimination, parts.uncertainty) >= 0.0, expected=True, what="a part < 0")
    curve = pr.reliability_curve(table)
    rates = [float(one) for one in sorted(set(recalibrated.values()))]
    _close(math.fsum(curve.weight), float(judged.weight), "the weight of a curve")
    if _are_counts(judged):
        _agree(curve.event_rate.tolist(), rates, "the rates of a curve")
    auc = oracle.area(judged)
    roc = _answer(lambda: pr.roc_curve(table))
    _agree(roc is None, auc is None, "an ROC curve without both outcomes")
    if roc is not None and auc is not None:
        _close(roc.auc, auc, "the area under an ROC curve", slack=1e-12)
    _close(pr.murphy_curve(table).area(), score / 2.0, "the area under a Murphy curve", slack=1e-12)


def _are_counts(judged: oracle.Judged) -> bool:
    """Whether sums of the weights are exact, so that blocks of equal rates cannot come apart."""
    return all(weight.denominator == 1 and weight < 2**40 for _, _, weight in judged.cases)


def _judged_event(y: Any, p: Any, w: Any, options: dict[str, Any]) -> oracle.Judged | None:
    if not _same_index(y, p, w) or not _are_options(options):
        return None
    chosen = {"pos_label": options.get("pos_label"), "labels": options.get("labels")}
    weights = None if w is None else containers.seen(w)
    drop = options.get("missing") == "drop"
    try:
        return oracle.judged_binary(containers.seen(y), containers.seen_column(p), weights, drop=drop, **chosen)
    except oracle.RefusedError:
        return None


def _are_read_by_name(y: Any, rows: Any, options: dict[str, Any]) -> bool:
    """Whether the columns of a frame are named like the labels in another order, or like outcomes that are text."""
    labels, columns = options.get("labels"), [str(name) for name in getattr(rows, "columns", ())]
    told = list(map(str, labels if isinstance(labels, list) else range(len(columns))))
    if columns != told:
        return sorted(columns) == sorted(told)
    return labels is None and any(isinstance(outcome, str) and outcome in columns for outcome in containers.seen(y))


def _judged_rows(y: Any, rows: Any, w: Any, options: dict[str, Any]) -> oracle.Judged | None:
    if not _same_index(y, rows) or not _are_options(options) or options.get("pos_label") is not None:
        return None
    labels, drop = options.get("labels"), options.get("missing") == "drop"
    try:
        return oracle.judged_classes(containers.seen(y), containers.seen_rows(rows), w, labels=labels, drop=drop)
    except oracle.RefusedError:
        return None


def _held(drawing: Drawing, makers: dict[str, Callable[[list[Any]], Any]], values: list[Any]) -> tuple[Any, str]:
    """Return the values in some container, with its name; nonsense has none."""
    if drawing.number(31) == 31:
        return drawing.choice(containers.NONSENSE), ""
    name = drawing.choice(list(makers)) if drawing.number(1) else next(iter(makers))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return makers[name](values), name
    except Exception:  # noqa: BLE001  (whatever a library says that cannot hold these values)
        return values, "list"


def _outcomes(drawing: Drawing, family: tuple[Any, ...], n: int) -> list[Any]:
    found = [drawing.choice(family) for _ in range(n)]
    if n and not drawing.often():
        found[drawing.number(n - 1)] = drawing.choice(LABELS)
    return found


def _numbers(drawing: Drawing, n: int, draw: Callable[[], float]) -> list[Any]:
    found: list[Any] = [draw() for _ in range(n)]
    if n and not drawing.often():
        found[drawing.number(n - 1)] = drawing.choice([None, drawing.real()])
    return found if drawing.often() else found + [draw() for _ in range(drawing.number(1))]


def _row(drawing: Drawing, width: int) -> list[Any]:
    """Return probabilities that mostly sum to one, up to rounding."""
    if not drawing.often():
        return [drawing.choice([None, drawing.real(), drawing.probability()]) for _ in range(width)]
    shares = [drawing.number(9) for _ in range(width)]
    return [share / (sum(shares) or 1) for share in shares] if any(shares) else [1.0] + [0.0] * (width - 1)


def _options(drawing: Drawing, family: tuple[Any, ...]) -> dict[str, Any]:
    options: dict[str, Any] = {}
    kind = drawing.number(7)
    if kind in (1, 2, 3):
        options["pos_label"] = family[-1]
    elif kind in (4, 5):
        options["labels"] = list(family)
    elif kind == 6:
        options["labels"] = drawing.choice(OPTIONS)
    elif kind == 7:
        options["pos_label"] = drawing.choice([*LABELS, (0, 1), [1], {}])
        options["labels"] = drawing.choice([None, list(family)])
    if drawing.number(3) == 3:
        options["missing"] = drawing.choice(["drop", "drop", "drop", "raise", "omit", None, 0])
    return options


def _are_options(options: dict[str, Any]) -> bool:
    """Whether the options are of the kinds that they must be."""
    labels = options.get("labels")
    if labels is not None:
        if not isinstance(labels, list) or any(isinstance(label, list | dict) for label in labels):
            return False
        if any(one == other for place, one in enumerate(labels) for other in labels[:place]):
            return False
    single = not isinstance(options.get("pos_label"), tuple | list | dict)
    return single and options.get("missing", "raise") in ("raise", "drop")


def _of_another_kind(judged: oracle.Judged, options: dict[str, Any]) -> bool:
    """Whether no outcome is the label of the event: labels of another kind are then refused, as they may be a slip."""
    told = options.get("pos_label") is not None and options.get("labels") is None
    return told and not any(event for _, event, _ in judged.cases)


def _same_index(*held: Any) -> bool:
    found = [index for index in map(containers.index_of, held) if index is not None]
    return all(index == found[0] for index in found)


def _without(options: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in options.items() if key != name}


def _answer(call: Callable[[], Held]) -> Held | None:
    """Return an answer, or None for a refusal; every other error is a fault."""
    try:
        return call()
    except ProprietyError as error:
        _agree(bool(str(error)) and "\n" not in str(error)[:1], expected=True, what="a refusal without words")
        return None


def _agree(found: object, expected: object, what: str) -> None:
    if found != expected:
        message = f"{what}: {found!r} where {expected!r} is right"
        raise AssertionError(message)


def _close(found: float | None, expected: float, what: str, *, slack: float = NOTHING) -> None:
    if found is None or not (found == expected or math.isclose(found, expected, rel_tol=NEAR, abs_tol=slack)):
        message = f"{what}: {found!r} where {expected!r} is right"
        raise AssertionError(message)


@contextmanager
def _chunks_of(size: int) -> Iterator[None]:
    """Let the package work in chunks of so many cases, so that few cases fill several."""
    before = cases.CHUNK, cases.FEWEST_ROWS, pooling.CHUNK
    cases.CHUNK, cases.FEWEST_ROWS, pooling.CHUNK = size, min(size, before[1]), size
    try:
        yield
    finally:
        cases.CHUNK, cases.FEWEST_ROWS, pooling.CHUNK = before
