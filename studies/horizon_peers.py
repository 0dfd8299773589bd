"""Censored outcomes beside other software: riskRegression and scikit-survival, on the data sets that they use.

R writes the follow-up of four data sets with two forecasts by a formula, and the scores of riskRegression: Melanoma
(competing events), GBSG2, flchain and cases without ties. The Brier score, the AUC, their differences between the two
forecasts and all standard errors are compared. riskRegression divides by the number at risk where the derivative of the
Kaplan-Meier curve has the number that remain. scikit-survival, if it is installed, uses the censoring curve at the time
of the event, not just before it. Writes `results/horizon_peers.csv`, with the differences from the other software, and
those with its definition ("matched"), which leaves ties between events and censoring in the errors of riskRegression.

Run: python studies/horizon_peers.py. Needs R with riskRegression and TH.data; Rscript must be on the path.
"""

from __future__ import annotations

import math
import subprocess
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from study_tables import write_rows

import propriety as pr

HORIZONS = {"melanoma": 1800.0, "gbsg2": 1000.5, "flchain": 3000.5, "plain": 0.85}
SCRIPT = """
suppressMessages({library(survival); library(riskRegression)})
write <- function(name, d, p, q, t) {
  p <- round(p, 12); q <- round(q, 12)
  s <- suppressWarnings(Score(list(a=p, b=q), formula=Hist(time, status)~1, data=d, times=t, cause=1,
    metrics=c("brier", "auc"), se.fit=TRUE, null.model=FALSE, cens.model="km", contrasts=list(c(2, 1))))
  out <- cbind(d[, c("time", "status")], p=p, q=q)
  write.table(format(out, digits=17), paste0(name, ".csv"), sep=",", row.names=FALSE, quote=FALSE)
  b <- s$Brier; a <- s$AUC
  known <- c(b$score$Brier, b$contrasts$delta.Brier, b$score$se, b$contrasts$se,
    a$score$AUC, a$contrasts$delta.AUC, a$score$se, a$contrasts$se)
  writeLines(format(known, digits=17), paste0(name, ".txt"))
}
data(Melanoma); m <- data.frame(time=Melanoma$time, status=Melanoma$status)
write("melanoma", m, plogis(-2+.25*Melanoma$thick), plogis(-1.5+.01*(Melanoma$age-50)+.1*Melanoma$thick), 1800)
data(GBSG2, package="TH.data"); g <- data.frame(time=GBSG2$time, status=GBSG2$cens)
write("gbsg2", g, plogis(-1.3+.12*GBSG2$pnodes), plogis(-.6-.002*GBSG2$progrec), 1000.5)
f <- subset(flchain, futime>0); l <- data.frame(time=f$futime, status=f$death)
write("flchain", l, plogis(-9+.11*f$age), plogis(-2.2+.5*f$kappa), 3000.5)
i <- 1:120; u <- (i*0.6180339887498949)%%1; v <- (i*0.7548776662466927)%%1; w <- (i*0.5698402909980532)%%1
x <- 2*u-1; te <- -log(1-v)/exp(x); tc <- -log(1-w)*1.5
d <- data.frame(time=pmin(te, tc), status=ifelse(te<=tc, 1, 0))
write("plain", d, 1-exp(-.6*exp(x)), 1-exp(-.7*exp(.4*x+.5*((i*0.3)%%1))), .85)
"""


def at_risk_errors(time: np.ndarray, status: np.ndarray, z: np.ndarray, horizon: float) -> float:
    """Return the standard error of a mean with the number at risk in place of those that remain."""
    kappa = np.zeros(len(time))
    for u in np.unique(time[(status == 0) & (time < horizon)]):
        leaves = (time == u) & (status == 0)
        there = leaves | (time > u)
        step = z[time > u].sum() / there.sum()
        kappa += leaves * step - there * step * leaves.sum() / there.sum()
    return float(np.std(z - z.mean() + kappa, ddof=1)) / math.sqrt(len(time))


