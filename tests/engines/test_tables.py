"""Forecast tables and what is computed from them are the same on every engine as in NumPy."""

import narwhals as nw
import numpy as np
import polars as pl
import pytest

import propriety as pr
from propriety.errors import InputValueError, MissingValuesError
from propriety.tables.events import Event
from propriety.tables.forecast_table import ForecastTable
from propriety.tables.lazy_reading import read_lazy_cases
from propriety.tables.refinement import table_fields

GENERATOR = np.random.default_rng(5)
N = 3000


def cases(*, decimals=None):
    p = GENERATOR.random(N) ** 2
    p[:40], p[40:60] = 0.0, 1.0
    p = p if decimals is None else np.round(p, decimals)
    return pl.DataFrame(
        {
            "y": (GENERATOR.random(N) < p).astype(np.int8),
            "p": p,
            "w": GENERATOR.integers(0, 4, N) * 0.1,
            "k": GENERATOR.integers(0, 3, N),
            "site": GENERATOR.choice(["a", "b", "c"], N),
            "q": GENERATOR.random(N).astype(np.float32),
        }
    )


CONTINUOUS, ROUNDED = cases(), cases(decimals=2)


def same(table, expected, *, exact=True):
    if expected.cells is None:
        assert table.forecast.tolist() == expected.forecast.tolist()
    else:
        np.testing.assert_allclose(table.forecast, expected.forecast, rtol=1e-12)
        assert np.floor(table.forecast * table.cells).tolist() == np.floor(expected.forecast * table.cells).tolist()
    assert (table.n, table.dropped, table.cells, table.refined) == (expected.n, expected.dropped, expected.cells, False)
    assert table.n_events == expected.n_events
    if exact:
        assert table.events.tolist() == expected.events.tolist()
        assert table.non_events.tolist() == expected.non_events.tolist()
        assert table.event_squares.tolist() == expected.event_squares.tolist()
        assert table.non_event_squares.tolist() == expected.non_event_squares.tolist()
    else:
        np.testing.assert_allclose(table.events, expected.events, rtol=1e-12)
        np.testing.assert_allclose(table.non_events, expected.non_events, rtol=1e-12)
        np.testing.assert_allclose(table.event_squares, expected.event_squares, rtol=1e-12)
        np.testing.assert_allclose(table.non_event_squares, expected.non_event_squares, rtol=1e-12)


@pytest.mark.parametrize("frame", [CONTINUOUS, ROUNDED], ids=["continuous", "rounded"])
def test_the_table_is_that_of_numpy_bit_for_bit(engine, frame):
    table = ForecastTable.from_frame(engine(frame), outcome="y", forecast="p")
    same(table, ForecastTable.from_predictions(frame["y"], frame["p"]))


def test_float32_forecasts_are_what_they_are(engine):
    table = ForecastTable.from_frame(engine(CONTINUOUS), outcome="y", forecast="q")
    same(table, ForecastTable.from_predictions(CONTINUOUS["y"], CONTINUOUS["q"]))


def test_weights_add_up_and_cases_without_weight_do_not_count(engine):
    table = ForecastTable.from_frame(engine(ROUNDED), outcome="y", forecast="p", weight="w")
    same(table, ForecastTable.from_predictions(ROUNDED["y"], ROUNDED["p"], sample_weight=ROUNDED["w"]), exact=False)


def test_weights_of_whole_numbers_add_up_bit_for_bit(engine):
    table = ForecastTable.from_frame(engine(CONTINUOUS), outcome="y", forecast="p", weight="k")
    same(table, ForecastTable.from_predictions(CONTINUOUS["y"], CONTINUOUS["p"], sample_weight=CONTINUOUS["k"]))


@pytest.mark.parametrize("by", ["site", ["site", "k"]], ids=["one key", "two keys"])
def test_tables_by_group(engine, by):
    options = {"outcome": "y", "forecast": "p", "weight": "w", "by": by}
    tables, expected = (ForecastTable.from_frame(frame, **options) for frame in (engine(ROUNDED), ROUNDED))
    assert list(tables) == list(expected)
    for group, table in tables.items():
        same(table, expected[group], exact=False)


def test_a_missing_group_is_a_group(engine):
    frame = pl.DataFrame({"y": [0, 1, 1, 0], "p": [0.1, 0.2, 0.3, 0.4], "g": ["b", "a", None, "b"]})
    tables = ForecastTable.from_frame(engine(frame), outcome="y", forecast="p", by="g")
    assert list(tables) == ["a", "b", None]
    assert tables[None].forecast.tolist() == [0.3]


