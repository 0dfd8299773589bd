"""Maps as ONNX models: the formulas written for engines, and a binary search for maps with many pieces."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce
from operator import add, and_
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from propriety.errors import InputValueError, MissingDependencyError
from propriety.recalibration.class_maps import ClassMap
from propriety.recalibration.maps import IsotonicMap, RecalibrationMap
from propriety.recalibration.methods import OneVsRestMap
from propriety.recalibration.venn_abers import VennAbersMap
from propriety.result import Floats

# The first opset with all operations used here, and its file format, so that old runtimes can read the model.
OPSET, FORMAT = 13, 7
INPUT, OUTPUT = "forecast", "recalibrated"
OPERATORS: dict[Any, str] = {  # What the operators of Python mean, by the functions of NumPy that they call.
    np.add: "Add",
    np.subtract: "Sub",
    np.multiply: "Mul",
    np.true_divide: "Div",
    np.less: "Less",
    np.less_equal: "LessOrEqual",
    np.greater: "Greater",
    np.greater_equal: "GreaterOrEqual",
    np.bitwise_and: "And",
}


def onnx_model(binary_map: RecalibrationMap) -> Any:
    """Return a binary map as an ONNX model in double precision; see `RecalibrationMap.to_onnx`."""
    graph = _Graph()
    p = _Column(graph, INPUT)
    graph.where(_valid(p), _written(binary_map, p, graph), graph.constant(math.nan), output=OUTPUT)
    return graph.model(["cases"], binary_map.formula)


def onnx_class_model(class_map: ClassMap, classes: int | None) -> Any:
    """Return a class map as an ONNX model in double precision; see `ClassMap.to_onnx`."""
    number = class_map.n_classes or classes
    if not isinstance(number, int | np.integer) or number < 2:
        law = "must be the number of classes, a whole number of 2 or more"
        raise InputValueError(law, argument="classes", got=classes)
    if classes is not None and classes != number:
        raise InputValueError(f"must be {number}, as in the map", argument="classes", got=classes)
    graph = _Graph()
    rows = _Column(graph, INPUT)
    p = [graph.node("Gather", rows, graph.constant(column, np.int64), axis=1) for column in range(number)]
    valid, missing = reduce(and_, map(_valid, p)), graph.constant(math.nan)
    second = graph.constant([1], np.int64)
    columns = [
        graph.node("Unsqueeze", graph.where(valid, column, missing), second)
        for column in _written_classes(class_map, p, graph)
    ]
    graph.node("Concat", *columns, output=OUTPUT, axis=1)
    return graph.model(["cases", int(number)], class_map.formula)


def _valid(p: _Column) -> _Column:
    return (p >= 0.0) & (p <= 1.0)


def _written(binary_map: RecalibrationMap, p: _Column, graph: _Graph) -> _Column:
    """Return the map applied to a column, with the same operations in the same order as in Python."""
    recalibrated: _Column
    if isinstance(binary_map, IsotonicMap):
        points = binary_map.forecast, binary_map.event_rate
        piece = graph.search(binary_map.forecast, p, right=True)
        slopes = np.diff(binary_map.event_rate) / np.diff(binary_map.forecast)
        slope = graph.gather([0.0, *slopes.tolist(), 0.0], piece)
        start, rate = (graph.gather([values[0], *values], piece) for values in points)
        recalibrated = slope * (p - start) + rate
    elif isinstance(binary_map, VennAbersMap):
        low = graph.gather([0.0, *binary_map.low], graph.search(binary_map.low_from, p, right=True))
        high = graph.gather([*binary_map.high, 1.0], graph.search(binary_map.high_to, p, right=False))
        recalibrated = high / (1.0 - low + high)
    else:
        recalibrated = binary_map.written(p, graph)
    return recalibrated


def _written_classes(class_map: ClassMap, p: Sequence[_Column], graph: _Graph) -> list[_Column]:
    """Return the map applied to the columns of all classes."""
    if not isinstance(class_map, OneVsRestMap):
        return class_map.written(p, graph)
    rates = [_written(binary_map, column, graph) for binary_map, column in zip(class_map.maps, p, strict=True)]
    total = reduce(add, rates)
    return [graph.where(total > 0.0, rate / total, column) for rate, column in zip(rates, p, strict=True)]


class _Graph:
    """Nodes and constants of a model that implements the operations of `written_maps.Written`."""

    def __init__(self) -> None:
        try:
            import onnx
        except ImportError as error:
            law = "writing an ONNX model needs onnx, which is not installed"
            raise MissingDependencyError(law, hint='pip install "propriety[onnx]".') from error
        self.onnx = onnx
        self.nodes: list[str] = []
        self.constants: list[Any] = []

    def model(self, shape: Sequence[str | int], about: str) -> Any:
        """Return the checked model of all nodes, with an input and an output of the same shape."""
        kind = f"double[{', '.join(map(str, shape))}]"
        model = self.onnx.parser.parse_model(
            f'<ir_version: {FORMAT}, opset_import: ["": {OPSET}], producer_name: "propriety"> '
            f"recalibration ({kind} {INPUT}) => ({kind} {OUTPUT}) {{ {' '.join(self.nodes)} }}"
        )
        model.doc_string = about
        model.graph.initializer.extend(self.constants)  # As bytes, because decimals would be parsed in some precision.
        self.onnx.checker.check_model(model)
        return model

    def node(self, operation: str, *inputs: _Column | float, output: str = "", axis: int | None = None) -> _Column:
        """Add an operation and return its result."""
        names = [value.name if isinstance(value, _Column) else self.constant(value).name for value in inputs]
        name = output or f"{operation.lower()}_{len(self.nodes)}"
        attribute = "" if axis is None else f" <axis = {axis}>"
        self.nodes.append(f"{name} = {operation}{attribute} ({', '.join(names)})")
        return _Column(self, name)

    def constant(self, value: float | Sequence[float] | Floats, kind: type = np.float64) -> _Column:
        """Add constants, by default in double precision."""
        name = f"constant_{len(self.constants)}"
        self.constants.append(self.onnx.numpy_helper.from_array(np.asarray(value, dtype=kind), name))
        return _Column(self, name)

    def log(self, x: _Column) -> _Column:
        return self.node("Log", x)

    def exp(self, x: _Column) -> _Column:
        return self.node("Exp", x)

    def clip(self, x: _Column, low: float, high: float) -> _Column:
        return self.node("Clip", x, low, high)

    def greatest(self, columns: Sequence[_Column]) -> _Column:
        return self.node("Max", *columns)

    def where(self, condition: _Column, yes: _Column, no: _Column, *, output: str = "") -> _Column:
        return self.node("Where", condition, yes, no, output=output)

    def gather(self, values: Sequence[float], place: _Column) -> _Column:
        """Return the value at each index."""
        return self.node("Gather", self.constant(values), place)

    def search(self, rising: Floats, p: _Column, *, right: bool) -> _Column:
        """Return how many of the sorted numbers are below each forecast, or also equal to it if `right`.

        This is a binary search, with one comparison for each power of two. TreeEnsembleRegressor would be shorter, but
        it compares in single precision.
        """
        powers = [2**power for power in reversed(range(len(rising).bit_length()))]
        # Comparisons with NaN are false.
        padded = self.constant(np.append(rising, np.full(2 * powers[0] - 1 - len(rising), np.nan)))
        place = self.constant(0, np.int64)
        for power in powers:
            ahead = self.node("Add", place, self.constant(power, np.int64))
            at = self.node("Gather", padded, self.node("Sub", ahead, self.constant(1, np.int64)))
            place = self.where(at <= p if right else at < p, ahead, place)
        return place


class _Column(NDArrayOperatorsMixin):
    """A value of the graph; operations on it add nodes."""

    def __init__(self, graph: _Graph, name: str) -> None:
        self.graph, self.name = graph, name

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any) -> _Column:
        del method
        return self.graph.node(OPERATORS[ufunc], *inputs)
