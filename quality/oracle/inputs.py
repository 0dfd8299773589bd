"""The cases of a call in the form that its way in asks for, handed to one version of the package."""

from __future__ import annotations

import tempfile
from typing import Any

import names
import numpy as np
from calls import IN_MEMORY, Call, Data

CHECK = "check_calibration"


class Inputs:
    """Calls the functions of a version with the cases of a call.

    Parameters
    ----------
    pr : module
        The package.
    call : Call
        What is asked.
    is_reference : bool
        Whether the package is the version that the names in `questions.py` are those of.
    """

    def __init__(self, pr: Any, call: Call, *, is_reference: bool) -> None:
        assert call.data is not None  # noqa: S101
        self.pr, self.call, self.data = pr, call, call.data
        self.is_reference = is_reference or not hasattr(pr, "cases")
        self.models = tuple(self.data.forecasts)
        self.ordered = call.outcome == "grades"
        self.folder = tempfile.TemporaryDirectory()

    # How the version calls things.
    def function(self, name: str) -> Any:
        return getattr(self.pr, name if self.is_reference else names.FUNCTIONS.get(name, name))

    def options(self, given: dict[str, Any]) -> dict[str, Any]:
        if self.is_reference:
            return given
        return {names.PARAMETERS.get(name, name): value for name, value in given.items()}

    # The cases in memory.
    def column(self, values: np.ndarray | None) -> Any:
        """Return a column in the container of the way in."""
        if values is None:
            return None
        if self.call.way == "lists":
            return values.tolist()
        if self.call.way == "pandas":
            import pandas as pd

            return pd.Series(values) if values.ndim == 1 else pd.DataFrame(values)
        if self.call.way == "polars":
            import polars as pl

            return (
                pl.Series(values=values.tolist() if values.dtype == object else values) if values.ndim == 1 else values
            )
        return values

    @property
    def y(self) -> Any:
        return self.column(self.data.y)

    def forecasts(self) -> Any:
        named = {name: self.column(values) for name, values in self.data.forecasts.items()}
        return named if len(named) > 1 else named[self.models[0]]

    def coding(self) -> dict[str, Any]:
        """Return how the outcomes are coded: an event by its label, classes by theirs."""
        data = self.data
        if data.labels is None:
            return {}
        if self.call.outcome == "event":
            return {"pos_label": data.event}
        return {"labels": list(data.labels)}

    def beside(self) -> dict[str, Any]:
        """Return what plain functions take beside outcomes and forecasts."""
        weight = {} if self.data.weight is None else {"sample_weight": self.column(self.data.weight)}
        return weight | self.coding()

    def plain(self, name: str, **options: Any) -> Any:
        """Call a function of outcomes, forecasts, weights and labels."""
        function, beside = self.function(name), self.beside()
        if self.is_reference:
            missing = {"missing": "drop"} if self.call.missing else {}
            return function(self.y, self.forecasts(), **beside, **missing, **options)
        if self.call.missing:
            return function(self.pr.cases(self.y, self.forecasts(), **beside, missing="drop"), **self.options(options))
        return function(self.y, self.forecasts(), **beside, **self.options(options))

    def score(self, name: str, **options: Any) -> Any:
        """Call a scoring function; scores of cases take no weights."""
        if name == "case_scores" and self.call.weighted:
            self.data = Data(**{**self.data.__dict__, "weight": None})
        return self.plain(name, **options)

    # Frames, engines and ledgers.
    def frame(self) -> tuple[Any, dict[str, Any]]:
        """Return an eager data frame, and the arguments that name its columns."""
        columns: dict[str, Any] = {"y": self.data.y}
        named: dict[str, Any] = {}
        for model, values in self.data.forecasts.items():
            if values.ndim == 1:
                columns[model] = values
                named[model] = model
            else:
                named[model] = [f"{model}{place}" for place in range(values.shape[1])]
                columns |= dict(zip(named[model], values.T, strict=True))
        shared = {"sample_weight": self.data.weight, "cluster": self.data.cluster, "time": self.data.period}
        shared = {role: values for role, values in shared.items() if values is not None}
        columns |= shared | self.data.keys
        given: dict[str, Any] = {"forecasts": named, "outcome": "y"} | {role: role for role in shared}
        if self.data.keys:
            given["by"] = list(self.data.keys)
        if self.call.way in ("pandas frame", "lazy duckdb"):
            import pandas as pd

            return pd.DataFrame(columns), given
        import polars as pl

        plain = {name: values.tolist() if values.dtype == object else values for name, values in columns.items()}
        return pl.DataFrame(plain), given

    def case_arguments(self, *, ordered: bool = False) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return what a function that reads cases takes."""
        given: dict[str, Any] = self.coding()
        given |= {"missing": "drop"} if self.call.missing else {}
        given |= {"ordered": True} if ordered else {}
        if self.call.way in IN_MEMORY or self.call.way.endswith("ledger"):
            shared = {"sample_weight": self.data.weight, "cluster": self.data.cluster, "time": self.data.period}
            given |= {role: self.column(values) for role, values in shared.items() if values is not None}
            if self.data.keys:
                given["by"] = {name: self.column(values) for name, values in self.data.keys.items()}
            return (self.y, self.forecasts()), self.options(given)
        frame, named = self.frame()
        if self.call.missing and self.call.way == "lazy duckdb":
            frame = frame.astype({name: "float64" for name in frame.columns if frame[name].dtype.kind == "f"})
        if self.call.way == "lazy polars":
            frame = frame.lazy()
        if self.call.way == "lazy duckdb":
            import duckdb

            self.connection = duckdb.connect()
            frame = self.connection.from_df(frame)
        forecasts = named.pop("forecasts")
        return (frame, forecasts), self.options(given | named)

    def door(self, name: str, *, ordered: bool = False, **options: Any) -> Any:
        """Call a function that reads cases, or the ledger of them."""
        if self.call.way.endswith("ledger"):
            return self.of_ledger(name, self.ledger(ordered=ordered), **options)
        arguments, given = self.case_arguments(ordered=ordered)
        return self.function(name)(*arguments, **given, **self.options(options))

    def of_ledger(self, name: str, ledger: Any, **options: Any) -> Any:
        if name == "slices" and self.is_reference:
            options["by"] = next(iter(self.data.keys))
        return self.function(name)(ledger, **self.options(options))

    def ledger(self, *, ordered: bool = False) -> Any:
        """Return the ledger of the cases, read from files if the way in says so."""
        arguments, given = self.case_arguments(ordered=ordered)
        ledger = self.function("condense")(*arguments, **given)
        if self.call.way == "stored ledger":
            ledger.to_parquet(f"{self.folder.name}/ledger")
            return type(ledger).from_parquet(f"{self.folder.name}/ledger")
        return ledger

    # Functions whose form differs from the others.
    def calibration(self, **options: Any) -> Any:
        """Return the sizes and the p-value of Cox's test; that of the whole test is combined in another way today."""
        if self.is_reference:
            name, way = "calibration_summary", self.call.way == "ledger"
            found = self.of_ledger(name, self.ledger(), **options) if way else self.door(name, **options)
            sizes = {name: getattr(found, name) for name in ("observed_expected", "slope", "miscalibration")}
            p_value = None if found.test is None else found.test.line_p_value
        else:
            way = self.call.way == "ledger"
            table = self.of_ledger(CHECK, self.ledger(), **options) if way else self.door(CHECK, **options)
            test, *rows = table
            sizes = dict(zip(("observed_expected", "slope", "miscalibration"), rows, strict=True))
            p_value = test.extra.get("p_cox")
        return {name: (one.value, one.low, one.high) for name, one in sizes.items()} | {"p_cox": p_value}

    def class_calibration(self, **options: Any) -> Any:
        """Return the p-values of all class probabilities and of each class, and the miscalibration."""
        if self.is_reference:
            found = self.door("class_calibration", **options)
            cost = (found.miscalibration, found.miscalibration_low, found.miscalibration_high)
            return {"p": found.p_value, "classes": found.classes.p_value, "miscalibration": cost}
        table = self.door(CHECK, **options)
        tests = table.where(measure="calibration", statistic="value")
        (cost,) = table.where(measure="miscalibration", statistic="value", keys={})
        of_class = np.array([row.p for row in tests if "class" in row.keys])
        return {"p": tests[0].p, "classes": of_class, "miscalibration": (cost.value, cost.low, cost.high)}

    def sites(self, **options: Any) -> Any:
        return self.function("pool_sites")(self.ledger(), by="site", **self.options(options))

    def monitor(self, **options: Any) -> Any:
        return self.function("monitor")(self.ledger(), **self.options(options))

    def recalibration(self, method: str, **options: Any) -> tuple[Any, Any]:
        result = self.door("recalibrate", method=method, **options)
        if self.call.outcome in ("classes", "grades"):
            corner = np.eye(self.data.forecasts["a"].shape[1]) * 0.5
            grid = corner + (1.0 - corner.sum(axis=1, keepdims=True)) / len(corner)
        else:
            grid = np.linspace(0.0, 1.0, 21)
        return result, result(grid)

    def censored(self, measure: Any, *, several: bool) -> Any:
        data, horizons = self.data, [2.0, 5.0]
        outcomes = self.function("censored")(
            self.column(data.follow_up),
            self.column(data.ended),
            horizons=horizons if several else 4.0,
            **({} if data.weight is None else {"sample_weight": self.column(data.weight)}),
        )
        if several:
            forecasts = {name: np.column_stack([values, values]) for name, values in data.forecasts.items()}
            return self.function("horizon_curve")(outcomes, forecasts, measure)
        name = "compare" if len(self.models) > 1 else "estimate"
        return self.function(name)(outcomes, self.forecasts(), measure)

    def segments(self, **options: Any) -> Any:
        if self.call.way == "arrays":
            keys = {name: np.asarray(values).astype(str) for name, values in self.data.keys.items()}
            if self.is_reference:
                return self.pr.find_segments(self.y, self.forecasts(), by=keys, **options)
            return self.function("find_segments")(self.pr.cases(self.y, self.forecasts(), by=keys), **options)
        frame, named = self.frame()
        forecasts, by, outcome = named["forecasts"], named["by"], named["outcome"]
        if self.is_reference:
            return self.pr.find_segments(frame, forecasts, by=by, outcome=outcome, **options)
        return self.function("find_segments")(self.pr.cases(frame, forecasts, by=by, outcome=outcome), **options)

    def uncertain_decisions(self, **options: Any) -> Any:
        if self.is_reference:
            return self.door("decision_uncertainty", **options)
        arguments, given = self.case_arguments()
        return self.function("decision_uncertainty")(self.pr.cases(*arguments, **given), **self.options(options))

    def risk_coverage(self) -> Any:
        data = self.data
        beside = {} if data.weight is None else {"sample_weight": data.weight}
        return self.function("risk_coverage_curve")(data.y, data.forecasts["a"], **beside)
