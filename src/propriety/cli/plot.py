"""`propriety plot`: draw a figure of an evaluation to a file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from propriety.cli.evaluate import evaluation_of_files
from propriety.cli.inputs import found_files
from propriety.cli.messages import block, visible
from propriety.cli.numbers import GRID
from propriety.cli.options import case_options, file_arguments, problem_options
from propriety.cli.outputs import check_targets, replaced
from propriety.cli.stages import Stages
from propriety.decisions.net_benefit import decision_curve
from propriety.decisions.regret import murphy_curve
from propriety.errors import InputValueError
from propriety.evaluation.evaluation import Evaluation
from propriety.evaluation.words import cases_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS = (".png", ".svg", ".pdf")
DOTS_PER_INCH = 200
KINDS = ("page", "reliability", "decision", "murphy", "roc", "ranking")
ON_A_GRID = ("decision", "murphy")


@click.command(
    short_help="Draw figures of the models.",
    epilog=block(
        "Examples",
        "propriety plot predictions.parquet --outcome y --forecast a --forecast b -o page.pdf",
        "propriety plot predictions.csv --outcome y --forecast a --kind reliability -o reliability.png",
        "propriety plot predictions.csv --outcome y --forecast a --kind decision --thresholds 0.05 0.2 -o decision.png",
        "propriety plot predictions.csv --outcome y --forecast a --forecast b --kind ranking -o ranking.svg",
    ),
)
@file_arguments
@case_options
@problem_options
@click.option(
    "--kind",
    type=click.Choice(KINDS),
    default="page",
    show_default=True,
    help="Kind of figure; page draws all of them.",
)
@click.option(
    "--grid",
    type=GRID,
    metavar="P P ...",
    help="Thresholds at which to compute the curves of --kind decision or murphy.",
)
@click.option(
    "-o", "--output", required=True, type=click.Path(), metavar="FILE", help="Figure to write: .png, .svg or .pdf."
)
def plot(files: Sequence[str], kind: str, grid: float | tuple[float, ...] | None, output: str, **asked: Any) -> None:
    """Draw a page of figures of the models, or one of these figures.

    For several classes, only the page is available. FILEs are those of `propriety evaluate`.
    """
    suffix = Path(output).suffix.lower()
    if suffix not in FORMATS:
        law = f"must end in {', '.join(FORMATS)}"
        raise InputValueError(law, argument="--output", offender=f"got {output!r}")
    if grid is not None and kind not in ON_A_GRID:
        raise InputValueError(f"is for --kind {' or '.join(ON_A_GRID)}", argument="--grid", offender=f"got {kind}")
    check_targets([output])
    _draw_unseen()
    stages = Stages()
    asked["in_memory"] = kind == "ranking"  # It needs every case.
    with found_files(files) as paths:
        check_targets([output], paths)
        with (
            evaluation_of_files(paths, stages, **asked) as evaluation,
            stages.stage("drawing"),
            replaced(output) as path,
        ):
            _figure(evaluation, kind, grid).savefig(path, format=suffix[1:], dpi=DOTS_PER_INCH)
            for note in _notes(evaluation, kind):
                click.echo(visible(note), err=True)


def _notes(evaluation: Evaluation, kind: str) -> Iterator[str]:
    """Say what the figure does not show: rows that were left out, and that its bands are for independent cases."""
    if evaluation.dropped:
        yield cases_words(evaluation)
    if evaluation.dependence is None:
        return
    correlated = f"independent cases; here they may be correlated ({evaluation.dependence})"
    if evaluation.kind != "binary":
        yield f"The bands assume {correlated}, and the bands may be too narrow."
    elif kind == "reliability" and len(evaluation.models) == 1:
        yield f"No band is drawn, because it would assume {correlated}."


def _figure(evaluation: Evaluation, kind: str, grid: float | tuple[float, ...] | None) -> Figure:
    if kind == "page":
        return evaluation.plot()
    if evaluation.kind != "binary":
        raise InputValueError(f"--kind {kind} is for one event; use --kind page for several classes")
    return _axes(evaluation, kind, grid).figure.figure  # The whole figure, even if the axes are in a subfigure.


def _axes(evaluation: Evaluation, kind: str, grid: float | tuple[float, ...] | None) -> Axes:
    """Draw one of the figures for an event."""
    from propriety import plots

    events = {model: own["event"] for model, own in evaluation.tables.items()}
    options: Any = {"thresholds": evaluation.thresholds, "grid": grid}
    match kind:
        case "reliability":
            curves = {model: own["event"] for model, own in evaluation.reliability.items()}
            if len(curves) > 1:
                return plots.plot_curves(curves)
            # A single curve is drawn with its decomposition, and its band if the cases are independent.
            (curve,) = curves.values()
            return (curve if evaluation.dependence is None else replace(curve, bands=())).plot()
        case "decision":
            return plots.plot_decision_curves(
                {model: decision_curve(table, **options) for model, table in events.items()}
            )
        case "murphy":
            return plots.plot_murphy_curves({model: murphy_curve(table, **options) for model, table in events.items()})
        case "roc":
            if not evaluation.roc_curves:
                raise InputValueError(
                    "--kind roc needs cases with and without the event; all cases have the same outcome"
                )
            return plots.plot_roc_curves(evaluation.roc_curves)
        case _:
            if evaluation.ranking is None:
                hint = "" if len(evaluation.models) > 1 else "repeat --forecast."
                law = "--kind ranking needs the cases of two or more models, not forecast tables"
                raise InputValueError(law, hint=hint)
            return evaluation.ranking.plot()


def _draw_unseen() -> None:
    """Select a backend that draws to files only."""
    import matplotlib as mpl

    from propriety import plots  # noqa: F401  (first, because its error says what to install)

    mpl.use("agg")
