"""How much do improper scores reward lying? The best lie under sa-RPS, and under PBS and PLL if ties count as correct.

The best lies are known exactly. Write J for a class drawn from the report. Under sa-RPS the loss is the square of
E|J - y| / (K - 1), and E|J - y| is at least |E J - y|, with equality for every y if the report lies on two neighbouring
classes. So the report on two neighbours with the mean of the truth is at least as good as the honest one, whatever
happens. Its expected loss, the variance of the truth over (K - 1)^2, is the minimum, and the honest report reaches it
only if the truth lies on two classes. If ties count as correct, sharing the largest probability among the t likeliest
classes gives the closest report, for PBS in squares and for PLL in logarithms, that none of them makes wrong; every t
is tried.

Measured are the gain from the best lie over truths drawn uniformly from the simplex; contests of the honest forecaster,
who knows the truth, with a liar who also knows it and with one who knows less (for sa-RPS a mixture of the truth and
its mean, for ties the uniform forecast), with truths from an ordered logit model of five classes (for ties: four
classes, drawn uniformly); and the cost of decisions that are based on the lies. Writes `results/gaming.csv`,
`results/gaming_ordinal.png` and `results/gaming_ties.png`.

Run: python studies/gaming.py [--truths 20000] [--contests 1000]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from scipy.optimize import brentq
from scipy.special import expit
from study_tables import RESULTS, write_rows

import propriety as pr
from propriety.plots.drawing import COLORS, DASHES, SMALL
from propriety.tables.forecast_table import ForecastTable

CASES = (10, 30, 100, 300, 1000)
CUTS = (-3.0, -1.0, 1.0, 3.0)  # Of the latent severity, which is logistic around a normal mean with this deviation:
SPREAD = 2.0
ALARM = 0.1  # The chance of the worst class from which on an alarm is worth its cost.
SA_RPS, RPS = pr.SquaredAbsoluteRankedProbability(), pr.RankedProbability()
ORDINAL_SCORES = {"sa-RPS": SA_RPS, "RPS": RPS, "log": pr.Log(), "ranked log": pr.RankedLog()}
TIE_SCORES = {
    "PBS": {
        "PBS, ties correct": pr.PenalizedBrier(ties="correct"),
        "PBS, ties split": pr.PenalizedBrier(),
        "PBS, ties first": pr.PenalizedBrier(ties="first"),
        "Brier": pr.Brier(),
    },
    "PLL": {
        "PLL, ties correct": pr.PenalizedLog(ties="correct"),
        "PLL, ties split": pr.PenalizedLog(),
        "PLL, ties first": pr.PenalizedLog(ties="first"),
        "log": pr.Log(),
    },
}
LIAR, HALF, UNIFORM = "liar", "liar who knows half", "uniform forecast"
ORDINAL_TRUTHS = ((1 / 3, 1 / 3, 1 / 3), (0.4, 0.3, 0.2, 0.1), (0.05, 0.15, 0.3, 0.3, 0.2))
TIE_TRUTH = (3 / 12, 4 / 12, 2 / 12, 3 / 12)
Row = dict[str, object]


def losses(rule: pr.ClassRule, reports: np.ndarray) -> np.ndarray:
    """Return the loss of each report under each outcome, shape (reports, classes)."""
    outcomes = np.eye(reports.shape[1]).tolist()
    return np.stack([rule.class_loss(list(reports.T), outcome=outcome) for outcome in outcomes], axis=1)


def expected(rule: pr.ClassRule, reports: np.ndarray, truths: np.ndarray) -> np.ndarray:
    """Return the expected loss of each report under its truth; an impossible outcome counts nothing."""
    return np.multiply(truths, losses(rule, reports), where=truths > 0, out=np.zeros_like(truths)).sum(axis=1)


def two_neighbours(truths: np.ndarray) -> np.ndarray:
    """Return the best reports under sa-RPS: on the two classes next to the mean of each truth, with that mean."""
    classes = truths.shape[1]
    mean = truths @ np.arange(classes)
    return np.maximum(1.0 - np.abs(mean[:, None] - np.arange(classes)), 0.0)


def shared_top(truths: np.ndarray, rule: pr.ClassRule, *, fewest: int = 1) -> np.ndarray:
    """Return the best reports that share the largest probability among the t likeliest classes, `fewest` or more."""
    order = np.argsort(-truths, axis=1, kind="stable")
    falling = np.take_along_axis(truths, order, axis=1)
    candidates = []
    for shared in range(fewest, truths.shape[1] + 1):
        candidate = falling.copy()
        candidate[:, :shared] = falling[:, :shared].mean(axis=1, keepdims=True)
        candidates.append(candidate)
    cost = np.stack([expected(rule, candidate, falling) for candidate in candidates])
    best = np.stack(candidates)[cost.argmin(axis=0), np.arange(len(truths))]
    reports = np.empty_like(best)
    np.put_along_axis(reports, order, best, axis=1)
    return reports


def gain(rule: pr.ClassRule, lies: np.ndarray, truths: np.ndarray) -> np.ndarray:
    """Return by how much the expected loss of each lie is below that of honesty."""
    return expected(rule, truths, truths) - expected(rule, lies, truths)


def rewarded(name: str) -> pr.ClassRule:
    """Return PBS or PLL with ties that count as correct."""
    return TIE_SCORES[name][f"{name}, ties correct"]


def uniform_gain(rule: pr.ClassRule, top: np.ndarray) -> np.ndarray:
    """Return what (1/2, 1/2) gains on honesty at each chance of the likelier of two classes."""
    truths = np.column_stack([top, 1.0 - top])
    return gain(rule, np.full_like(truths, 0.5), truths)


def uniform_pays_below(rule: pr.ClassRule) -> float:
    """Return the chance of the likelier of two classes at which (1/2, 1/2) stops paying."""
    return float(brentq(lambda top: float(uniform_gain(rule, np.array([top]))[0]), 0.51, 0.99, xtol=1e-14))


def gains(name: str, rule: pr.ClassRule, lie: Callable[[np.ndarray], np.ndarray], classes: int, n: int) -> list[Row]:
    """Return how often the best lie pays over evenly drawn truths, and how much."""
    truths = np.random.default_rng(classes).dirichlet(np.ones(classes), n)
    saved = gain(rule, lie(truths), truths)
    share = saved / expected(rule, truths, truths)
    found = {
        "share of truths where lying pays": np.mean(saved > 1e-12),
        "mean gain": saved.mean(),
        "largest gain": saved.max(),
        "mean gain, share of the honest loss": share.mean(),
        "largest gain, share of the honest loss": share.max(),
    }
    return [row("gain", name, classes, measure, value) for measure, value in found.items()]


def row(part: str, score: str, classes: int, measure: str, value: float, *, cases: int | str = "") -> Row:
    """Return one row of the table."""
    return {
        "part": part, "score": score, "classes": classes, "cases": cases, "measure": measure, "value": f"{value:.7g}",
    }  # fmt: skip


def ordered_logit(n: int, generator: np.random.Generator) -> np.ndarray:
    """Draw true distributions over five ordered classes."""
    heads = expit(np.array(CUTS) - SPREAD * generator.standard_normal((n, 1)))
    return np.diff(heads, prepend=0.0, append=1.0, axis=1)


def draw_outcomes(truths: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Draw one class from each truth."""
    heads = np.cumsum(truths, axis=1)[:, :-1]
    return (generator.random((len(truths), 1)) > heads).sum(axis=1)


