"""What is called otherwise today than in the reference version: the one table of translations.

`FUNCTIONS` and `PARAMETERS` map names of the reference to those of today. `COLUMNS` maps what today's results call
their entries back to the names of the reference, so that both are compared under the same path, `WORDS` the words
that are values, `PAIRS` the numbers of comparisons, and `CURVES` the value of curves over thresholds by their class.
"""

FUNCTIONS: dict[str, str] = {}
PARAMETERS: dict[str, str] = {"time": "period", "n": "most"}
COLUMNS: dict[str, str] = {"period": "time"}
WORDS: dict[str, str] = {"period": "time"}
# The numbers of the comparison of two models, of which the reference has a class of its own.
PAIRS: dict[str, str] = {"difference": "value", "standard_error": "error", "p_value": "p"}
PAIRS |= {name: name for name in ("low", "high", "p_adjusted")}
# Those of measures over horizons, and of groups: whether they are of the group or of its difference from the rest.
HORIZONS: dict[str, str] = {name: name for name in ("value", "low", "high")} | {"standard_error": "error"}
GROUPS: dict[str, tuple[str | None, str]] = {name: (None, name) for name in ("value", "low", "high")}
GROUPS |= {"difference": ("rest", "value"), "p_value": ("rest", "p"), "p_adjusted": ("rest", "p_adjusted")}
# Those of curves over thresholds, which are classes of their own in the reference; today `value` is on a scale.
CURVES: dict[str, str] = {
    "DecisionCurve": "net_benefit",
    "RegretCurve": "regret",
    "CostCurve": "regret",
    "MurphyCurve": "score",
    "ThresholdCurve": "value",
}
