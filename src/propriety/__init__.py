"""Evaluate probability forecasts: scores, calibration and the decisions based on them.

Start with `evaluate`, which reports scores, calibration, decisions and comparisons of one or more models:

>>> import propriety as pr
>>> y, p = [0, 1, 0, 0, 1], [0.2, 0.8, 0.1, 0.4, 0.7]
>>> result = pr.evaluate(y, {"model": p}, seed=1)
>>> text = str(result)  # Also result.scores, result.plot(), result.to_html("report.html").

Next steps
----------
compare, estimate, slices
    Comparing models, an estimate with its interval, results by group.
check_calibration, reliability_curve, decompose, recalibrate
    Whether probabilities can be trusted, and how to correct them.
decision_curve, regret_curve, murphy_curve, ranking_map
    Which model is best for which decisions.
brier_score, log_score, bounded_brier_score, mean_score, skill_score
    Scores, by name or by rule.
cases, condense, Ledger
    Many cases in small tables, from arrays, data frames or engines.
coarsen, PrivateLedger, measure_bounds
    Ledgers that disclose less, and how far their answers can be from those of the cases.
censored, horizon_curve
    Events by a time, if some cases were not followed up that long.
measures, weights, results, plots, recalibration, errors
    Modules with measures, threshold weights, result classes, plots, recalibration maps and errors.
"""

from importlib import import_module as _import_module
from typing import Any as _Any

from propriety.public_names import attach as _attach
from propriety.upward import products_in_words as _products_in_words

_find, __dir__, __all__ = _attach(__name__, __file__)
__doc__ = f"{__doc__}{_products_in_words()}"


def __getattr__(name: str) -> _Any:
    if name == "__version__":
        return _import_module("importlib.metadata").version("propriety")
    return _find(name)
