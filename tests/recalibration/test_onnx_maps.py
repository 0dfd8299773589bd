"""Maps as ONNX models give what they give in Python, in double precision."""

import sys
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit

import propriety as pr
from propriety.errors import InputValueError, MissingDependencyError, UnsupportedOperationError
from propriety.recalibration import METHODS, IdentityMap, IsotonicMap, OddsMap, SplineMap, VennAbersMap
from propriety.tables.forecast_table import ForecastTable

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")

RNG = np.random.default_rng(5)
X = RNG.normal(0.0, 1.6, 2500)
TABLE = ForecastTable.from_predictions(RNG.random(2500) < expit(0.7 * X - 0.2), expit(X))
EDGES = [0.0, 1.0, 5e-324, 1e-310, 2.0**-1022, 2.0**-53, 1.0 - 2.0**-53, 0.5, 1e-6, 1.0 - 1e-6]
FORECASTS = np.concatenate(
    [
        EDGES,
        TABLE.forecast,
        np.nextafter(TABLE.forecast, 0.0),
        np.nextafter(TABLE.forecast, 1.0),
        RNG.random(80_000),
        expit(RNG.normal(0.0, 9.0, 20_000)),
    ]
)
MAPS = {method: fit(TABLE) for method, fit in METHODS.items()}
MAPS["far"] = OddsMap(intercept=300.0, slope=900.0, floor=1e-6)
MAPS["falling"] = OddsMap(intercept=0.3, slope=-2.0, floor=1e-6)
MAPS["low floor"] = OddsMap(intercept=-0.1, slope=0.9, floor=2.0**-53)
MAPS["one knot"] = SplineMap(knots=[0.3], level=-0.5, slopes=[0.7], floor=0.001)
MAPS["knots beyond the floor"] = SplineMap(knots=[-9.0, 0.3, 9.0], level=-6.0, slopes=[0.0, 2.0, 1.0], floor=0.001)
MAPS["one point"] = IsotonicMap(forecast=[0.3], event_rate=[0.2])
MAPS["points at the ends"] = IsotonicMap(forecast=[0.0, 0.3, 1.0], event_rate=[0.0, 0.2, 1.0])
MAPS["one step"] = VennAbersMap(low_from=[0.2], low=[0.1], high_to=[0.3], high=[0.3])
EXACT = (
    *("none", "floored", "isotonic", "venn-abers"),
    *("one point", "points at the ends", "one step"),
)


def run(model, forecasts):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    (found,) = session.run(["recalibrated"], {"forecast": np.asarray(forecasts, dtype=np.float64)})
    return found


@pytest.mark.parametrize("name", MAPS)
def test_the_model_gives_what_python_gives(name):
    found, wanted = run(MAPS[name].to_onnx(), FORECASTS), MAPS[name](FORECASTS)
    assert found.dtype == np.float64
    if name in EXACT:
        np.testing.assert_array_equal(found, wanted)
    else:
        # Python has log-odds beyond 700, whose probabilities are all but certain.
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize("name", MAPS)
def test_what_is_no_forecast_becomes_nan(name):
    found = run(MAPS[name].to_onnx(), [np.nan, -0.1, -5e-324, 1.0 + 2.0**-52, np.inf, -np.inf, 0.5])
    assert np.isnan(found).tolist() == [True] * 6 + [False]


@pytest.mark.parametrize("name", ["auto", "isotonic", "venn-abers", "none"])
@pytest.mark.parametrize("cases", [0, 1])
def test_there_may_be_few_cases_or_none(name, cases):
    forecasts = np.full(cases, 0.3)
    np.testing.assert_allclose(run(MAPS[name].to_onnx(), forecasts), MAPS[name](forecasts), rtol=1e-12)


@pytest.mark.parametrize("points", [*range(1, 10), 31, 32, 33])
def test_every_number_of_points_is_searched(points):
    places, rates = np.sort(RNG.random(points)), np.sort(RNG.random(points))
    broken = IsotonicMap(forecast=places, event_rate=rates)
    steps = VennAbersMap(low_from=places, low=rates, high_to=places, high=rates)
    forecasts = np.concatenate([[0.0, 1.0], places, np.nextafter(places, 0.0), np.nextafter(places, 1.0)])
    for own in (broken, steps):
        np.testing.assert_array_equal(run(own.to_onnx(), forecasts), own(forecasts))