def contest(
    truths: np.ndarray,
    rivals: dict[str, np.ndarray],
    scores: dict[str, pr.ClassRule],
    contests: int,
    generator: np.random.Generator,
) -> list[Row]:
    """Return the share of contests in which each rival is ranked above the honest forecaster, by each score.

    The first cases of a long contest are a short one.
    """
    y = draw_outcomes(truths, generator)
    rows: list[Row] = []
    for score, rule in scores.items():
        honest = _running_means(pr.case_scores(y, truths, rule=rule), contests)
        for rival, reports in rivals.items():
            above = (_running_means(pr.case_scores(y, reports, rule=rule), contests) < honest).mean(axis=0)
            rows += [
                row("ranked above honesty", score, truths.shape[1], rival, share, cases=n)
                for n, share in zip(CASES, above, strict=True)
            ]
    return rows


def _running_means(case_losses: np.ndarray, contests: int) -> np.ndarray:
    totals = np.cumsum(case_losses.reshape(contests, -1), axis=1)[:, np.array(CASES) - 1]
    return totals / np.array(CASES)


def alarms(truths: np.ndarray, reports: np.ndarray) -> ForecastTable:
    """Return the table of the event "the worst class", with each truth in place of many outcomes."""
    worst = truths[:, -1]
    return ForecastTable.from_predictions(
        np.repeat([1, 0], len(worst)), np.tile(reports[:, -1], 2), sample_weight=np.concatenate([worst, 1.0 - worst])
    )


