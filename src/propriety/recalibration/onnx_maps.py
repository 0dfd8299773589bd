"""Maps as ONNX models in double precision: the formulas written for engines, with pieces found by binary search."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from propriety.errors import MissingDependencyError
from propriety.recalibration.written_maps import Column, Formula, Term, written
from propriety.result import Floats

# The first opset with all operations used here, and its file format, so that old runtimes can read the model.
OPSET, FORMAT = 13, 7
INPUT, OUTPUT = "forecast", "recalibrated"
OPERATORS: dict[Any, str] = {np.add: "Add", np.subtract: "Sub", np.multiply: "Mul", np.true_divide: "Div"}
OPERATORS |= {np.less: "Less", np.less_equal: "LessOrEqual", np.greater: "Greater"}
OPERATORS |= {np.greater_equal: "GreaterOrEqual", np.bitwise_and: "And"}


def onnx_model(formula: Formula, classes: int | None, about: str) -> Any:
    """Return the model of a map of forecasts, or of the rows of so many classes."""
    graph = _Graph()
    columns = written(formula, [None] if classes is None else range(classes), graph)
    if classes is None:
        graph.node("Identity", *columns, output=OUTPUT)
        return graph.model("double[cases]", about)
    second = graph.constant([1], np.int64)
    graph.node("Concat", *(graph.node("Unsqueeze", one, second) for one in columns), output=OUTPUT, axis=1)
    return graph.model(f"double[cases, {classes}]", about)


class _Graph:
    """Nodes and constants of a model, with the operations of `written_maps.Written`."""

    def __init__(self) -> None:
        try:
            import onnx
        except ImportError as error:
            law = "writing an ONNX model needs onnx, which is not installed"
            raise MissingDependencyError(law, hint='pip install "propriety[onnx]".') from error
        self.onnx = onnx
        self.nodes: list[str] = []
        self.constants: list[Any] = []

    def model(self, kind: str, about: str) -> Any:
        """Return the checked model of all nodes, whose input and output are of the same type."""
        model = self.onnx.parser.parse_model(
            f'<ir_version: {FORMAT}, opset_import: ["": {OPSET}], producer_name: "propriety"> '
            f"recalibration ({kind} {INPUT}) => ({kind} {OUTPUT}) {{ {' '.join(self.nodes)} }}"
        )
        model.doc_string = about
        model.graph.initializer.extend(self.constants)  # As bytes, because decimals would be parsed in some precision.
        self.onnx.checker.check_model(model)
        return model

    def node(self, operation: str, *inputs: Column, output: str = "", axis: int | None = None) -> Term:
        """Add an operation and return its result."""
        names = [(value if isinstance(value, Term) else self.constant(value)).text for value in inputs]
        name = output or f"{operation.lower()}_{len(self.nodes)}"
        attribute = "" if axis is None else f" <axis = {axis}>"
        self.nodes.append(f"{name} = {operation}{attribute} ({', '.join(names)})")
        return Term(self, name)

    def constant(self, value: float | Sequence[float] | Floats, kind: type = np.float64) -> Term:
        """Add constants, by default in double precision."""
        name = f"constant_{len(self.constants)}"
        self.constants.append(self.onnx.numpy_helper.from_array(np.asarray(value, dtype=kind), name))
        return Term(self, name)

    def joined(self, ufunc: np.ufunc, one: Column, other: Column) -> Term:
        return self.node(OPERATORS[ufunc], one, other)

    def column(self, place: int | None) -> Term:
        rows = Term(self, INPUT)
        return rows if place is None else self.node("Gather", rows, self.constant(place, np.int64), axis=1)

    def log(self, x: Column) -> Term:
        return self.node("Log", x)

    def exp(self, x: Column) -> Term:
        return self.node("Exp", x)

    def clip(self, x: Column, low: float, high: float) -> Term:
        return self.node("Clip", x, low, high)

    def greatest(self, columns: Sequence[Column]) -> Term:
        return self.node("Max", *columns)

    def where(self, condition: Column, yes: Column, no: Column = math.nan) -> Term:
        return self.node("Where", condition, yes, no)

    def piecewise(self, p: Column, breaks: Floats, table: Floats, formula: Callable[..., Column]) -> Column:
        """Find the piece of each forecast by a binary search, with one comparison for each power of two.

        TreeEnsembleRegressor would be shorter, but it compares in single precision.
        """
        powers = [2**power for power in reversed(range(len(breaks).bit_length()))]
        # Comparisons with NaN are false.
        padded = self.constant(np.append(breaks, np.full(2 * powers[0] - 1 - len(breaks), np.nan)) if powers else [])
        place = self.constant(0, np.int64)
        for power in powers:
            ahead = self.node("Add", place, self.constant(power, np.int64))
            at = self.node("Gather", padded, self.node("Sub", ahead, self.constant(1, np.int64)))
            place = self.where(at <= p, ahead, place)
        return formula(*(self.node("Gather", self.constant(column), place) for column in table.T))