@pytest.mark.parametrize("name", MAPS)
def test_the_reference_runtime_agrees(name):
    from onnx.reference import ReferenceEvaluator

    (found,) = ReferenceEvaluator(MAPS[name].to_onnx()).run(None, {"forecast": FORECASTS[:3000]})
    np.testing.assert_allclose(found, MAPS[name](FORECASTS[:3000]), rtol=1e-12, atol=1e-300)


def test_the_model_is_small_and_plain():
    model = MAPS["isotonic"].to_onnx()
    assert len(model.graph.node) < 70  # Of some 80 points; as nested conditions it would have hundreds.
    assert [(one.domain, one.version) for one in model.opset_import] == [("", 13)]
    assert {one.type.tensor_type.elem_type for one in (*model.graph.input, *model.graph.output)} == {
        onnx.TensorProto.DOUBLE
    }
    assert not {"Sigmoid", "TreeEnsembleRegressor"} & {node.op_type for node in model.graph.node}
    assert model.doc_string == MAPS["isotonic"].formula


CLASSES = RNG.dirichlet([0.3, 0.5, 1.0, 0.2], 800)
OUTCOME = np.array([RNG.choice(4, p=row) for row in (CLASSES**0.6 / (CLASSES**0.6).sum(axis=1, keepdims=True))])
CLASS_MAPS = {
    name: fit(pr.recalibration.ClassRows.from_predictions(OUTCOME, CLASSES, labels=range(4)))
    for name, fit in pr.recalibration.CLASS_METHODS.items()
}
CLASS_MAPS["steep"] = pr.recalibration.MatrixMap(matrix=972.0, floor=1e-12)
ROWS = np.vstack([CLASSES, np.eye(4), [[5e-324, 1.0 - 2.0**-53, 1e-310, 2.0**-53]], RNG.dirichlet(np.ones(4), 25_000)])
ROWS = np.vstack([ROWS, 0.25 + 1e-3 * (RNG.dirichlet(np.ones(4), 100) - 0.25)])  # Almost equal probabilities.


@pytest.mark.parametrize("name", CLASS_MAPS)
def test_maps_of_classes_are_models_of_rows(name):
    model = CLASS_MAPS[name].to_onnx(4)
    found, wanted = run(model, ROWS), CLASS_MAPS[name](ROWS)
    np.testing.assert_allclose(found, wanted, rtol=1e-10 if name == "steep" else 1e-12, atol=1e-300)
    bad = run(model, [[np.nan, 0.5, 0.5, 0.0], [0.2, 0.2, 0.2, 0.4], [1.2, -0.2, 0.0, 0.0]])
    assert np.isnan(bad).tolist() == [[True] * 4, [False] * 4, [True] * 4]
    assert len(model.graph.node) < 400


def test_the_number_of_classes_is_that_of_the_map():
    found = pr.recalibrate(OUTCOME, CLASSES, method="temperature", labels=range(4))
    assert found.to_onnx() == found.map.to_onnx() == found.map.to_onnx(4)
    unlabelled = replace(found.map, labels=None)
    for wrong in (None, 0, 1, True, 3.0, "3"):
        with pytest.raises(InputValueError, match="must be the number of classes, a whole number of 2 or more; got"):
            unlabelled.to_onnx(wrong)
    assert unlabelled.to_onnx(np.int64(4)) == found.to_onnx()
    with pytest.raises(InputValueError, match="classes must be 4, as in the map; got 3"):
        found.map.to_onnx(3)
    with pytest.raises(InputValueError, match="classes must be 4, as in the map; got 3"):
        CLASS_MAPS["vector"].to_onnx(3)
    assert CLASS_MAPS["vector"].to_onnx() == CLASS_MAPS["vector"].to_onnx(4)


def test_the_result_writes_its_map():
    assert pr.recalibrate(pr.Ledger.of_tables({"p": TABLE})).to_onnx() == MAPS["auto"].to_onnx()


def test_what_cannot_be_written_is_refused(monkeypatch):
    with pytest.raises(UnsupportedOperationError, match="floor"):
        OddsMap(slope=0.9).to_onnx()
    monkeypatch.setitem(sys.modules, "onnx", None)  # As if it were not installed.
    with pytest.raises(MissingDependencyError, match=r"propriety\[onnx\]"):
        IdentityMap().to_onnx()