def ordinal_study(n: int, contests: int) -> list[Row]:
    """Return every row about sa-RPS."""
    rows = [found for classes in (3, 4, 5) for found in gains("sa-RPS", SA_RPS, two_neighbours, classes, n)]
    generator = np.random.default_rng(1)
    truths = ordered_logit(contests * max(CASES), generator)
    classes = truths.shape[1]
    rivals = {LIAR: two_neighbours(truths), HALF: two_neighbours((truths + truths.mean(axis=0)) / 2.0)}
    rows += contest(truths, rivals, ORDINAL_SCORES, contests, generator)
    y = draw_outcomes(truths[:n], generator)
    at = f"cost of alarms from {ALARM:.0%}"
    for name, reports in {"honest": truths, **rivals}.items():
        for score, rule in ORDINAL_SCORES.items():
            rows.append(row("expected score", score, classes, name, expected(rule, reports, truths).mean()))
        rows.append(row("miscalibration", "RPS", classes, name, pr.decompose(y, reports[:n], rule=RPS).miscalibration))
        cost = pr.mean_score(alarms(truths, reports), rule=pr.Elementary(ALARM))
        rows.append(row("decisions", at, classes, name, cost))
    never = pr.mean_score(alarms(truths, np.zeros_like(truths)), rule=pr.Elementary(ALARM))
    return [*rows, row("decisions", at, classes, "no alarm ever", never)]


def ties_study(n: int, contests: int) -> list[Row]:
    """Return every row about penalised scores with ties counted as correct."""
    rows: list[Row] = []
    generator = np.random.default_rng(2)
    truths = generator.dirichlet(np.ones(4), contests * max(CASES))
    uniform = np.full_like(truths, 1.0 / 4.0)
    error = expected(pr.Misclassification(), truths, truths).mean()
    rows.append(row("decisions", "error rate", 4, "honest", error))
    for name, scores in TIE_SCORES.items():
        rule, score = rewarded(name), f"{name}, ties correct"
        for classes in (2, 3, 4, 10):
            rows += gains(score, rule, lambda q, rule=rule: shared_top(q, rule), classes, n)
        rows.append(row("gain", score, 2, "uniform pays below this chance", uniform_pays_below(rule)))
        q = np.array([TIE_TRUTH])
        rows.append(row("gain", score, 4, "gain at (3, 4, 2, 3) / 12", gain(rule, shared_top(q, rule), q)[0]))
        rivals = {LIAR: shared_top(truths, rule), UNIFORM: uniform}
        for other, judged in scores.items():
            holds = pr.audit(judged, classes=4)["proper"].holds
            rows.append(row("audit", other, 4, "no better lie found", float(holds)))
        rows += contest(truths, rivals, scores, contests, generator)
        for rival, reports in rivals.items():
            error = expected(pr.Misclassification(), reports, truths).mean()
            rows.append(row("decisions", "error rate", 4, f"{name}: {rival}", error))
    return rows


