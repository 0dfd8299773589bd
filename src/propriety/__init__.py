"""Evaluate probability forecasts by what they are for: honest probabilities and good decisions.

Start with `evaluate`, which reports scores, calibration, decisions and comparisons of one or more models:

>>> import propriety as pr
>>> y, p = [0, 1, 0, 0, 1], [0.2, 0.8, 0.1, 0.4, 0.7]
>>> result = pr.evaluate(y, {"model": p}, seed=1)
>>> text = result.summary()  # Also result.scores, result.plot(), result.to_html("report.html").

Next steps
----------
compare, estimate, slices
    Two or more models, one number with its interval, groups of cases.
calibration_summary, reliability_curve, decompose, recalibrate
    Whether probabilities can be trusted, and how to repair them.
decision_curve, regret_curve, murphy_curve, ranking_map
    Which model serves which decisions.
brier_score, log_score, bounded_brier_score, mean_score, skill_score
    Scores by name and by rule.
condense, ForecastTable, Ledger
    Many cases in small tables, from arrays, data frames or engines.
measures, weights, results, plots, recalibration, errors
    Modules with the measures, threshold weights, classes of results, pictures, recalibration maps and errors.
"""

from importlib import import_module as _import_module
from typing import Any as _Any

from propriety.public_names import attach as _attach

_find, __dir__, __all__ = _attach(__name__, __file__)


def __getattr__(name: str) -> _Any:
    if name == "__version__":
        return _import_module("importlib.metadata").version("propriety")
    return _find(name)
