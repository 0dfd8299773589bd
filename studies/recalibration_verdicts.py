"""Verdicts of recalibration: the order of rows, clear gains, and forecasts near 0.

Data sets: forecasts of naive Bayes, a tree or a forest for the data that come with scikit-learn, and simulated
ones. A third of the cases trains the model, a third is recalibrated, in 20 orders of its rows, and the map is scored on
the last third. The gain there is clear if it is positive by three standard errors. Writes
`results/recalibration_verdicts.csv` with the number of different verdicts, the verdict, the gain with its limits, and
that in fresh cases.

Outliers: 120 calibrated cases, of which 2% have forecasts of 1e-7 whatever their rate. Writes
`results/recalibration_outliers.csv`: for samples with an event at an outlier, with outliers only, and without any, the
share in which the gain on new cases is above the interval, below it, and the share with a note on them.

Run: python studies/recalibration_verdicts.py [--samples 2000]; an hour on one core, eight minutes with 300 samples.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator

import numpy as np
from recalibration_truth import RULES, drawn, expected_score, points
from scipy.special import expit
from sklearn import datasets
from sklearn.ensemble import RandomForestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier
from study_tables import write_rows

import propriety as pr

ORDERS, SEED, CLEAR = 20, 1, 3.0
OUTLIER, SHARE, CASES = 1e-7, 0.02, 120

Data = tuple[np.ndarray, np.ndarray]


def data_sets() -> Iterator[tuple[str, Data, Data]]:
    """Yield a name, and outcomes and forecasts of the cases to recalibrate and of as many fresh cases."""
    cancer, digits, wine = datasets.load_breast_cancer(), datasets.load_digits(), datasets.load_wine()
    diabetes = datasets.load_diabetes()
    learnt = {
        "breast cancer, naive Bayes": (cancer.data, cancer.target, GaussianNB()),
        "breast cancer, tree": (cancer.data, cancer.target, DecisionTreeClassifier(max_depth=4, random_state=0)),
        "digits, odd, naive Bayes": (digits.data, digits.target % 2, GaussianNB(var_smoothing=1e-3)),
        "digits, 8, naive Bayes": (digits.data, digits.target == 8, GaussianNB(var_smoothing=1e-3)),
        "digits, 1, naive Bayes": (digits.data, digits.target == 1, GaussianNB(var_smoothing=1e-3)),
        "digits, below 5, naive Bayes": (digits.data, digits.target < 5, GaussianNB(var_smoothing=1e-3)),
        "wine, class 1, naive Bayes": (wine.data[:, :3], wine.target == 1, GaussianNB()),
        "diabetes, forest": (diabetes.data, diabetes.target > 140, RandomForestClassifier(20, random_state=0)),
    }
    for name, (x, y, model) in learnt.items():
        order = np.random.default_rng(SEED).permutation(len(y))
        train, now, fresh = np.array_split(order, 3)
        model.fit(x[train], y[train])
        yield name, *((y[rows].astype(int), model.predict_proba(x[rows])[:, 1]) for rows in (now, fresh))
    for name, n, slope, shift in (
        ("simulated, too extreme", 600, 0.5, 0.0),
        ("simulated, much too extreme", 300, 0.3, 0.0),
        ("simulated, too timid", 600, 2.2, 0.0),
        ("simulated, too low", 600, 1.0, 0.7),
        ("simulated, too high", 600, 1.0, -0.8),
        ("simulated, too high and extreme", 400, 0.5, -0.5),
        ("simulated, calibrated", 600, 1.0, 0.0),
    ):
        generator = np.random.default_rng(SEED)
        x = generator.normal(-0.5, 1.4, 2 * n)
        y = (generator.random(len(x)) < expit(slope * x + shift)).astype(int)
        yield name, (y[:n], expit(x[:n])), (y[n:], expit(x[n:]))


def verdict_rows() -> Iterator[dict[str, object]]:
    """Yield a row for each data set."""
    for name, (y, p), (y_fresh, p_fresh) in data_sets():
        found = pr.recalibrate(y, p)
        orders = (np.random.default_rng(seed).permutation(len(y)) for seed in range(ORDERS))
        verdicts = {pr.recalibrate(y[order], p[order]).verdict.outcome for order in orders}
        saved = np.subtract(*(found.rule.case_loss(one, y_fresh == 1) for one in (p_fresh, found(p_fresh))))
        error = saved.std(ddof=1) / np.sqrt(len(saved))
        with np.errstate(invalid="ignore"):
            clear = bool(saved.mean() > CLEAR * error)
        numbers = (found.verdict.gain, found.verdict.low, found.verdict.high, saved.mean(), error)
        columns = zip(("gain", "low", "high", "fresh_gain", "fresh_error"), numbers, strict=True)
        yield {
            "data": name,
            "n": len(y),
            "verdicts": len(verdicts | {found.verdict.outcome}),
            "verdict": found.verdict.outcome,
            "rule": found.rule.name,
            **{column: f"{number:.5f}" for column, number in columns},
            "clear": clear,
            "folds": found.folds,
        }


def outlier_rows(samples: int) -> Iterator[dict[str, object]]:
    """Yield a row for each rule and kind of sample."""
    rate = expit(points(2000))
    share = np.append(np.full(len(rate), (1.0 - SHARE) / len(rate)), SHARE) * (len(rate) + 1)
    truth, given = np.append(rate, rate.mean()), np.append(rate, OUTLIER)
    found: dict[tuple[str, str], list[tuple[bool, bool, bool]]] = {}
    for seed in range(samples):
        generator = np.random.default_rng([SEED, seed])
        y, x = drawn(generator, CASES)
        is_outlier = generator.random(CASES) < SHARE
        p = np.where(is_outlier, OUTLIER, expit(x))
        kind = "event at an outlier" if (is_outlier & y).any() else "outliers" if is_outlier.any() else "none"
        for name, rule in RULES.items():
            fix = pr.recalibrate(y, p, rule=rule)
            after = fix.map.recalibrated(given)  # type: ignore[union-attr]  # of one event
            gain = expected_score(rule, given, truth, share) - expected_score(rule, after, truth, share)
            beyond = (gain > fix.verdict.high + 1e-12, gain < fix.verdict.low - 1e-12)
            found.setdefault((name, kind), []).append((*beyond, "rests on" in fix.note))
    for (name, kind), rows in sorted(found.items()):
        above, below, noted = np.mean(rows, axis=0)
        yield {
            "rule": name,
            "samples": kind,
            "number": len(rows),
            "fresh_above": f"{above:.4f}",
            "fresh_below": f"{below:.4f}",
            "with_note": f"{noted:.4f}",
        }


def main(arguments: list[str]) -> None:
    """Run the study."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=2000)
    samples = parser.parse_args(arguments).samples
    verdicts = list(verdict_rows())
    print(*(list(row.values()) for row in verdicts), sep="\n", flush=True)
    write_rows("recalibration_verdicts", verdicts, seed=SEED)
    outliers = list(outlier_rows(samples))
    print(*(list(row.values()) for row in outliers), sep="\n", flush=True)
    write_rows("recalibration_outliers", outliers, seed=SEED)


if __name__ == "__main__":
    main(sys.argv[1:])