def draw_ordinal(rows: list[Row], path: Path) -> None:
    """Draw honest reports and the best lies under sa-RPS, the gain over the simplex, the contest and the alarms."""
    from matplotlib import pyplot as plt

    figure, panels = plt.subplots(2, 3, figsize=(10.5, 6.9), layout="constrained", height_ratios=(1, 1.15))
    for panel, truth in zip(panels[0], ORDINAL_TRUTHS, strict=True):
        q = np.array([truth])
        draw_pair(panel, q, two_neighbours(q), {"sa-RPS": SA_RPS, "RPS": RPS})
        panel.set_xlabel("Class, in order")
    panels[0, 0].set_ylabel("Probability")
    draw_triangle(panels[1, 0], SA_RPS, two_neighbours, "Under sa-RPS a lie pays everywhere\nbut on the edges", "123")
    draw_contest(
        panels[1, 1],
        rows,
        {
            ("sa-RPS", LIAR): "liar, by sa-RPS",
            ("sa-RPS", HALF): "liar who knows half,\nby sa-RPS",
            ("RPS", LIAR): "liar, by RPS",
            ("log", LIAR): "liar, by log",
        },
        "Ranked above honesty: five ordered classes",
    )
    draw_alarms(panels[1, 2])
    figure.savefig(path, dpi=150)
    plt.close(figure)


def draw_ties(rows: list[Row], path: Path) -> None:
    """Draw what penalised scores pay for ties that count as correct."""
    from matplotlib import pyplot as plt

    figure, panels = plt.subplots(2, 3, figsize=(10.5, 6.9), layout="constrained", height_ratios=(1, 1.15))
    q = np.array([TIE_TRUTH])
    scores = {name: rule for name, rule in TIE_SCORES["PBS"].items() if name != "PBS, ties first"}
    draw_pair(panels[0, 0], q, shared_top(q, scores["PBS, ties correct"]), scores)
    panels[0, 0].set(xlabel="Class", ylabel="Probability")
    draw_conventions(panels[0, 1])
    draw_binary_gains(panels[0, 2])
    for panel, name in zip(panels[1], ("PBS", "PLL"), strict=False):
        rule = rewarded(name)
        title = f"Under {name} with ties correct a lie pays\nunless one class is very likely"
        draw_triangle(panel, rule, lambda q, rule=rule: shared_top(q, rule, fewest=2), title, "ABC")
    draw_contest(
        panels[1, 2],
        rows,
        {
            ("PBS, ties correct", LIAR): "liar, ties correct",
            ("PBS, ties correct", UNIFORM): "uniform forecast,\nties correct",
            ("PBS, ties first", LIAR): "liar, ties first",
            ("PBS, ties split", LIAR): "liar, ties split",
        },
        "Ranked above honesty by PBS: four classes",
    )
    figure.savefig(path, dpi=150)
    plt.close(figure)


def finish(ax: Axes, title: str, *, size: float = SMALL + 1) -> None:
    """Give every panel its title, the same frame and the same size of numbers."""
    ax.set_title(title, fontsize=size, loc="left")
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(labelsize=SMALL)


def note(ax: Axes, text: str, point: tuple[float, float], offset: tuple[float, float], **style: Any) -> None:
    """Write beside a point, so many points of type away from it."""
    ax.annotate(text, point, offset, textcoords="offset points", fontsize=SMALL, **style)