def test_missing_rows_are_dropped_and_counted(engine):
    frame = ROUNDED.with_columns(
        y=pl.when(pl.arange(N) % 7 == 0).then(None).otherwise("y"),
        p=pl.when(pl.arange(N) % 11 == 0).then(None).otherwise("p"),
        w=pl.when(pl.arange(N) % 13 == 0).then(None).otherwise("w"),
    )
    table = ForecastTable.from_frame(engine(frame), outcome="y", forecast="p", weight="w", missing="drop")
    kept = frame.drop_nulls()
    expected = ForecastTable.from_predictions(kept["y"], kept["p"], sample_weight=kept["w"])
    assert table.dropped == N - len(kept)
    same(table, ForecastTable(**{**fields(expected), "dropped": table.dropped}), exact=False)


def fields(table):
    names = ("forecast", "events", "non_events", "event_squares", "non_event_squares", "n", "n_events")
    return {name: getattr(table, name) for name in names}


def test_a_grid_is_that_of_numpy(lazy_engine):
    frame = lazy_engine(CONTINUOUS)
    table = ForecastTable.from_frame(frame, outcome="y", forecast="p", exact=False, cells=256)
    same(table, ForecastTable.from_predictions(CONTINUOUS["y"], CONTINUOUS["p"]).grid(256))


@pytest.mark.parametrize("by", [None, "site"])
def test_a_weighted_grid_is_that_of_numpy(lazy_engine, by):
    edges = pl.DataFrame({"p": [5e-324, 1e-200, np.nextafter(0.5, 0), np.nextafter(1, 0)] * 2})
    edges = edges.with_columns(y=pl.lit(1, pl.Int8), w=pl.Series([0.3, 1.0, 0.7, 0.1] * 2), site=pl.lit("c"))
    frame = pl.concat([CONTINUOUS.select("p", "y", "w", "site"), edges])
    columns = {"outcome": "y", "forecast": "p", "weight": "w", "by": by}
    found = ForecastTable.from_frame(lazy_engine(frame), **columns, exact=False, cells=64)
    expected = ForecastTable.from_frame(frame, **columns)
    found, expected = ({None: found}, {None: expected}) if by is None else (found, expected)
    for group, table in found.items():
        same(table, expected[group].grid(64), exact=False)


@pytest.mark.parametrize(
    "labels", [{"pos_label": "yes"}, {"labels": ["no", "yes"]}, {"labels": ["yes", "no"], "pos_label": "yes"}], ids=str
)
def test_labels_of_the_event(engine, labels):
    frame = ROUNDED.with_columns(y=pl.when(pl.col("y") == 1).then(pl.lit("yes")).otherwise(pl.lit("no")))
    table = ForecastTable.from_frame(engine(frame), outcome="y", forecast="p", **labels)
    same(table, ForecastTable.from_predictions(ROUNDED["y"], ROUNDED["p"]))


@pytest.mark.parametrize(
    "outcome", [pl.col("y").cast(pl.Boolean), pl.col("y").cast(pl.Float64)], ids=["boolean", "float"]
)
def test_kinds_of_outcomes(engine, outcome):
    table = ForecastTable.from_frame(engine(ROUNDED.with_columns(y=outcome)), outcome="y", forecast="p")
    same(table, ForecastTable.from_predictions(ROUNDED["y"], ROUNDED["p"]))


def test_numeric_labels_of_the_event(engine):
    frame = ROUNDED.with_columns(y=pl.col("y") + 1)
    table = ForecastTable.from_frame(engine(frame), outcome="y", forecast="p", pos_label=2)
    same(table, ForecastTable.from_predictions(ROUNDED["y"], ROUNDED["p"]))


ANALYSES = {
    "reliability_curve": pr.reliability_curve,
    "decompose": lambda table: pr.decompose(table, rule=pr.Brier()),
    "decompose log": lambda table: pr.decompose(table, rule=pr.Log()),
    "brier_score": pr.brier_score,
    "roc_curve": pr.roc_curve,
    "decision_curve": lambda table: pr.decision_curve(table, grid=(0.1, 0.2, 0.5)),
    "regret_curve": pr.regret_curve,
    "murphy_curve": pr.murphy_curve,
    "check_calibration": lambda table: pr.check_calibration(pr.Ledger.of_tables({"p": table}), seed=1),
    "top_k": lambda table: pr.top_k(table, k=100),
    "weighted_regret": lambda table: pr.weighted_regret(table, weight=pr.weights.BetaWeight(2, 8)),
}


