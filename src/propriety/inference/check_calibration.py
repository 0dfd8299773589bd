"""`check_calibration`: whether probabilities are right, of events, classes, grades and groups."""

from __future__ import annotations

from collections.abc import Hashable, Mapping

from numpy.typing import ArrayLike

from propriety.checks import check_level, check_resamples, fresh_seed
from propriety.inference.bootstrap import Drawing
from propriety.inference.calibration_findings import CALIBRATION, SIZES, event_findings, sizes_of
from propriety.inference.class_findings import class_findings, grade_findings
from propriety.inference.class_readings import ClassReading
from propriety.inference.finding import Finding, Findings
from propriety.inference.group_findings import group_findings
from propriety.ledger.ledger import Ledger
from propriety.ledger.sources import Data, open_ledger
from propriety.tables.labels import Labels
from propriety.tables.reading import refuse_time
from propriety.tables.validation import Forecasts, Missing


def check_calibration(  # noqa: PLR0913  (the data, the groups, and how it is drawn)
    y_true: Data,
    forecasts: Forecasts | None = None,
    *,
    outcome: str | None = None,
    by: ArrayLike | Mapping[str, ArrayLike] | None = None,
    level: float = 0.95,
    cluster: ArrayLike | None = None,
    period: ArrayLike | None = None,
    n_resamples: int = 1000,
    seed: int | None = None,
    sample_weight: ArrayLike | None = None,
    ordered: bool = False,
    pos_label: Hashable | None = None,
    labels: Labels | None = None,
    missing: Missing = "raise",
    time: None = None,
) -> Findings:
    r"""Check whether the probabilities of each model are right: one test, and the sizes of the errors with limits.

    The row "calibration" has the p-value and the verdict. It combines Cox's score test of intercept 0 and slope 1 with
    Neyman's smooth test of the shape beyond them, :math:`\min(p_\text{Cox} / 0.8, p_\text{shape} / 0.2)`. The sizes are
    observed/expected events, the calibration slope, and the miscalibration of the Brier score. A verdict is

    - **good**: errors that matter are excluded; **no error found**: none is shown, and a gross one would have been;
    - **small**: an error is shown and a gross one excluded; **bad**: an error is shown;
    - **too few**: nothing is shown, and there are too few outcomes to show a gross error; or **not tested**.

    Class probabilities have one test of all classes, by temperature, class and shape, with the most likely class and
    each class beside it; ordered classes are tested at each cut point. Groups are tested with one level for all.

    Parameters
    ----------
    y_true, forecasts, outcome, cluster, period, sample_weight, ordered, pos_label, labels, missing, time
        The cases, or what describes them; see `propriety.cases`. A ledger replaces all data.
    by : array-like of shape (n,), or mapping of str to such; with a frame, cases or a ledger str or list of str
        Group of each case; each key has its own groups. For cases or a ledger, by default all of their keys.
    level : float
        Level of the limits and of the verdicts.
    n_resamples, seed : int, optional
        Number and seed of the draws of outcomes, from which the p-value comes if there are few events.

    Returns
    -------
    Findings
        A row for each model and measure, and for each class, cut point or group. ``where(measure="calibration")`` are
        the verdicts.

    Notes
    -----
    A forecast of exactly 0 or 1 that did not come true refutes the forecasts. What is enough depends on the outcomes
    only. Margins, least numbers and simulations: `docs/reference/methods.md`.

    References
    ----------
    Cox (1958), doi:10.1093/biomet/45.3-4.562; Neyman (1937), doi:10.1080/03461238.1937.10404821; Rao & Scott (1981),
    doi:10.1080/01621459.1981.10477633, for clusters; Guo et al. (2017), arXiv:1706.04599, for the temperature.

    Examples
    --------
    >>> y, p = [0, 0, 0, 1, 0, 1, 1, 1] * 20, [0.1, 0.1, 0.1, 0.1, 0.8, 0.8, 0.8, 0.8] * 20
    >>> found = check_calibration(y, {"model": p}, seed=1)
    >>> test, ratio, slope, cost = found
    >>> test.verdict, round(test.p, 4), round(slope.value, 2), slope.verdict
    ('bad', 0.0001, 0.61, 'bad')
    """
    check_level(level)
    check_resamples(n_resamples)
    refuse_time(time)
    ledger = open_ledger(
        y_true,
        forecasts,
        outcome=outcome,
        by=by,
        cluster=cluster,
        period=period,
        sample_weight=sample_weight,
        ordered=ordered,
        pos_label=pos_label,
        labels=labels,
        missing=missing,
    )
    return calibration_findings(ledger, level=level, drawing=Drawing(n_resamples, fresh_seed(seed)))


def calibration_findings(
    ledger: Ledger,
    *,
    level: float,
    drawing: Drawing,
    known: Mapping[str, Mapping[str, Finding]] | None = None,
    read: Mapping[str, ClassReading] | None = None,
    groups: bool = True,
) -> Findings:
    """Return the calibration of the models of a ledger.

    Estimates and readings of classes that are known, by model, are not computed again.
    """
    rows: list[Finding] = []
    for model in ledger.models:
        if ledger.kind == "binary":
            own = {} if known is None else known[model]
            rows += event_findings(ledger, model, level=level, drawing=drawing, known=own)
        elif ledger.kind == "multiclass":
            reading = None if read is None else read[model]
            rows += class_findings(ledger, model, level=level, drawing=drawing, read=reading)
        else:
            rows += grade_findings(ledger, model, level=level, drawing=drawing)
    if groups and ledger.index.names:
        rows += group_findings(ledger, level=level)
    return Findings.of(rows, dropped=ledger.dropped)


def parts_of(found: Findings, row: Finding) -> list[Finding]:
    """Return the findings that the verdict on a test of calibration reads, from the table that holds it."""
    if row.measure.key != CALIBRATION.key:
        return []
    return sizes_of((one for one in found if one.measure.key in SIZES), row)
