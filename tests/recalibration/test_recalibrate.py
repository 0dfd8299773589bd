import math
from dataclasses import replace

import duckdb
import narwhals as nw
import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit, logit

import propriety as pr
from propriety.errors import ImproperRuleError, InputTypeError, InputValueError
from propriety.recalibration import METHODS, IdentityMap, fit_logistic, fit_shrunk_spline
from propriety.recalibration import folds as folds_module
from propriety.recalibration.folds import assign_folds, folds_of, split_into_folds
from propriety.recalibration.hashed_folds import hash_of_labels, hashed_folds, with_hashed_folds
from propriety.recalibration.result import formula_of
from propriety.tables.forecast_table import ForecastTable

COLUMNS = ("score", "gain", "low", "high", "standard_error", "p_value")


def sample(seed, n=1500, slope=0.6):
    generator = np.random.default_rng(seed)
    x = generator.normal(-0.3, 1.5, n)
    y = (generator.random(n) < expit(slope * x)).astype(int)
    return y, expit(x), generator


def jackknife_variance(losses, weight=None, unit=None):
    """What the noise of the maps of the folds adds to the variance of the mean loss, from the losses of every case."""
    losses = np.stack(losses)
    weight = np.ones(losses.shape[1]) if weight is None else weight
    parts = weight * (losses - losses.mean(axis=0)) / weight.sum()
    sums = parts if unit is None else np.stack([np.bincount(unit, part) for part in parts])
    return (len(losses) - 1) / len(losses) * (sums**2).sum()


def assert_same(one, other, rtol=1e-9):
    assert one.candidate.tolist() == other.candidate.tolist()
    for name in COLUMNS:
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=rtol, atol=1e-12, err_msg=name)
    assert one.verdict.outcome == other.verdict.outcome
    np.testing.assert_allclose(one([0.1, 0.6]), other([0.1, 0.6]), rtol=1e-9)


@pytest.mark.parametrize(
    "rule", [pr.Log(), pr.Brier(), pr.BoundedBrier(low=0.2, high=0.6), pr.BoundedLog(low=0.1, high=0.3)]
)
@pytest.mark.parametrize("weighted", [False, True])
def test_gains_are_those_of_fitting_row_by_row_and_comparing(rule, weighted):
    y, p, generator = sample(1)
    p, fold = np.round(p, 3).clip(0.001, 0.999), generator.integers(0, 4, len(y))
    weight = generator.choice([1.0, 2.0], len(y)) if weighted else None
    names = ["auto", "logistic", "beta", "venn-abers"]
    found = pr.recalibrate(y, p, candidates=names, folds=fold, rule=rule, sample_weight=weight)
    crossed = {"none": p} | {name: np.empty(len(p)) for name in found.candidate.tolist() if name != "none"}
    by_map = {name: [] for name in names}
    for own in range(4):
        held = fold == own
        others = ForecastTable.from_predictions(
            y[~held], p[~held], sample_weight=None if weight is None else weight[~held]
        )
        for name in names:
            own_map = METHODS[name](others)
            crossed[name][held] = own_map(p[held])
            by_map[name].append(own_map(p))
    compared = pr.compare(y, crossed, rule, reference="none", sample_weight=weight, method="paired t")
    for row, name in enumerate(compared.differences.model.tolist()):
        at = found.candidate.tolist().index(name)
        assert found.gain[at] == pytest.approx(-compared.differences.value[row], rel=1e-9)
        noise = jackknife_variance([rule.case_loss(one, y == 1) for one in by_map[name]], weight)
        error = math.sqrt(compared.differences.error[row] ** 2 + noise)
        assert found.standard_error[at] == pytest.approx(error, rel=1e-7)
        half = (
            (compared.differences.high[row] - compared.differences.low[row])
            / 2.0
            * error
            / compared.differences.error[row]
        )
        assert (found.low[at], found.high[at]) == pytest.approx(
            (found.gain[at] - half, found.gain[at] + half), rel=1e-6
        )
    assert found.map == fit_shrunk_spline(ForecastTable.from_predictions(y, p, sample_weight=weight))
    assert found.after.table.n == len(y)