def test_every_analysis_is_that_of_numpy(engine):
    table = ForecastTable.from_frame(engine(CONTINUOUS), outcome="y", forecast="p")
    expected = ForecastTable.from_predictions(CONTINUOUS["y"], CONTINUOUS["p"])
    for name, analysis in ANALYSES.items():
        assert repr(analysis(table).to_dict()) == repr(analysis(expected).to_dict()), name


def test_neither_order_nor_partition_matters(lazy_engine):
    shuffled = CONTINUOUS.sample(fraction=1.0, shuffle=True, seed=3)
    tables = [
        ForecastTable.from_frame(lazy_engine(frame), outcome="y", forecast="p", weight="k")
        for frame in (CONTINUOUS, shuffled)
    ]
    same(*tables)


def counted(frame, forecasts, **options):
    """Return the tables of several forecasts, counted together, by model, event and group."""
    cases = read_lazy_cases(nw.from_native(frame), forecasts, outcome="y", **options)
    fields = table_fields(cases, keys=cases.keys, exact=True, budget=2**22, cells=2**20)
    return {
        (cases.models[model], event, *group): ForecastTable(**given) for (model, event, group), given in fields.items()
    }


def test_several_models_are_counted_in_one_query(lazy_engine):
    frame = ROUNDED.with_columns(q=pl.when(pl.arange(N) % 9 == 0).then(None).otherwise("q"))
    models = {"a": "p", "b": "q"}
    tables = counted(lazy_engine(frame), models, weight="k", by="site", missing="drop")
    kept = frame.drop_nulls()
    assert len(tables) == 6
    for (name, _, site), table in tables.items():
        own = kept.filter(pl.col("site") == site)
        expected = ForecastTable.from_predictions(own["y"], own[models[name]], sample_weight=own["k"])
        assert table.dropped == len(frame.filter(pl.col("site") == site)) - len(own)
        same(table, ForecastTable(**{**fields(expected), "dropped": table.dropped}))


def test_the_classes_of_a_model_are_counted_in_one_query(lazy_engine):
    rows = GENERATOR.dirichlet([1, 2, 3], 500)
    frame = pl.DataFrame(
        {"y": GENERATOR.choice(["low", "mid", "high"], 500), "0": rows[:, 0], "1": rows[:, 1], "2": rows[:, 2]}
    )
    labels = ["low", "mid", "high"]
    tables = counted(lazy_engine(frame), {"m": ["0", "1", "2"]}, labels=labels)
    for place, expected in enumerate(pr.condense(frame["y"], rows, labels=labels).tables().values()):
        same(tables["m", Event("class", place)], expected)


def test_rows_of_classes_must_sum_to_one():
    frame = pl.LazyFrame({"y": [0, 1, 2], "a": [0.5, 0.3, 0.2], "b": [0.5, 0.3, 0.8]})
    with pytest.raises(InputValueError, match=r"y_true must hold only the labels \[0, 1\]; one is 2 \(1 of 3 rows\)"):
        counted(frame, {"m": ["a", "b"]}, labels=[0, 1])
    with pytest.raises(
        InputValueError, match=r"the rows of y_proba must sum to 1 within 1e-06; one sums to 0.6 \(1 of 2 rows\)"
    ):
        counted(frame.head(2), {"m": ["a", "b"]}, labels=[0, 1])
    missing = frame.head(2).with_columns(b=pl.Series([0.5, None]))
    with pytest.raises(MissingValuesError, match=r"y_proba must not hold missing values .*\(1 of 2 rows\)"):
        counted(missing, {"m": ["a", "b"]}, labels=[0, 1])
    assert counted(missing, {"m": ["a", "b"]}, labels=[0, 1], missing="drop")["m", Event("event")].dropped == 1


def test_collected_cases_are_the_same_on_every_engine(lazy_engine):
    frame = ROUNDED.head(400).with_columns(
        p=pl.when(pl.int_range(400) < 5).then(None).otherwise("p"),
        ward=pl.when(pl.int_range(400) % 7 == 0).then(None).otherwise("site"),
    )
    found, expected = (
        read_lazy_cases(
            nw.from_native(given),
            {"a": "p", "b": "q"},
            outcome="y",
            weight="k",
            by="site",
            cluster="ward",
            missing="drop",
        ).collected()
        for given in (lazy_engine(frame), frame.lazy())
    )
    assert len(found.outcome) == 395
    assert [found.outcome.tolist(), found.weight.tolist()] == [expected.outcome.tolist(), expected.weight.tolist()]
    assert (found.keys, found.cluster) == (expected.keys, expected.cluster)
    for model, column in expected.forecasts.items():
        assert found.forecasts[model].tolist() == column.tolist()
