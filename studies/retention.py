"""Which rule finds the harmful errors of an ordinal forecast first? Retention curves on the cut of 53,940 diamonds.

The cut of a diamond has five ordered grades, from Fair to Ideal. Gradient boosting and multinomial logistic regression
forecast it from the other nine columns; both are trained on 20,000 diamonds and evaluated on a fourth of all, 13,485
others. Cases are removed by their ranked probability score (RPS), its squared absolute form (sa-RPS), their
Brier or their log score, up to 20% in steps of 1%, and the decisions on the rest are measured by quadratic weighted
kappa, expected cost and accuracy. Intervals of the mean height of the curves, and of its differences between rules,
are percentile bootstraps over the test cases; they do not cover another training run.
Writes `results/retention.csv` and `results/retention.png`.

Needs scikit-learn, and plotnine for its copy of the data.

Run: python studies/retention.py [--resamples 1000] [--seed 1]
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from study_tables import RESULTS, write_rows

import propriety as pr
from propriety.decisions.agreement import quadratic_weighted_kappa
from propriety.diagnostics.retention import RetentionAreas, RetentionCurve, retention_curve

RULES = [pr.RankedProbability(), pr.SquaredAbsoluteRankedProbability(), pr.Brier(), pr.Log()]
NAMES = dict(zip(map(repr, RULES), ("RPS", "sa-RPS", "Brier", "log"), strict=True))
METRICS = ("qwk", "linear cost", "quadratic cost", "accuracy")
DRAWN = ("qwk", "linear cost", "accuracy")
TRAINED = 20_000


def read() -> tuple[np.ndarray, np.ndarray]:
    """Return the features and the grade of the cut, from 0 (Fair) to 4 (Ideal)."""
    from plotnine.data import diamonds

    numbers = diamonds[["carat", "depth", "table", "price", "x", "y", "z"]].to_numpy(float)
    grades = [diamonds[name].cat.codes for name in ("color", "clarity")]
    return np.column_stack([numbers, *grades]), diamonds["cut"].cat.codes.to_numpy()


def forecasts(features: np.ndarray, cut: np.ndarray, seed: int) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Train both models, and return the outcomes of the cases set aside with the forecasts for them."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import train_test_split
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    known, unseen, y, y_unseen = train_test_split(
        features, cut, train_size=TRAINED, test_size=0.25, stratify=cut, random_state=seed
    )
    models = {
        "boosting": HistGradientBoostingClassifier(random_state=seed),
        "logistic": make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000)),
    }
    return y_unseen, {name: model.fit(known, y).predict_proba(unseen) for name, model in models.items()}


def curves(y: np.ndarray, rows: np.ndarray, *, resamples: int, seed: int) -> dict[str, RetentionCurve]:
    """Return the retention curves of one model by every metric."""
    return {
        metric: retention_curve(y, rows, rule=RULES, metric=metric).with_interval(n_resamples=resamples, seed=seed)
        for metric in METRICS
    }


def heights(areas: RetentionAreas) -> list[tuple[str, str, float, float, float]]:
    """Return rule, rule subtracted, mean height and its limits of each row."""
    span = areas.removed_to - areas.removed_from
    minus = [""] * len(areas.rule) if areas.minus is None else [NAMES[name] for name in areas.minus]
    rules = [NAMES[name] for name in areas.rule]
    return list(zip(rules, minus, areas.mean_height, areas.low / span, areas.high / span, strict=True))


def draw(found: dict[str, dict[str, RetentionCurve]], path: Path) -> None:
    """Draw the curves of both models, and below them what tells RPS from the other rules."""
    from matplotlib import pyplot as plt

    figure, panels = plt.subplots(
        len(found) + 1,
        len(DRAWN),
        figsize=(13.5, 10),
        layout="constrained",
        height_ratios=[*(1.0 for _ in found), 0.6],
    )
    for line, (model, by_metric) in zip(panels, found.items(), strict=False):
        for ax, metric in zip(line, DRAWN, strict=True):
            by_metric[metric].plot(ax, label=f"{model}, n = {by_metric[metric].n:,}")
    for ax, metric in zip(panels[-1], DRAWN, strict=True):
        draw_differences(ax, metric, {model: by_metric[metric] for model, by_metric in found.items()})
    figure.savefig(path, dpi=100)
    plt.close(figure)


def draw_differences(ax, metric: str, by_model: dict[str, RetentionCurve]) -> None:  # noqa: ANN001  (matplotlib comes late)
    """Draw the mean height by RPS minus that by each other rule, with its interval."""
    rows = [
        (f"{model}: RPS - {other}", value, low, high)
        for model, curve in by_model.items()
        for rule, other, value, low, high in heights(curve.differences)
        if rule == "RPS"
    ]
    ax.axvline(0.0, color="0.55", linewidth=0.9)
    for place, (_, value, low, high) in enumerate(rows):
        ax.plot([low, high], [place, place], color="0.15", linewidth=1.6)
        ax.plot(value, place, "o", color="0.15", markersize=4.5)
    ax.set_yticks(range(len(rows)), [row[0] for row in rows])
    ax.invert_yaxis()
    ax.margins(y=0.12)
    ax.locator_params(axis="x", nbins=4)
    better = "right" if next(iter(by_model.values())).higher_is_better else "left"
    ax.set_xlabel(f"Difference in mean {metric}, 95% interval\n(RPS is better on the {better})")
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(labelsize=8.5, length=3)


def main() -> None:
    """Train, remove and measure, and write the table and the picture."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--resamples", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    features, cut = read()
    y, by_model = forecasts(features, cut, options.seed)
    found = {}
    for model, rows in by_model.items():
        found[model] = curves(y, rows, resamples=options.resamples, seed=options.seed)
        told = {
            "accuracy": (rows.argmax(axis=1) == y).mean(),
            "QWK": quadratic_weighted_kappa(y, rows),
            "RPS": pr.ranked_probability_score(y, rows),
            "RPSS": pr.skill_score(y, rows, rule=pr.RankedProbability()),
        }
        print(f"{model}, {len(y):,} cases: " + ", ".join(f"{name} {value:.4f}" for name, value in told.items()))
    lines = []
    for model, by_metric in found.items():
        for metric, curve in by_metric.items():
            for rule, minus, *numbers in (*heights(curve.areas), *heights(curve.differences)):
                shown = dict(zip(("mean_height", "low", "high"), (f"{number:.5f}" for number in numbers), strict=True))
                lines.append({"model": model, "metric": metric, "rule": rule, "minus": minus, **shown})
                if rule == "RPS" and minus:
                    interval = "{:+.4f} [{:+.4f}, {:+.4f}]".format(*numbers)
                    print(f"{model:9} {metric:15} RPS - {minus:7} {interval}")
    write_rows("retention", lines, seed=options.seed)
    draw(found, RESULTS / "retention.png")


if __name__ == "__main__":
    main()