def draw_pair(ax: Axes, truth: np.ndarray, lie: np.ndarray, scores: dict[str, pr.ClassRule]) -> None:
    """Draw the honest report beside the lie, and what each score says of both."""
    place = np.arange(truth.shape[1])
    ax.bar(place - 0.2, truth[0], 0.38, color="0.72", label="honest")
    ax.bar(place + 0.2, lie[0], 0.38, color=COLORS[1], hatch="///", edgecolor="white", label="lie")
    lines = []
    for name, rule in scores.items():
        honest, lying = (float(expected(rule, report, truth)[0]) for report in (truth, lie))
        verdict = "the lie wins" if lying < honest else "honesty wins"
        lines.append(f"{name}: honest {honest:.3f}, lie {lying:.3f}: {verdict}")
    ax.set_xticks(place, [str(k + 1) for k in place])
    ax.set_ylim(0, 1.15 * max(truth.max(), lie.max()))
    apart = truth[0] - lie[0]
    for text, at, color in (("honest", int(apart.argmax()), "0.35"), ("lie", int(apart.argmin()), COLORS[1])):
        left, height = (-0.38, truth[0, at]) if text == "honest" else (0.02, lie[0, at])
        note(ax, text, (at + left, height), (0, 3), color=color)
    finish(ax, "\n".join(lines), size=SMALL - 0.3)


def draw_triangle(
    ax: Axes, rule: pr.ClassRule, lie: Callable[[np.ndarray], np.ndarray], title: str, corners: str
) -> None:
    """Draw the gain from the best lie over all truths of three classes; white where honesty is best."""
    steps = 180
    first, second = np.meshgrid(np.arange(steps + 1), np.arange(steps + 1))
    inside = first + second <= steps
    truths = np.column_stack([first[inside], second[inside], steps - first[inside] - second[inside]])
    # Moved by a hair, no truth is itself a tie, which would be the one kind of honesty that is never penalised.
    truths = (truths + np.array([0.0, 1e-6, 2e-6])) / (steps + 3e-6)
    saved = gain(rule, lie(truths), truths)
    heights = np.array([[0.0, 0.0], [0.5, np.sqrt(0.75)], [1.0, 0.0]])
    x, y = (truths @ heights).T
    levels = np.linspace(0.0, saved.max(), 9)
    shades = ax.tricontourf(x, y, saved, levels, cmap="Blues")
    ax.tricontour(x, y, saved, levels, colors="0.35", linewidths=0.4)
    ax.plot(*heights[[0, 1, 2, 0]].T, color="0.3", linewidth=1.0)
    for name, (left, up), vertical in zip(corners, heights, ("top", "bottom", "top"), strict=True):
        note(ax, f"surely {name}", (left, up), (0, 3 if vertical == "bottom" else -3), ha="center", va=vertical)
    bar = ax.figure.colorbar(shades, cax=ax.inset_axes((0.15, -0.08, 0.7, 0.035)), orientation="horizontal")
    bar.ax.set_xticks(levels[::2], [f"{level:.3f}" for level in levels[::2]], fontsize=SMALL)
    bar.set_label("Gain from the best lie", fontsize=SMALL)
    ax.set_title(title, fontsize=SMALL + 1, loc="left")
    ax.set_aspect("equal", anchor="S")
    ax.set_ylim(-0.1, 1.0)
    ax.set_axis_off()


def draw_contest(ax: Axes, rows: list[Row], lines: dict[tuple[str, str], str], title: str) -> None:
    """Draw the share of contests that each rival wins against honesty."""
    for index, ((score, rival), label) in enumerate(lines.items()):
        shares = [
            float(str(found["value"]))
            for found in rows
            if (found["part"], found["score"], found["measure"]) == ("ranked above honesty", score, rival)
        ]
        style = {"color": COLORS[index], "linestyle": DASHES[index], "marker": "os^D"[index]}
        ax.plot(CASES, shares, markersize=4, label=label, **style)
    ax.set_xscale("log")
    ax.set_xticks(CASES, CASES)
    ax.minorticks_off()
    ax.set(ylim=(-0.03, 1.05), xlabel="Cases in the contest", ylabel="Share of contests")
    ax.legend(fontsize=SMALL, frameon=False, loc="lower right", bbox_to_anchor=(1.0, 0.12), handlelength=2.8)
    finish(ax, title)


