"""Internal validation of small studies: apparent and corrected values beside the truth, and the size of comparisons.

A study has 200 cases with ten independent standard normal predictors, four of which matter (log-odds -1 + 0.8 x1 +
0.5 x2 + 0.3 x3 + 0.3 x4, 31% events). The learners are logistic regression without penalty and a decision tree (depth
5, at least 5 cases in a leaf). The truth is the value of the model fitted to all 200 cases, in 20,000 new cases.
Estimates of it: apparent, Harrell's bootstrap, the .632+ bootstrap (60 draws), tenfold cross-validation (all forecasts
together, and the mean over folds), and split-sample, a model fitted to half of the cases and evaluated in the other
half.

For the size of the comparison, two logistic regressions with five predictors each, with the same coefficients, are
compared by their Brier scores in 200 cases: by Nadeau and Bengio's corrected t test and by the plain t test of folds.

Writes `results/optimism.csv`: the mean deviation from the truth, its root mean square, and the coverage of 95%
intervals; and `results/learner_comparison.csv`: the share of rejections at 5%. Takes four minutes on one core.

Run: python studies/optimism.py [--replicates 100]
"""

from __future__ import annotations

import argparse
import sys
import warnings
from functools import partial

import numpy as np
from scipy.special import expit
from scipy.stats import ttest_1samp
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.tree import DecisionTreeClassifier
from study_tables import write_rows

import propriety as pr
from propriety.errors import UNDEFINED
from propriety.inference.measures.measure import Measure
from propriety.inference.measures.of_means import MeanScore
from propriety.tables.forecast_table import ForecastTable

N, NEW, DRAWS = 200, 20_000, 60
EFFECTS = np.array([0.8, 0.5, 0.3, 0.3, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])
MEASURES: tuple[Measure, ...] = (
    pr.measures.AreaUnderRoc(),
    pr.measures.CalibrationSlope(),
    MeanScore(pr.Brier()),
)
LEARNERS = {
    "logistic": LogisticRegression(C=np.inf),
    "tree": DecisionTreeClassifier(max_depth=5, min_samples_leaf=5, random_state=1),
}
DESIGNS = ((10, 1), (5, 2))  # Folds and repeats.


def draw(n: int, effects: np.ndarray, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Draw predictors and outcomes."""
    x = generator.normal(size=(n, len(effects)))
    return x, (generator.random(n) < expit(-1.0 + x @ effects)).astype(int)


def value(measure: Measure, y: np.ndarray, p: np.ndarray) -> float:
    """Return the value of a measure; NaN if it is undefined."""
    try:
        return measure.value(ForecastTable.from_predictions(y, p))
    except UNDEFINED:
        return np.nan


def study(name: str, replicates: int) -> list[dict[str, object]]:
    """Return bias, error and coverage of every estimate for a learner."""
    learner = LEARNERS[name]
    found: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for replicate in range(replicates):
        generator = np.random.default_rng([11, replicate])
        x, y = draw(N, EFFECTS, generator)
        x_new, y_new = draw(NEW, EFFECTS, generator)
        p_new = clone(learner).fit(x, y).predict_proba(x_new)[:, 1]
        half = clone(learner).fit(x[::2], y[::2]).predict_proba(x[1::2])[:, 1]
        boot = pr.validate(learner, x, y, measures=MEASURES, n_resamples=DRAWS, seed=replicate)
        folds = pr.validate(learner, x, y, measures=MEASURES, method="cross-validation", seed=replicate)
        for measure in MEASURES:
            (bootstrapped,), (apparent,), (crossed,) = (
                rows.where(measure=measure) for rows in (boot.corrected, boot.apparent, folds.corrected)
            )
            plus = boot.corrected_632.where(measure=measure).value.tolist()
            truth = value(measure, y_new, p_new)
            estimates = {
                "apparent": apparent.value,
                "bootstrap": bootstrapped.value,
                "bootstrap .632+": plus[0] if plus else np.nan,
                "cross-validation": crossed.value,
                "cross-validation, mean of folds": float(crossed.extra["fold_mean"]),
                "split-sample": value(measure, y[1::2], half),
            }
            for estimate, one in estimates.items():
                interval = {"bootstrap": bootstrapped, "cross-validation": crossed}.get(estimate)
                inside = np.nan
                if interval is not None and np.isfinite(interval.low):
                    inside = float(interval.low <= truth <= interval.high)
                found.setdefault((measure.key, estimate), []).append((one - truth, inside))
    rows = []
    for (key, estimate), own in found.items():
        gaps, inside_ = np.array(own).T
        known = gaps[np.isfinite(gaps)]
        row: dict[str, object] = {"learner": name, "measure": key, "estimate": estimate, "samples": len(known)}
        if len(known):
            row |= {"bias": round(known.mean(), 4), "rmse": round(np.sqrt((known**2).mean()), 4)}
        covered = inside_[np.isfinite(inside_)]
        row["coverage"] = round(covered.mean(), 3) if len(covered) else ""
        rows.append(row)
    return rows


def columns(x: np.ndarray, first: int) -> np.ndarray:
    """Return five of the predictors."""
    return x[:, first : first + 5]


def comparison(folds: int, repeats: int, replicates: int) -> dict[str, object]:
    """Return the share of rejections of two learners that are equally good."""
    half = np.array([0.6, 0.4, 0.2, 0.0, 0.0])
    learners = {
        name: make_pipeline(FunctionTransformer(partial(columns, first=first)), LogisticRegression(C=np.inf))
        for name, first in (("a", 0), ("b", 5))
    }
    rejected = []
    for replicate in range(replicates):
        x, y = draw(N, np.concatenate([half, half]), np.random.default_rng([12, replicate]))
        options = {"method": "cross-validation", "cv": folds, "n_repeats": repeats, "seed": replicate}
        found = pr.validate(learners, x, y, measures=[pr.Brier()], **options)
        gaps = np.subtract(*found.parts.value.reshape(2, -1))
        rejected.append((found.differences.p[0] <= 0.05, ttest_1samp(gaps, 0.0).pvalue <= 0.05))
    corrected, plain = np.mean(rejected, axis=0)
    row: dict[str, object] = {"folds": folds, "repeats": repeats, "samples": replicates}
    return row | {"corrected": round(corrected, 4), "plain": round(plain, 4)}


def main() -> None:
    """Run both parts and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replicates", type=int, default=100)
    replicates = parser.parse_args().replicates
    warnings.filterwarnings("ignore", module="sklearn")
    rows = []
    for name in LEARNERS:
        rows += study(name, replicates)
        sys.stdout.write(f"{name}\n")
        sys.stdout.flush()
        write_rows("optimism", rows)
    found = []
    for design in DESIGNS:
        found.append(comparison(*design, replicates))
        write_rows("learner_comparison", found)


if __name__ == "__main__":
    main()
