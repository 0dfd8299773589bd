"""Which forecast of breast cancer is best for thresholds between 1.66% and 3%? Table 2 of Flores et al. (2025).

The four models of the table and the constant event rate of the same cases, by the area under the ROC curve, Brier and
log scores, their bounded versions and net benefit. That rate is known only in hindsight, and far from the mean
forecasts of the models, so each model is also compared with a constant at its own mean. The published bounded scores
are differences that are not divided by the width of the range, and their thresholds were read as odds, x / (1 + x);
both that range and the stated one are used. Then the forecasts are shifted to the event rate of these cases, and the
cases are weighted to the mean forecast of each model, which shows what is left if the event rate alone differs. Writes
`results/breast_cancer.csv`, `results/breast_cancer_shifted.csv` and `results/breast_cancer.png`, a ranking map.

The forecasts are those of the paper's package (gfm-mit/briertools, demo/data/bcsc.csv); this project does not
distribute them.

Run: python studies/breast_cancer.py --data bcsc.csv; by default the file is in the folder that PROPRIETY_DATA names.
"""

from __future__ import annotations

import argparse
import csv
import os
from pathlib import Path

import numpy as np
from scipy.special import expit, logit
from study_tables import RESULTS, write_rows

import propriety as pr
from propriety.decisions.ranking_map import ranking_map
from propriety.tables.forecast_table import ForecastTable

DATA = Path(os.environ.get("PROPRIETY_DATA", "data")) / "bcsc.csv"
MODELS = {
    "logistic, no density": "logistic_minimal",
    "logistic with density": "logistic_+_density",
    "xgboost": "xgboost",
    "xgboost at 2%": "xgboost_2pct",
}
CONSTANT = "prevalence"
STATED = (0.0166, 0.03)
USED = (0.0166 / 1.0166, 0.03 / 1.03)  # What the authors computed with: the stated percentages, read as odds.
TREATED_AT = (0.0166, 0.02, 0.03)


def read(path: Path) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Return the outcomes and the forecasts of each model, the constant last."""
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    y = np.array([int(row["cancer"]) for row in rows])
    forecasts = {name: np.array([float(row[column]) for row in rows]) for name, column in MODELS.items()}
    return y, forecasts | {CONSTANT: np.full(len(y), y.mean())}


def scores(y: np.ndarray, p: np.ndarray) -> dict[str, float]:
    """Return every measure of one forecast; net benefit and the area are better when higher."""
    table = ForecastTable.from_predictions(y, p)
    found = {"auc": pr.roc_curve(table).auc, "brier": pr.brier_score(table), "log": pr.log_score(table)}
    for name, interval in (("used", USED), ("stated", STATED)):
        found[f"bounded_brier_{name}"] = pr.bounded_brier_score(table, thresholds=interval, normalize="none")
        found[f"bounded_log_{name}"] = pr.bounded_log_score(table, thresholds=interval, normalize="none")
    net_benefit = pr.decision_curve(table, grid=TREATED_AT).value
    found |= {f"net_benefit_{100 * at:g}%": gain for at, gain in zip(TREATED_AT, net_benefit, strict=True)}
    found["mean_net_benefit_stated"] = pr.bounded_net_benefit(table, thresholds=STATED)
    found["mean_forecast"] = table.mean_forecast
    own = table.moved(np.full(len(table), table.mean_forecast))
    found |= {"brier_of_own_mean": pr.brier_score(own), "log_of_own_mean": pr.log_score(own)}
    return {name: float(value) for name, value in found.items()}


def shifted(y: np.ndarray, p: np.ndarray) -> dict[str, float]:
    """Return measures of a forecast as it is, shifted to the event rate, and of cases weighted to its mean."""
    moved = pr.prior_correction(prior=float(y.mean()), sampled_at=float(p.mean()))(p)
    weighted = pr.at_prevalence(pr.condense(y, p), float(p.mean()))
    found: dict[str, float] = {}
    for name, data in {"as_given": (y, p), "shifted": (y, moved), "at_its_mean": (weighted,)}.items():
        skill = pr.estimate(*data, measure=pr.measures.Skill(pr.Log()))
        found |= {f"log_skill_{name}": skill.value, f"{name}_low": skill.low, f"{name}_high": skill.high}
    gains = pr.decision_curve(y, p, grid=[0.02]), pr.decision_curve(y, moved, grid=[0.02])
    found |= {"net_benefit_2%_as_given": gains[0].value[0], "net_benefit_2%_shifted": gains[1].value[0]}
    return {name: float(value) for name, value in found.items()} | {"treat_all_2%": float(gains[0].treat_all[0])}


def conclusion(found: dict[str, dict[str, float]]) -> str:
    """Say how many of the models the constants beat on the full scores: in hindsight, and each at its own mean."""
    constant = found[CONSTANT]
    in_hindsight = [sum(found[name][score] > constant[score] for name in MODELS) for score in ("brier", "log")]
    own = [
        sum(found[name][score] > found[name][f"{score}_of_own_mean"] for name in MODELS) for score in ("brier", "log")
    ]
    means = ", ".join(f"{100 * found[name]['mean_forecast']:.2f}%" for name in MODELS)
    return (
        f"The constant at the event rate of these cases, {100 * constant['mean_forecast']:.2f}% and known in hindsight "
        f"({constant['brier']:.5f} and {constant['log']:.4f}), beats {in_hindsight[0]} of the {len(MODELS)} models on "
        f"the full Brier score and {in_hindsight[1]} of {len(MODELS)} on the full log score; a constant at each "
        f"model's own mean beats {own[0]} and {own[1]}. The means are {means}."
    )


def draw(y: np.ndarray, forecasts: dict[str, np.ndarray], path: Path) -> None:
    """Draw who has the lowest mean regret on every interval of thresholds from 0.2% to 20%."""
    from matplotlib import pyplot as plt

    grid = expit(np.linspace(logit(0.002), logit(0.2), 81))
    ranking = ranking_map(y, forecasts, grid=grid, axis="log-odds", thresholds=STATED)
    figure, ax = plt.subplots(figsize=(5.8, 5.4), layout="constrained")
    ranking.plot(ax, label="Breast cancer: lowest mean regret")
    figure.savefig(path, dpi=150)
    plt.close(figure)


def main() -> None:
    """Score every forecast and write the table and the picture."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA)
    path = parser.parse_args().data
    if not path.exists():
        parser.exit(1, f"There are no forecasts at {path}; nothing was written. Hint: name the file with --data.\n")
    y, forecasts = read(path)
    found = {name: scores(y, p) for name, p in forecasts.items()}
    moved = {name: shifted(y, forecasts[name]) for name in MODELS}
    for table, by_model, digits in (("breast_cancer", found, 7), ("breast_cancer_shifted", moved, 5)):
        shown = {name: {what: f"{value:.{digits}g}" for what, value in row.items()} for name, row in by_model.items()}
        write_rows(table, [{"model": name, **row} for name, row in shown.items()], seed=None)
    draw(y, forecasts, RESULTS / "breast_cancer.png")
    print(f"{len(y):,} cases, {int(y.sum())} of cancer; intervals used {USED[0]:.6f} to {USED[1]:.6f}, stated {STATED}")
    print(f"{'':26}" + "".join(f"{name:>23}" for name in found))
    for measure in found[CONSTANT]:
        print(f"{measure:26}" + "".join(f"{row[measure]:23.6g}" for row in found.values()))
    print(conclusion(found))


if __name__ == "__main__":
    main()