def draw_alarms(ax: Axes) -> None:
    """Draw the regret of alarms for the worst class, at every cost ratio."""
    truths = ordered_logit(50_000, np.random.default_rng(1))
    threshold = np.linspace(0.0025, 0.6, 240)
    reports = {"honest": truths, "the lie": two_neighbours(truths), "no alarm ever": np.zeros_like(truths)}
    for index, (name, forecast) in enumerate(reports.items()):
        regret = pr.regret_curve(alarms(truths, forecast), grid=threshold).value
        ax.plot(threshold, regret, color=(COLORS[0], COLORS[1], "0.5")[index], linestyle=DASHES[index], label=name)
    ax.set(xlabel="Chance that warrants an alarm", ylabel="Regret", ylim=(0, None), xlim=(0, 0.6))
    ax.legend(fontsize=SMALL, frameon=False, handlelength=2.8)
    finish(ax, "Alarms for the worst class:\nwhat acting on the lie costs")


def draw_conventions(ax: Axes) -> None:
    """Draw the expected PBS of every report when the event has a chance of 0.6, with the tie under each convention."""
    chance = 0.6
    truth = np.array([[chance, 1.0 - chance]])
    for side in (np.linspace(0.0, 0.4999, 200), np.linspace(0.5001, 1.0, 200)):
        reports = np.column_stack([side, 1.0 - side])
        ax.plot(side, expected(pr.PenalizedBrier(), reports, np.repeat(truth, 200, axis=0)), color="0.3")
    for index, ties in enumerate(("correct", "first", "split")):
        loss = float(expected(pr.PenalizedBrier(ties=ties), np.array([[0.5, 0.5]]), truth)[0])
        ax.plot(0.5, loss, "ovs"[index], color=COLORS[(1, 0, 2)[index]], markersize=6, zorder=4)
        note(ax, f"ties {ties}: {loss:.2f}", (0.5, loss), (-8, 0), ha="right", va="center")
    honest = float(expected(pr.PenalizedBrier(), truth, truth)[0])
    ax.plot(chance, honest, "D", color="0.3", markersize=5)
    note(ax, f"honest: {honest:.2f}", (chance, honest), (4, -11))
    ax.set(xlabel="Reported probability", ylabel="Expected PBS", xlim=(0.0, 1.0), ylim=(0.42, 1.1))
    finish(ax, "Truth 0.6: only a tie that counts as\ncorrect beats honesty")


def draw_binary_gains(ax: Axes) -> None:
    """Draw the gain of (1/2, 1/2) over honesty in the binary case, and where it ends."""
    top = np.linspace(0.5001, 0.9, 400)
    ax.axhline(0, color="0.55", linewidth=0.9)
    for index, name in enumerate(TIE_SCORES):
        saved, end = uniform_gain(rewarded(name), top), uniform_pays_below(rewarded(name))
        ax.plot(top, saved, color=COLORS[index], linestyle=DASHES[index])
        note(ax, name, (top[60], saved[60]), ((-14, -14), (5, 4))[index], color=COLORS[index])
        ax.plot(end, 0, "o", color=COLORS[index], markersize=5)
        note(ax, f"{end:.4g}", (end, 0), ((-22, -12), (4, 5))[index], color=COLORS[index])
    ax.set(xlabel="Chance of the likelier class", ylabel="Gain", xlim=(0.5, 0.9))
    finish(ax, "Two classes, ties correct:\nwhat (1/2, 1/2) gains on honesty")


def main() -> None:
    """Measure everything and write the table and the pictures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--truths", type=int, default=20_000)
    parser.add_argument("--contests", type=int, default=1000)
    options = parser.parse_args()
    ordinal = ordinal_study(options.truths, options.contests)
    ties = ties_study(options.truths, options.contests)
    rows = ordinal + ties
    write_rows("gaming", rows)
    draw_ordinal(ordinal, RESULTS / "gaming_ordinal.png")
    draw_ties(ties, RESULTS / "gaming_ties.png")
    for found in rows:
        print("  ".join(str(value) for value in found.values()))


if __name__ == "__main__":
    main()