def test_a_stored_ledger_of_clusters_says_that_the_map_takes_cases_as_independent(tmp_path):
    """Its tables do not tell how correlated the cases are; with the cases, the map is shrunk accordingly."""
    generator = np.random.default_rng(1)
    cluster = np.repeat(np.arange(40), 50)
    x, shift = generator.normal(size=2000), generator.normal(size=40)[cluster]
    p, y = 1 / (1 + np.exp(-x)), generator.random(2000) < 1 / (1 + np.exp(-x - shift))
    ledger = pr.condense(y, {"a": p}, by={"fold": cluster % 5}, cluster=cluster)
    ledger.to_parquet(tmp_path / "ledger")
    stored = pr.recalibrate(pr.Ledger.from_parquet(tmp_path / "ledger"), folds="fold")
    of_cases = pr.recalibrate(ledger, folds="fold")
    assert of_cases.map.shrinkage == 0.0
    assert "shrinkage" not in of_cases.note
    assert stored.map.shrinkage > 0.5
    assert stored.note.endswith('The shrinkage of "auto" takes the cases as independent, so it may be too weak.')
    other = pr.recalibrate(pr.Ledger.from_parquet(tmp_path / "ledger"), folds="fold", method="logistic")
    assert "shrinkage" not in other.note


def test_arrays_frames_lazy_frames_and_ledgers_agree(tmp_path):
    y, p, generator = sample(2)
    p, fold, ids = np.round(p, 2), generator.integers(0, 5, len(y)), generator.permutation(len(y)) - 300
    frame = pl.DataFrame({"y": y, "p": p, "fold": fold, "id": ids})
    given_ = pr.recalibrate(y, p, folds=fold, candidates=["logistic"])
    columns = {"forecasts": "p", "outcome": "y", "candidates": ["logistic"]}
    assert_same(given_, pr.recalibrate(frame, folds="fold", **columns))
    assert_same(given_, pr.recalibrate(frame.lazy(), folds="fold", **columns))
    ledger = pr.condense(y, {"a": p, "b": p**2}, by={"fold": fold, "site": fold % 2})
    assert_same(given_, pr.recalibrate(ledger, folds="fold", model="a", candidates=["logistic"]))
    ledger.to_parquet(tmp_path / "ledger")
    stored = pr.Ledger.from_parquet(tmp_path / "ledger")
    assert_same(given_, pr.recalibrate(stored, folds="fold", model="a", candidates=["logistic"]))
    hashed_ = pr.recalibrate(y, p, id=ids, candidates=["logistic"])
    assert_same(hashed_, pr.recalibrate(frame, id="id", **columns))
    assert_same(hashed_, pr.recalibrate(frame.lazy(), id="id", **columns))


def test_duckdb_folds_by_hash_where_the_rows_lie():
    duckdb = pytest.importorskip("duckdb")
    y, p, generator = sample(3)
    frame = pl.DataFrame({"y": y, "p": np.round(p, 2), "id": generator.integers(-(10**15), 10**15, len(y))})
    relation = duckdb.sql("select * from frame")
    assert_same(
        pr.recalibrate(frame, "p", outcome="y", id="id"),
        pr.recalibrate(relation, "p", outcome="y", id="id"),
    )


def test_whole_clusters_go_to_one_fold_and_the_interval_is_that_of_clusters():
    y, p, generator = sample(4)
    cluster = generator.integers(0, 60, len(y))
    parts = folds_of(y, p, folds=6, id=None, model=None, cluster=cluster)
    assert all(len(set(parts.codes[cluster == one])) == 1 for one in range(60))
    assert [table.n for table in parts.tables] == np.bincount(parts.codes).tolist()
    found = pr.recalibrate(y, p, folds=parts.codes, cluster=cluster, rule=pr.Log())
    crossed, losses = np.empty(len(p)), []
    for own in range(6):
        held = parts.codes == own
        own_map = fit_shrunk_spline(ForecastTable.from_predictions(y[~held], p[~held]))
        crossed[held] = own_map(p[held])
        losses.append(pr.Log().case_loss(own_map(p), y == 1))
    compared = pr.compare(y, {"after": crossed, "before": p}, pr.Log(), reference="before", cluster=cluster)
    assert found.gain[1] == pytest.approx(-compared.differences.value[0], rel=1e-9)
    error = math.sqrt(compared.differences.error[0] ** 2 + jackknife_variance(losses, unit=cluster))
    assert found.standard_error[1] == pytest.approx(error, rel=1e-9)
    frame = pl.DataFrame({"y": y, "p": p, "c": cluster})
    lazily = pr.recalibrate(frame.lazy(), "p", outcome="y", cluster="c", rule=pr.Log())
    assert lazily.folds == "10 folds by a hash of c"
    assert lazily.verdict.low < lazily.verdict.gain < lazily.verdict.high


