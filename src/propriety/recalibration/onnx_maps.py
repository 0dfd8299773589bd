"""Maps as ONNX models: the formulas written for engines, and a binary search for maps with many pieces."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce
from operator import add, and_
from typing import Any

import numpy as np

from propriety.errors import InputValueError, MissingDependencyError
from propriety.recalibration.class_maps import ClassMap
from propriety.recalibration.class_methods import OneVsRestMap
from propriety.recalibration.maps import IsotonicMap, RecalibrationMap
from propriety.recalibration.venn_abers import VennAbersMap
from propriety.result import Floats

# The first opset with all operations used here, and its file format, so that old runtimes can read the model.
OPSET, FORMAT = 13, 7
INPUT, OUTPUT = "forecast", "recalibrated"


def onnx_model(own: RecalibrationMap) -> Any:
    """Return a binary map as an ONNX model in double precision; see `RecalibrationMap.to_onnx`."""
    graph = _Graph()
    p = _Column(graph, INPUT)
    graph.where(_valid(p), _written(own, p, graph), graph.constant(math.nan), output=OUTPUT)
    return graph.model(["cases"], own.formula)


def onnx_class_model(own: ClassMap, classes: int | None) -> Any:
    """Return a class map as an ONNX model in double precision; see `ClassMap.to_onnx`."""
    number = own.n_classes or classes
    if not isinstance(number, int | np.integer) or number < 2:
        law = "must be the number of classes, a whole number of 2 or more"
        raise InputValueError(law, argument="classes", offender=f"got {classes!r}")
    if classes is not None and classes != number:
        raise InputValueError(f"must be {number}, as in the map", argument="classes", offender=f"got {classes!r}")
    graph = _Graph()
    rows = _Column(graph, INPUT)
    p = [graph.node("Gather", rows, graph.constant(place, np.int64), axis=1) for place in range(number)]
    valid, missing = reduce(and_, [_valid(one) for one in p]), graph.constant(math.nan)
    found = [graph.where(valid, one, missing) for one in _written_classes(own, p, graph)]
    second = graph.constant([1], np.int64)
    graph.node("Concat", *(graph.node("Unsqueeze", one, second) for one in found), output=OUTPUT, axis=1)
    return graph.model(["cases", int(number)], own.formula)


def _valid(p: _Column) -> _Column:
    return (p >= 0.0) & (p <= 1.0)


def _written(own: RecalibrationMap, p: _Column, graph: _Graph) -> _Column:
    """Return the map applied to a column, with the same operations in the same order as in Python."""
    if isinstance(own, IsotonicMap):
        place = graph.search(own.forecast, p, right=True)
        slopes = np.diff(own.event_rate) / np.diff(own.forecast)
        slope = graph.gather([0.0, *slopes.tolist(), 0.0], place)
        start, rate = (graph.gather([one[0], *one], place) for one in (own.forecast, own.event_rate))
        return slope * (p - start) + rate
    if isinstance(own, VennAbersMap):
        low = graph.gather([0.0, *own.low], graph.search(own.low_from, p, right=True))
        high = graph.gather([*own.high, 1.0], graph.search(own.high_to, p, right=False))
        return high / (1.0 - low + high)
    found: _Column = own.written(p, graph)
    return found


def _written_classes(own: ClassMap, p: Sequence[_Column], graph: _Graph) -> list[_Column]:
    """Return the map applied to the columns of all classes."""
    if not isinstance(own, OneVsRestMap):
        return own.written(p, graph)
    parts = [_written(one, column, graph) for one, column in zip(own.maps, p, strict=True)]
    total = reduce(add, parts)
    return [graph.where(total > 0.0, part / total, column) for part, column in zip(parts, p, strict=True)]


class _Graph:
    """Nodes and constants of a model that implements the operations of `written_maps.Written`."""

    def __init__(self) -> None:
        try:
            import onnx
        except ImportError as error:
            law = "writing an ONNX model needs onnx, which is not installed"
            raise MissingDependencyError(law, hint='pip install "propriety[onnx]".') from error
        self.onnx = onnx
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def model(self, shape: Sequence[str | int], about: str) -> Any:
        """Return the checked model of all nodes, with an input and an output of the same shape."""
        helper, kind = self.onnx.helper, self.onnx.TensorProto.DOUBLE
        ends = [helper.make_tensor_value_info(name, kind, shape) for name in (INPUT, OUTPUT)]
        made = helper.make_graph(self.nodes, "recalibration", ends[:1], ends[1:], initializer=self.constants)
        opsets = [helper.make_opsetid("", OPSET)]
        model = helper.make_model(made, opset_imports=opsets, ir_version=FORMAT, producer_name="propriety")
        model.doc_string = about
        self.onnx.checker.check_model(model)
        return model

    def node(self, operation: str, *inputs: _Column | float, output: str = "", **attributes: Any) -> _Column:
        """Add an operation and return its result."""
        names = [one.name if isinstance(one, _Column) else self.constant(one).name for one in inputs]
        made = output or f"{operation.lower()}_{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(operation, names, [made], **attributes))
        return _Column(self, made)

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


class _Column:
    """A value of the graph; operations on it add nodes."""

    __slots__ = ("graph", "name")

    def __init__(self, graph: _Graph, name: str) -> None:
        self.graph, self.name = graph, name

    def __add__(self, other: _Column | float) -> _Column:
        return self.graph.node("Add", self, other)

    def __radd__(self, other: float) -> _Column:
        return self.graph.node("Add", other, self)

    def __sub__(self, other: _Column | float) -> _Column:
        return self.graph.node("Sub", self, other)

    def __rsub__(self, other: float) -> _Column:
        return self.graph.node("Sub", other, self)

    def __mul__(self, other: _Column | float) -> _Column:
        return self.graph.node("Mul", self, other)

    def __rmul__(self, other: float) -> _Column:
        return self.graph.node("Mul", other, self)

    def __truediv__(self, other: _Column | float) -> _Column:
        return self.graph.node("Div", self, other)

    def __rtruediv__(self, other: float) -> _Column:
        return self.graph.node("Div", other, self)

    def __lt__(self, other: _Column | float) -> _Column:
        return self.graph.node("Less", self, other)

    def __le__(self, other: _Column | float) -> _Column:
        return self.graph.node("LessOrEqual", self, other)

    def __gt__(self, other: _Column | float) -> _Column:
        return self.graph.node("Greater", self, other)

    def __ge__(self, other: _Column | float) -> _Column:
        return self.graph.node("GreaterOrEqual", self, other)

    def __and__(self, other: _Column) -> _Column:
        return self.graph.node("And", self, other)