def contributions(outcome: pr.results.CensoredOutcomes, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the contributions of the cases to the Brier score and to the AUC."""
    y, weight = outcome.only()[:2]
    _, place, counts = np.unique(p, return_inverse=True, return_counts=True)
    sums = [np.bincount(place, weight * side, minlength=len(counts)) for side in (y, ~y)]
    events, others = (float(one.sum()) for one in sums)
    middle = [(np.cumsum(one) - one / 2.0)[place] for one in sums]
    area = float((weight * y) @ middle[1]) / (events * others)
    of_events = weight * y * (middle[1] / others - area) / events
    of_others = weight * ~y * (1.0 - middle[0] / events - area) / others
    return weight * (y - p) ** 2, len(p) * (of_events + of_others)


def compared(name: str, folder: Path) -> Iterator[dict[str, object]]:
    """Yield the numbers of a data set beside those of riskRegression."""
    rows = np.genfromtxt(folder / f"{name}.csv", delimiter=",", names=True)
    known = np.loadtxt(folder / f"{name}.txt").reshape(4, 3)
    time, status, horizon = rows["time"], rows["status"], HORIZONS[name]
    outcome = pr.censored(time, status == 1, horizons=horizon, competing=status == 2)
    forecasts = {"a": rows["p"], "b": rows["q"]}
    of_models = [contributions(outcome, p) for p in forecasts.values()]
    measures = {"Brier": pr.Brier(), "AUC": pr.measures.AreaUnderRoc()}
    for place, (measure, asked) in enumerate(measures.items()):
        found = [pr.estimate(outcome, p, asked) for p in forecasts.values()]
        pair = pr.compare(outcome, forecasts, asked).differences[0]
        values = [*(one.value for one in found), pair.value]
        errors = [*(one.error for one in found), pair.error]
        sums = [one[place] for one in of_models]
        matched = [at_risk_errors(time, status, z, horizon) for z in (*sums, sums[0] - sums[1])]
        for which, label in enumerate(("a", "b", "a - b")):
            value, error = float(known[2 * place][which]), float(known[2 * place + 1][which])
            value = abs(value) if label == "a - b" else value
            yield {
                "data": name,
                "n": outcome.n,
                "beside": "riskRegression",
                "measure": f"{measure} {label}",
                "value": f"{values[which]:.12g}",
                "difference": f"{abs(abs(values[which]) - value):.1e}",
                "error": f"{errors[which]:.8g}",
                "relative difference": f"{abs(errors[which] / error - 1.0):.1e}",
                "matched": f"{abs(matched[which] / error - 1.0):.1e}",
            }
    yield from beside_scikit_survival(name, time, status, rows["p"], outcome)


def beside_scikit_survival(
    name: str, time: np.ndarray, status: np.ndarray, p: np.ndarray, outcome: pr.results.CensoredOutcomes
) -> Iterator[dict[str, object]]:
    """Yield the Brier score and the AUC beside those of scikit-survival, which has no competing events."""
    if find_spec("sksurv") is None or (status == 2).any():
        return
    from sksurv.metrics import brier_score, cumulative_dynamic_auc
    from sksurv.util import Surv

    horizon = float(outcome.horizon[0])
    cases = Surv.from_arrays(status == 1, time)
    known = {
        "Brier a": float(brier_score(cases, cases, 1.0 - p, [horizon])[1][0]),
        "AUC a": float(cumulative_dynamic_auc(cases, cases, p, [horizon])[0][0]),
    }

    def uncensored(until: np.ndarray) -> np.ndarray:
        """Return the censoring curve at the time of an event, including the cases censored then."""
        curve = np.ones(len(until))
        for u in np.unique(time[(status == 0) & (time <= horizon)]):
            leaves, there = np.sum((time == u) & (status == 0)), np.sum(time >= u) - np.sum((time == u) & (status == 1))
            curve[until >= u] *= 1.0 - leaves / there
        return curve

    matched = pr.censored(time, status == 1, horizons=horizon, weights=uncensored)
    for label, value in known.items():
        ours, theirs = (
            float(pr.brier_score(one, p)) if label == "Brier a" else pr.roc_curve(one, p).auc
            for one in (outcome, matched)
        )
        # Its Brier score is the sum divided by n, which these weights do not sum to.
        theirs = theirs * float(matched.only().weight.sum()) / outcome.n if label == "Brier a" else theirs
        yield {
            "data": name,
            "n": outcome.n,
            "beside": "scikit-survival",
            "measure": label,
            "value": f"{ours:.12g}",
            "difference": f"{abs(ours - value):.1e}",
            "error": "",
            "relative difference": "",
            "matched": f"{abs(theirs - value):.1e}",
        }


def main() -> None:
    """Run R, compare, and write the table."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["Rscript", "-e", SCRIPT], cwd=folder, check=True)  # noqa: S603, S607  (R on the path, our script)
        rows = [row for name in HORIZONS for row in compared(name, Path(folder))]
    write_rows("horizon_peers", rows)


if __name__ == "__main__":
    main()