def test_folds_without_cases_are_told():
    y, p, _ = sample(5, n=60)
    found = folds_of(y, p, folds=60, id=None, model=None)
    empty = 60 - len(found.tables)
    assert empty > 1
    assert found.words == f"{len(found.tables)} random folds ({empty} of the 60 are empty)"
    assert folds_of(y, p, folds=6, id=None, model=None).words == "6 random folds"


def test_times_go_to_folds_in_blocks():
    y, p, _ = sample(5)
    day = np.arange(len(y)) // 5
    parts = folds_of(y, p, folds=10, id=None, model=None, period=day)
    assert (np.diff(parts.codes) >= 0).all()
    assert all(len(set(parts.codes[day == one])) == 1 for one in range(len(y) // 5))
    assert pr.recalibrate(y, p, period=day).verdict.outcome == "gain"


def test_clusters_that_are_not_at_hand_leave_gains_without_intervals(tmp_path):
    y, p, generator = sample(6)
    ledger = pr.condense(
        y, p, by={"fold": generator.integers(0, 5, len(y))}, cluster=np.arange(len(y)) // 3, cells=1024
    )
    found = pr.recalibrate(ledger, folds="fold")
    assert found.verdict.outcome == "not tested"
    assert math.isnan(found.verdict.low)
    assert found.verdict.gain > 0.0
    assert "intervals" in found.note
    assert "not tested" in str(found)
    with pytest.raises(InputValueError, match="cluster"):
        pr.recalibrate(ledger)


@given(
    rows=st.lists(st.tuples(st.integers(0, 20), st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=15),
    folds=st.integers(2, 6),
    seed=st.integers(0, 99),
)
@settings(max_examples=50, deadline=None)
def test_the_cases_of_a_table_are_split_without_loss(rows, folds, seed):
    counts = {forecast / 20.0: (events, others + 1) for forecast, events, others in rows}
    forecast = sorted(counts)
    events, others = zip(*(counts[one] for one in forecast), strict=True)
    table = ForecastTable(forecast=forecast, events=events, non_events=others)
    parts = split_into_folds(table, folds, seed)
    assert ForecastTable.merge(parts) == table
    assert len(parts) <= folds


def test_folds_without_cases_are_not_counted():
    y, p = [0, 1, 1, 0], np.array([0.2, 0.4, 0.6, 0.8])
    frame = pl.DataFrame({"y": y, "p": p, "id": [1, 2, 3, 4]})
    found = [
        folds_of(y, p, folds=10, id=None, model=None),
        folds_of(y, p, folds=10, id=None, model=None, cluster=[1, 2, 3, 4]),
        folds_of(y, p, folds=10, id=None, model=None, period=[1, 2, 3, 4]),
        folds_of(y, p, folds=10, id=[1, 2, 3, 4], model=None),
        folds_of(frame.lazy(), "p", outcome="y", folds=10, id="id", model=None),
        folds_of(y, np.column_stack([1.0 - p, p]), folds=10, id=None, model=None),
    ]
    assert [int(one.words.split()[0]) for one in found] == [len(one) for one in found]
    assert max(len(one) for one in found) <= 4
    assert len(found[3]) == len(found[4]) == 4  # Each identifier is a fold.


@given(
    ids=st.sets(st.integers(-(10**6), 10**6), min_size=1, max_size=40),
    folds=st.integers(2, 12),
)
@settings(max_examples=50, deadline=None)
def test_no_fold_is_empty_with_enough_identifiers(ids, folds):
    labels = sorted(ids)
    found = hashed_folds(labels, folds)
    assert len(set(found.tolist())) == min(folds, len(ids))
    assert 0 <= found.min() <= found.max() < folds
    assert (hashed_folds(labels[::-1], folds) == found[::-1]).all()


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_few_identifiers_fill_the_folds_of_an_engine_too(engine):
    y, p, generator = sample(13, n=300)
    ids = generator.integers(0, 25, len(y))
    frame = pl.DataFrame({"y": y, "p": p, "case": ids})
    lazy = frame.lazy() if engine == "polars" else pytest.importorskip("duckdb").sql("SELECT * FROM frame")
    own, eager = (folds_of(one, "p", outcome="y", folds=10, id="case", model=None) for one in (lazy, frame))
    assert len(np.unique(np.floor(hash_of_labels(range(25)) * 10))) == 9  # By hashes a fold would be empty.
    assert own.words == eager.words == "10 folds by a hash of case"
    assert folds_of(y, p, folds=10, id=ids, model=None).words == "10 folds by a hash of id"
    assert [table.n for table in own.tables] == [table.n for table in eager.tables]


def test_folds_are_balanced_and_reproducible():
    assert np.bincount(assign_folds(np.ones(1003), 10, 1)).tolist() == pytest.approx([100] * 10, abs=1)
    counts = np.bincount(hashed_folds(range(10_000), 10))
    assert counts.min() > 900
    labels = [*range(200), "b"]
    assert (hashed_folds(labels, 10)[:100] == hashed_folds(labels[:100], 10)).all()
    y, p, _ = sample(7)
    assert_same(pr.recalibrate(y, p), pr.recalibrate(y, p))
    first = pr.recalibrate(y, p)
    assert_same(first, pr.recalibrate(y, p))


def test_ledgers_give_the_same_gain_as_their_cases_up_to_the_draw_of_folds():
    y, p, _ = sample(8, n=6000)
    table = ForecastTable.from_predictions(y, np.round(p, 3))
    one, other = pr.recalibrate(pr.Ledger.of_tables({"a": table})), pr.recalibrate(y, np.round(p, 3))
    assert one.map == other.map
    assert one.verdict.gain == pytest.approx(other.verdict.gain, abs=0.5 * other.standard_error[1])
    weighted = ForecastTable.from_predictions(y, p, sample_weight=np.arange(1.0, 1.0 + len(y)))
    with pytest.raises(InputValueError, match="weighted"):
        pr.recalibrate(pr.Ledger.of_tables({"a": weighted}))


def test_forecasts_of_0_and_1_that_fail_are_measured_against_the_floored():
    y, p, _ = sample(9)
    p = np.where(p < 0.1, 0.0, np.where(p > 0.9, 1.0, p))
    found = pr.recalibrate(y, p, rule=pr.Log())
    assert found.candidate.tolist() == ["none", "floored", "auto"]
    assert math.isinf(found.score[0])
    assert found.verdict.reference == "floored"
    assert found.verdict.gain == pytest.approx(found.score[1] - found.score[2])
    assert found.verdict.outcome == "gain"
    assert "infinite" in str(found)
    by_brier = pr.recalibrate(y, p, rule=pr.Brier())
    assert by_brier.verdict.reference == "none"


@pytest.mark.slow
def test_the_choice_is_the_simplest_of_those_near_the_best():
    y, p, _ = sample(10, n=4000, slope=1.0)
    calm = pr.recalibrate(y, p, method="choose")
    assert calm.method in ("none", "floored", "auto")
    y, p, _ = sample(10, n=4000, slope=0.4)
    found = pr.recalibrate(y, p, method="choose", candidates=["none", "slope", "isotonic"])
    assert found.method == "slope"
    assert found.map == found.maps["slope"]
    assert "chosen with the same folds" in found.note
    assert found.verdict.outcome == "gain"


def test_a_simple_map_near_the_best_is_chosen():
    y, p, _ = sample(7, n=300, slope=1.0)
    near = pr.recalibrate(y, p, method="choose", folds=3, candidates=["none", "slope", "spline"], rule=pr.Log())
    assert near.candidate[near.score.argmin()] == "slope"
    assert 0.0 < near.gain[1] < 0.5 * near.standard_error[1]
    assert near.method == "none"


def test_what_cannot_be_fitted_is_noted_or_refused():
    y, p = [0, 1] * 30, [0.3] * 60
    found = pr.recalibrate(y, p, candidates=["logistic"])
    assert found.candidate.tolist() == ["none", "auto"]
    assert "logistic could not be fitted" in found.note
    with pytest.raises(InputValueError, match="slope"):
        pr.recalibrate(y, p, method="logistic")
    with pytest.raises(InputValueError, match=r'do not separate .*in recalibrate use method="auto"'):
        pr.recalibrate([0] * 30 + [1] * 30, np.linspace(0.1, 0.9, 60), method="logistic")
    rare = pr.recalibrate([1] + [0] * 59, np.linspace(0.01, 0.2, 60), candidates=["intercept"])
    assert "intercept could not be fitted" in rare.note


def test_one_class_is_recalibrated_but_not_tested():
    found = pr.recalibrate([0] * 200, np.full(200, 0.2))
    assert found(0.2) < 0.1
    assert found.verdict.outcome == "not tested"


def test_improper_rules_and_unknown_methods_are_refused():
    y, p, _ = sample(11, n=100)
    with pytest.raises(ImproperRuleError):
        pr.recalibrate(y, p, rule=pr.ShiftedBrier(0.2, weighted=False))
    with pytest.raises(InputValueError, match="magic"):
        pr.recalibrate(y, p, method="magic")
    with pytest.raises(InputTypeError, match="list"):
        pr.recalibrate(y, p, candidates="beta")
    with pytest.raises(InputValueError, match="folds"):
        pr.recalibrate(y, p, folds=1)
    with pytest.raises(InputValueError, match="two folds"):
        pr.recalibrate(y, p, folds=np.zeros(100))
    with pytest.raises(InputValueError, match="id= determines"):
        pr.recalibrate(y, p, id=np.arange(100), cluster=np.arange(100))
    with pytest.raises(InputTypeError, match="whole numbers"):
        pr.recalibrate(pl.LazyFrame({"y": y, "p": p, "s": ["a"] * 100}), "p", outcome="y", id="s")


@pytest.mark.parametrize("folds", [None, 5.0, True, np.float64(4.5)], ids=str)
def test_folds_of_another_type_are_named(folds):
    y, p, _ = sample(11, n=100)
    frame = pl.DataFrame({"y": y, "p": p})
    named = "folds must be a whole number from 2 to 100 or the name of a column"
    for one in (frame, frame.lazy()):
        with pytest.raises(InputTypeError, match=named):
            pr.recalibrate(one, "p", outcome="y", folds=folds)
    with pytest.raises(InputTypeError, match=named):
        pr.recalibrate(frame, "p", outcome="y", folds=np.arange(100) % 3)
    with pytest.raises(InputTypeError, match="id must be the name of a column"):
        pr.recalibrate(frame, "p", outcome="y", id=np.arange(100))
    with pytest.raises(InputTypeError, match="folds must be a whole number from 2 to 100 or an array with one entry"):
        pr.recalibrate(y, p, folds=folds)


@pytest.mark.parametrize("method", ["platt", None, ["auto"]], ids=str)
def test_an_unknown_method_is_named_by_its_argument(method):
    y, p, _ = sample(11, n=100)
    with pytest.raises(InputValueError, match=r'^method must be one of "none"'):
        pr.recalibrate(y, p, method=method)
    with pytest.raises(InputValueError, match=r'^candidates must be one of "none"'):
        pr.recalibrate(y, p, candidates=[method])


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_identifiers_beyond_63_bits_are_hashed_on_the_engine(engine):
    y, p, _ = sample(12, n=200)
    frame = pl.DataFrame({"y": y, "p": p, "id": np.arange(200, dtype=np.uint64) * 7 + np.uint64(2**63)})
    lazy = frame.lazy() if engine == "polars" else pytest.importorskip("duckdb").sql("SELECT * FROM frame")
    own, eager = (folds_of(one, "p", outcome="y", folds=4, id="id", model=None) for one in (lazy, frame))
    assert [table.n for table in own.tables] == [table.n for table in eager.tables]


BESIDE = {
    "forecasts": np.full(100, 0.5),
    "cluster": np.arange(100),
    "period": np.arange(100),
    "sample_weight": np.ones(100),
    "id": np.arange(100),
    "pos_label": 1,
    "labels": [0, 1],
}


@pytest.mark.parametrize("name", BESIDE)
def test_condensed_data_are_passed_alone(name):
    y, p, _ = sample(11, n=100)
    with pytest.raises(InputTypeError, match=f"a Ledger holds .* pass it without {name}\\."):
        pr.recalibrate(pr.condense(y, p), **{name: BESIDE[name]})


WORDS = {
    "gain": (0.4, 3000, "lowers the log score"),
    "not shown": (0.85, 400, "not shown to change"),
    "unchanged": (1.0, 400, "leaves the forecasts as they are, and the log score at"),
}


@pytest.mark.parametrize("outcome", WORDS)
def test_words_are_made_from_the_verdict(outcome):
    slope, n, told = WORDS[outcome]
    for seed in range(30):
        y, p, _ = sample(seed, n=n, slope=slope)
        found = pr.recalibrate(y, p, rule=pr.Log())
        if found.verdict.outcome == outcome:
            break
    assert found.verdict.outcome == outcome
    assert told in str(found)
    assert "out of sample, 10 random folds" in str(found)
    assert found.to_dict()["map"] == found.map.to_dict()
    assert len(found.to_frame(backend="pandas")) == 2


def test_a_gain_that_many_candidates_might_have_by_chance_is_said_to_be():
    y, p, _ = sample(1, n=300)
    found = pr.recalibrate(y, p, candidates=["slope", "beta"])
    verdict = replace(found.verdict, outcome="not shown", low=0.001, high=0.02)
    assert "after adjustment for 3 candidates" in str(replace(found, verdict=verdict))
    assert "candidates" not in str(replace(found, verdict=replace(verdict, low=-0.001)))


def test_a_map_that_harms_is_said_to():
    halves = pr.condense([1, 0, 1, 0], [0.5] * 4, counts=[300, 100, 100, 260], by={"fold": ["a", "a", "b", "b"]})
    found = pr.recalibrate(halves, folds="fold", method="isotonic", rule=pr.Brier())
    assert found.verdict.outcome == "loss"
    assert found.verdict.after > found.verdict.before
    assert "do not use" in str(found)


def test_a_map_that_makes_the_score_infinite_is_not_to_be_used():
    y, p, _ = sample(1, n=300)
    found = pr.recalibrate(y, p, method="isotonic", rule=pr.Log())
    assert found.verdict.outcome == "loss"
    assert (found.verdict.after, found.verdict.gain) == (math.inf, -math.inf)
    assert f"raises the log score from {found.verdict.before:.3f} to infinity: do not use it; out" in str(found)
    assert "nan" not in str(found)
    p[0] = 1.0 - y[0]
    both = pr.recalibrate(y, p, method="isotonic", rule=pr.Log())
    assert both.verdict.outcome == "infinite"


@pytest.mark.parametrize("change", [1e-5, -1e-5])
def test_a_change_that_is_shown_but_immaterial_is_said_to_be_practically_none(change):
    y, p, _ = sample(1, n=300)
    found = pr.recalibrate(y, p, rule=pr.Log())
    told = {"outcome": "gain" if change > 0.0 else "loss", "gain": change, "low": 0.9 * change, "high": 1.1 * change}
    verdict = replace(found.verdict, before=0.46, after=0.46 - change, **told)
    words = str(replace(found, verdict=verdict))
    signed = f"{'-' * (change < 0.0)}1.00e-05"
    assert f"leaves the log score of 0.460 practically unchanged: the gain is {signed} (95% CI" in words
    assert "do not use" not in words
    assert not replace(verdict, gain=2e-4).is_immaterial


def test_keeping_forecasts_from_certainty_costs_practically_nothing():
    y, p, _ = sample(1, n=3000, slope=1.0)
    found = pr.recalibrate(y, np.where((p < 0.02) & (y == 0), 0.0, p), method="floored", rule=pr.Log())
    assert found.verdict.outcome == "loss"
    assert "practically unchanged" in str(found)


def expected_cost(n, samples, fit, seed=1):
    """Mean expected log score of the map of calibrated forecasts, minus that of the forecasts, in nats."""
    generator = np.random.default_rng(seed)
    p = expit(generator.normal(-0.5, 1.6, 4000))
    costs = []
    for _ in range(samples):
        x = generator.normal(-0.5, 1.6, n)
        q = fit(ForecastTable.from_predictions(generator.random(n) < expit(x), expit(x))).recalibrated(p)
        costs.append((p * np.log(p / q) + (1.0 - p) * np.log((1.0 - p) / (1.0 - q))).mean())
    return np.mean(costs)


@pytest.mark.simulation
def test_the_default_map_costs_little_where_forecasts_are_calibrated():
    assert expected_cost(200, 400, fit_shrunk_spline) <= 1e-3
    assert expected_cost(2000, 100, fit_shrunk_spline) <= 1e-4
    assert expected_cost(200, 100, fit_logistic) >= 2e-3  # What is not shrunk costs several times as much.


@pytest.mark.parametrize("kind", ["int8", "int32", "int64", "uint32", "uint64"])
def test_hashes_of_identifiers_are_the_same_on_engines(kind):
    limits = np.iinfo(kind)
    ids = np.unique(np.random.default_rng(0).integers(limits.min, limits.max, 200, dtype=kind, endpoint=True))
    ids = np.unique(np.r_[ids, np.array([limits.min, limits.max, limits.max - 1, 0, 1], dtype=kind)])
    wanted = dict(zip(ids.tolist(), np.floor(hash_of_labels(ids.tolist()) * 10), strict=True))
    frame = pl.DataFrame({"id": ids})
    for own in (frame.lazy(), duckdb.from_arrow(frame.to_arrow())):
        found = with_hashed_folds(nw.from_native(own), "id", 10, "fold").collect("pyarrow").to_dict(as_series=False)
        assert dict(zip(found["id"], found["fold"], strict=True)) == wanted


@pytest.mark.parametrize("start", [2**53, 2**63, 2**70, -(2**62), 10**400])
def test_large_identifiers_are_spread_over_all_folds(start):
    counts = np.bincount(hashed_folds(range(start, start + 1000), 10), minlength=10)
    assert counts.min() > 60


def test_text_that_cannot_be_encoded_has_a_hash():
    assert set(hashed_folds(["\ud800", "\ud801"], 2).tolist()) == {0, 1}


def test_errors_about_identifiers_name_their_argument():
    y, p = np.tile([0, 1], 50), np.linspace(0.1, 0.9, 100)
    ids = [None, *range(99)]
    with pytest.raises(InputValueError, match=r"^id must be known for every case; row 0"):
        pr.recalibrate(y, p, id=ids)
    with pytest.raises(InputValueError, match=r"^folds must be known for every case; row 0"):
        pr.recalibrate(y, p, folds=ids)
    with pytest.raises(InputValueError, match=r"it lacks \['case'\]"):
        pr.recalibrate(pl.LazyFrame({"y": y, "p": p}), "p", outcome="y", id="case")


def test_the_result_tells_its_facts_and_its_formula():
    y, p, _ = sample(12, n=200)
    y = [None, *y[1:].tolist()]
    found = pr.recalibrate(y, p, missing="drop", method="logistic", folds=2)
    facts = found._facts()
    assert (facts["method"], facts["n"], facts["dropped"]) == ("logistic", 199, 1)
    assert (facts["gain"], facts["low"], facts["high"]) == (found.gain[1], found.low[1], found.high[1])
    assert formula_of(found.map) == found.map.formula
    assert "dropped" not in replace(found, dropped=0)._facts()
    flat = replace(fit_shrunk_spline(ForecastTable.from_predictions([0, 1] * 20, [0.25, 0.75] * 20)), shrinkage=0.0)
    assert formula_of(flat) == f"q = {IdentityMap(floor=flat.floor).formula}"


@pytest.mark.parametrize("forecasts", ["p", ["p"], {"a": "p"}])
def test_one_forecast_of_many_rows_is_counted_on_a_grid(forecasts, monkeypatch):
    monkeypatch.setattr(folds_module, "MAX_TABLE_ROWS", 100)
    y, p, generator = sample(13, n=300)
    frame = pl.DataFrame({"y": y, "p": p, "id": generator.permutation(300)}).lazy()
    found = folds_of(frame, forecasts, outcome="y", folds=3, id="id", model=None)
    assert [table.cells for table in found.tables] == [2**16] * 3
    assert sum(table.n for table in found.tables) == 300


def test_a_rule_for_classes_only_is_refused_for_one_event():
    with pytest.raises(InputValueError, match=r"RankedProbability\(\) is a rule for classes"):
        pr.recalibrate([0, 1] * 20, [0.2, 0.7] * 20, rule=pr.RankedProbability())


@pytest.mark.parametrize("unit", ["cluster", "period"])
def test_repeated_cases_are_no_more_evidence(unit):
    rng = np.random.default_rng(1)
    p = rng.beta(2, 3, 300)
    y, again = rng.random(300) < expit(0.7 * logit(p)), np.repeat(np.arange(300), 16)
    once = pr.recalibrate(y, p).map
    found = pr.recalibrate(y[again], p[again], **{unit: again}).map
    assert 0.0 < once.shrinkage < 1.0
    assert found.shrinkage == pytest.approx(once.shrinkage, rel=1e-6)
    assert found.slopes == pytest.approx(once.slopes, rel=1e-6)
    assert pr.recalibrate(y[again], p[again]).map.shrinkage > once.shrinkage


def test_repeated_cases_of_classes_are_no_more_evidence():
    rng = np.random.default_rng(1)
    p = rng.dirichlet(np.ones(3), 300)
    y = (p.cumsum(axis=1) > rng.random((300, 1))).argmax(axis=1)
    again = np.repeat(np.arange(300), 16)
    once = pr.recalibrate(y, p).map
    found = pr.recalibrate(y[again], p[again], cluster=again).map
    assert found.shares == pytest.approx(once.shares, abs=0.02)
    assert pr.recalibrate(y[again], p[again]).map.shares.max() > 0.3


@pytest.mark.parametrize("given", ["cluster", "period"])
def test_folds_that_split_clusters_are_refused(given):
    y, p, _ = sample(21, n=200)
    unit, folds = np.repeat(np.arange(20), 10), np.arange(200) % 5
    folds[:10] = 0  # The first one is whole.
    with pytest.raises(
        InputValueError, match=rf"folds must keep each {given} in one fold; {given} 1 is in several \(19"
    ):
        pr.recalibrate(y, p, folds=folds, **{given: unit})
    whole = pr.recalibrate(y, p, folds=unit % 5, **{given: unit})
    assert "5 folds as given" in str(whole)


def test_a_verdict_depends_neither_on_the_order_of_rows_nor_on_weights_of_one():
    y, p, generator = sample(3, n=228)
    found = pr.recalibrate(y, p)
    for order in (generator.permutation(len(y)) for _ in range(3)):
        assert_same(found, pr.recalibrate(y[order], p[order]), rtol=1e-12)
    assert_same(found, pr.recalibrate(y, p, sample_weight=np.ones(len(y))), rtol=1e-12)
    cluster, order = generator.integers(0, 40, len(y)), generator.permutation(len(y))
    of_clusters = pr.recalibrate(y, p, cluster=cluster)
    assert_same(of_clusters, pr.recalibrate(y[order], p[order], cluster=cluster[order]), rtol=1e-9)


@pytest.mark.parametrize("rule", [pr.Brier(), pr.Log()])
def test_before_is_the_score_of_the_cases(rule):
    y, p, generator = sample(4, n=6000)  # More distinct forecasts than are kept apart.
    assert pr.recalibrate(y, p, rule=rule).verdict.before == pr.mean_score(y, p, rule=rule)
    weight = generator.random(len(y))
    found = pr.recalibrate(y, p, rule=rule, sample_weight=weight, folds=2)
    assert found.verdict.before == pr.mean_score(y, p, rule=rule, sample_weight=weight)


def test_folds_are_drawn_until_their_choice_matters_little():
    y, p, _ = sample(5, n=200)
    small = pr.recalibrate(y, p)
    assert 4 <= int(small.folds.split()[-2]) <= 20
    y, p, _ = sample(5, n=20_000)
    assert pr.recalibrate(y, p).folds == "10 random folds"
    assert pr.recalibrate(y[:200], p[:200], folds=np.arange(200) % 5).folds == "5 folds as given"


@pytest.mark.parametrize("rule", [pr.Brier(), pr.Log()])
def test_a_gain_that_rests_on_forecasts_near_0_says_so(rule):
    y, p, _ = sample(6, n=120, slope=1.0)
    assert "rests on" not in pr.recalibrate(y, p, rule=rule).note
    p[np.flatnonzero(y == 0)[:2]] = 1e-7
    assert "2 forecasts lie within 1e-07 of 0 or 1, and none was wrong" in pr.recalibrate(y, p, rule=rule).note
    p[np.flatnonzero(y == 1)[:3]] = 1e-7
    assert "rests on" not in pr.recalibrate(y, p, rule=rule).note


def test_only_a_map_that_moves_no_forecast_is_called_unchanged():
    outcomes = set()
    for seed in range(12):
        y, p, _ = sample(seed, n=150, slope=0.9)
        found = pr.recalibrate(y, p)
        outcomes.add(found.verdict.outcome)
        assert (found.verdict.outcome == "unchanged") == np.allclose(found(p), p, rtol=1e-9, atol=0.0)
    assert "unchanged" in outcomes
    assert len(outcomes) > 1
