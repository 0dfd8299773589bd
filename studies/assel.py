"""Do bounded scores rank diagnostic tests as net benefit does? Appendix F of Flores et al. (2025), without sampling.

A marker z is normal with variance 1 and mean 0.95 in the fifth of the patients who have the disease, 0 in the others.
The posterior is expit(-1.8375 + 0.95 z). The published "well calibrated" forecast is expit(-0.9 + z), whose mean is not
the prevalence, and the published over- and underestimating ones are shifts of it. They are compared with the posterior,
with shifts of the posterior whose Brier scores are those of Assel et al. (2017), doi:10.1186/s41512-017-0020-3, and
with binary tests. Each is scored on one weighted sample of narrow cells of z. The last column is the bounded Brier
score from 5% to 20% as published, divided by the width of the range: twice the mean regret. Writes `results/assel.csv`.

Run: python studies/assel.py [--cells 200000]
"""

from __future__ import annotations

import argparse
from math import log

import numpy as np
from scipy.special import expit, ndtr
from study_tables import write_rows

import propriety as pr
from propriety.tables.forecast_table import ForecastTable

PREVALENCE, DISTANCE = 0.2, 0.95
INTERVAL, TREATED_AT = (0.05, 0.2), (0.05, 0.1, 0.2)
POSTERIOR = log(PREVALENCE / (1.0 - PREVALENCE)) - DISTANCE**2 / 2.0
PUBLISHED = -0.9
FORECASTS = {  # Intercept and slope of the log-odds in z.
    "calibrated": (POSTERIOR, DISTANCE),
    "calibrated, log-odds + 1.02": (POSTERIOR + 1.02, DISTANCE),
    "calibrated, log-odds - 1.05": (POSTERIOR - 1.05, DISTANCE),
    "calibrated, log-odds - 2.05": (POSTERIOR - 2.05, DISTANCE),
    "published well calibrated": (PUBLISHED, 1.0),
    "published overestimating": (PUBLISHED + 0.361, 1.0),
    "published underestimating": (PUBLISHED - 0.285, 1.0),
    "published severely underestimating": (PUBLISHED - 3.04, 1.0),
}
TESTS = {  # Sensitivity and specificity.
    "sensitive": (0.95, 0.5),
    "specific": (0.5, 0.95),
    "all_positive": (1.0, 0.0),
    "all_negative": (0.0, 1.0),
}


def forecast_table(intercept: float, slope: float, cells: int) -> ForecastTable:
    """Return the population of a forecast expit(intercept + slope z), in cells of z with their exact probabilities."""
    edges = np.linspace(-8.0, DISTANCE + 8.0, cells + 1)
    z = (edges[:-1] + edges[1:]) / 2.0
    mass = [PREVALENCE * np.diff(ndtr(edges - DISTANCE)), (1.0 - PREVALENCE) * np.diff(ndtr(edges))]
    return ForecastTable.from_predictions(
        np.repeat([1, 0], cells), np.tile(expit(intercept + slope * z), 2), sample_weight=np.concatenate(mass)
    )


def binary_test(sensitivity: float, specificity: float) -> ForecastTable:
    """Return the population of a test whose results are taken for probabilities 0 and 1."""
    ill, well = PREVALENCE, 1.0 - PREVALENCE
    weight = [ill * sensitivity, ill * (1.0 - sensitivity), well * (1.0 - specificity), well * specificity]
    return ForecastTable.from_predictions([1, 1, 0, 0], [1.0, 0.0, 1.0, 0.0], sample_weight=weight)


def scores(table: ForecastTable) -> dict[str, float]:
    """Return the row of one forecast or test; net benefit is better when higher."""
    net_benefit = pr.decision_curve(table, grid=TREATED_AT).value
    found = {
        "mean_forecast": table.weights @ table.forecast / table.weight,
        "brier": pr.mean_score(table, rule=pr.Brier()),
        **{f"net_benefit_{100 * at:g}%": gain for at, gain in zip(TREATED_AT, net_benefit, strict=True)},
        "bounded_brier_5-20%": pr.mean_score(table, rule=pr.BoundedBrier(*INTERVAL, normalize="width")),
    }
    return {name: float(value) for name, value in found.items()}


def study(cells: int) -> dict[str, dict[str, float]]:
    """Return the row of every forecast and every test."""
    tables = {name: forecast_table(*line, cells) for name, line in FORECASTS.items()}
    tables |= {name: binary_test(*rates) for name, rates in TESTS.items()}
    return {name: scores(table) for name, table in tables.items()}


def main() -> None:
    """Score everything and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", type=int, default=200_000)
    found = study(parser.parse_args().cells)
    measures = list(found["calibrated"])
    shown = {name: {measure: f"{value:.4f}" for measure, value in row.items()} for name, row in found.items()}
    write_rows("assel", [{"forecast": name, **row} for name, row in shown.items()], seed=None)
    print(f"{'':36}" + "".join(f"{measure:>21}" for measure in measures))
    for name, row in found.items():
        print(f"{name:36}" + "".join(f"{row[measure]:21.4f}" for measure in measures))
    mean = found["published well calibrated"]["mean_forecast"]
    print(f'The published "well calibrated" forecast has mean {mean:.3f}; the prevalence is {PREVALENCE}.')


if __name__ == "__main__":
    main()
