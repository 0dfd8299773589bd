"""`check_calibration`: its test by hand, its sizes, its verdicts, and the rows of classes, grades and groups."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import eval_legendre, expit, logit
from scipy.stats import chi2

import propriety as pr
from propriety.errors import InputValueError
from propriety.inference.check_calibration import parts_of
from propriety.inference.verdict import gate, verdict

ORDER = {"holds": 0, "cannot be told": 1, "fails": 2}


def checked(y, p=None, **options):
    return pr.check_calibration(y, p, **({"seed": 1, "n_resamples": 100} | options))


def joint(found, **names):
    return found.where(measure="calibration", **({"keys": {}} | names))[0]


def drawn(n, seed=0, truth=lambda x: x, shape=(1, 3)):
    rng = np.random.default_rng(seed)
    p = rng.beta(*shape, n)
    return rng.random(n) < expit(truth(logit(p))), p


def drawn_classes(n, seed=0, power=1.0):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet([1.0, 1.5, 2.0], n)
    y = (p.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)
    return y, p**power / (p**power).sum(axis=1, keepdims=True)


@pytest.mark.parametrize("truth", [lambda x: x, lambda x: x + 0.4 * np.sin(3 * x)], ids=["calibrated", "wave"])
def test_the_p_values_are_those_of_cox_and_of_neyman(truth):
    """Fewer than 100 of variance, so that no shape is finer than degree 5."""
    y, p = drawn(500, truth=truth)
    order = np.argsort(p)
    y, p = y[order], p[order]
    v = p * (1.0 - p)
    assert 20 < v.sum() < 100
    u = (np.cumsum(v) - v / 2.0) / v.sum()
    columns = np.stack([np.ones(500), logit(p), *(eval_legendre(k, 2.0 * u - 1.0) for k in (2, 3, 4, 5))])

    def statistic(use):
        score, information = use @ (y - p), (use * v) @ use.T
        return score @ np.linalg.solve(information, score)

    cox, whole = statistic(columns[:2]), statistic(columns)
    p_cox, p_shape = chi2.sf(cox, 2), chi2.sf(whole - cox, 4)
    found = joint(checked(y, p))
    assert found.extra["p_cox"] == pytest.approx(p_cox, rel=1e-6)
    assert found.extra["p_shape"] == pytest.approx(p_shape, rel=1e-3)
    assert found.p == pytest.approx(min(found.extra["p_cox"] / 0.8, found.extra["p_shape"] / 0.2, 1.0))


def test_the_sizes_are_those_of_estimate():
    y, p = drawn(1000)
    found = checked(y, {"a": p, "b": p * 0.9}, level=0.9)
    for model, forecast in (("a", p), ("b", p * 0.9)):
        for key in ("observed_expected", "calibration_slope", "miscalibration"):
            row, alone = found.where(measure=key, model=model)[0], pr.estimate(y, forecast, key, level=0.9, seed=1)
            assert (row.value, row.low, row.high, row.level) == (alone.value, alone.low, alone.high, 0.9)
            assert (row.n, row.events) == (1000, y.sum())
    assert found.where(model="a", measure="observed_expected")[0].extra["event_rate"] == pytest.approx(y.mean())


@pytest.mark.parametrize(
    ("n", "forecast", "expected"),
    [
        (40_000, lambda x: x, {"good"}),
        (250, lambda x: x, {"no error found", "good"}),
        (60, lambda x: x, {"too few"}),
        (40_000, lambda x: x + 0.08, {"small"}),
        (1000, lambda x: x + 0.8, {"bad"}),
        (2000, lambda x: 1.8 * x, {"bad"}),
    ],
)
def test_verdicts_on_forecasts_whose_error_is_known(n, forecast, expected):
    found = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        p = rng.beta(1.5, 3.5, n)
        found.append(joint(checked(rng.random(n) < p, expit(forecast(logit(p))))).verdict)
    assert sum(verdict in expected for verdict in found) >= 4, found


def every_way():
    y, p = drawn(1200)
    rng = np.random.default_rng(3)
    site, weight, cluster = rng.choice(["x", "y"], 1200), rng.lognormal(0, 0.5, 1200), np.arange(1200) // 12
    wrong = p**1.5
    classes, rows = drawn_classes(900, power=1.6)
    return {
        "two models": checked(y, {"a": p, "b": wrong}, by={"site": site}),
        "weights": checked(y, wrong, sample_weight=weight, by=site),
        "clusters": checked(y, p, cluster=cluster, by=site),
        "periods": checked(y, wrong, period=cluster, by=site),
        "few events": checked(*drawn(300, shape=(1, 99))),
        "no event": checked(np.zeros(400), np.full(400, 0.1)),
        "certain": checked([0, 1] * 60, [0.0, 1.0] * 59 + [1.0, 0.0]),
        "classes": checked(classes, rows, by={"site": site[:900]}),
        "classes in clusters": checked(classes, rows, cluster=cluster[:900], by={"site": site[:900]}),
        "grades": checked(classes, rows, ordered=True, labels=[0, 1, 2]),
    }


def test_every_verdict_follows_from_its_row_and_its_parts_and_columns_are_the_same():
    found = every_way()
    fixed = [[name for name in one.columns() if name not in (*one.keys, *one.extra)] for one in found.values()]
    assert all(names == fixed[0] for names in fixed)
    for table in found.values():
        for row in table:
            parts = parts_of(table, row)
            assert bool(parts) == (row.measure.key == "calibration")
            again = verdict(replace(row, verdict=None), parts)
            assert again.verdict == row.verdict, (row, parts)
            assert {note.code for note in again.notes} <= {note.code for note in row.notes}
            if row.statistic in ("further group", "tau"):
                assert row.verdict is None
                continue
            assert row.verdict in ("good", "no error found", "small", "bad", "too few", "not tested")
            assert gate(row, parts) in ORDER


@pytest.mark.parametrize("way", [1, -1])
@pytest.mark.parametrize(("n", "rate"), [(250, 0.27), (1000, 0.03), (20_000, 0.1)])
def test_more_events_away_from_what_is_expected_are_never_better(n, rate, way):
    expected = round(n * rate)
    last_verdict, last = "", 0
    for off in np.linspace(0, 0.9 * expected, 25).astype(int).tolist():
        events = expected + way * off
        y = np.arange(n) < events
        table = checked(y, np.full(n, rate))
        for row in (table.where(measure="observed_expected")[0], joint(table)):
            said = gate(row, parts_of(table, row))
            if row.measure.key == "observed_expected":
                assert last_verdict != "bad" or row.verdict == "bad", (events, row.value)
                last_verdict = row.verdict
            else:
                assert ORDER[said] >= last or said == "cannot be told" == list(ORDER)[last], (events, said)
                last = max(last, ORDER[said])


def test_a_slope_further_from_one_is_never_better():
    p = np.linspace(0.05, 0.7, 14).repeat(300)
    for way in (-1, 1):
        last = ""
        for slope in 1.0 + way * np.linspace(0.0, 0.9, 19):
            # The mean stays, so that only the slope is wrong.
            x = logit(p)
            rate = expit(np.median(x) + slope * (x - np.median(x)))
            y = np.concatenate([np.arange(300) < round(300 * rate[at * 300]) for at in range(14)])
            row = checked(y, p).where(measure="calibration_slope")[0]
            assert last != "bad" or row.verdict == "bad", slope
            last = row.verdict
        assert last == "bad"


@pytest.mark.parametrize(("middle", "spread"), [(3.1, 0.4), (-2.5, 0.5)])
def test_a_worse_model_is_not_better_off(middle, spread):
    """What is enough depended on the forecasts: then 84% of worse models had the better verdict."""
    order = ["good", "no error found", "small", "too few", "bad"]
    better = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        x = spread * rng.standard_normal(400)
        y = rng.random(400) < expit(middle + x)
        found = checked(y, {"right": expit(middle + x), "wrong": expit(middle - 0.35 + x)}, n_resamples=200)
        right, wrong = (joint(found, model=model).verdict for model in ("right", "wrong"))
        better += order.index(wrong) < order.index(right)
    assert better <= 4


def test_classes_have_rows_for_all_the_most_likely_and_each():
    found = checked(*drawn_classes(2000, power=1.8))
    whole = joint(found, statistic="value")
    assert (whole.verdict, whole.note("temperature").parts["way"]) == ("bad", "too extreme")
    assert set(whole.extra) == {"p_temperature", "p_classwise", "p_shape"}
    assert found.where(measure="calibration_slope", statistic="top label")[0].high < 1.0
    for label in range(3):
        row = found.where(measure="calibration", keys={"class": label})[0]
        assert (row.verdict, row.p <= row.p_adjusted) == ("bad", True)
    right = checked(*drawn_classes(400))
    assert joint(right, statistic="value").verdict == "no error found"


def test_grades_have_rows_for_each_cut_point_adjusted_together():
    y, p = drawn_classes(1500)
    found = checked(y, p, ordered=True, labels=[0, 1, 2])
    cuts = [found.where(measure="calibration", keys={"cut": label})[0] for label in (0, 1)]
    assert joint(found).p == min(row.p_adjusted for row in cuts)
    single = checked(y == 0, p[:, 0])
    assert cuts[0].p == pytest.approx(joint(single).p)
    assert cuts[0].p_adjusted >= cuts[0].p


def test_groups_are_tested_with_one_level_and_small_ones_are_not():
    rng = np.random.default_rng(4)
    p = rng.beta(2, 5, 3000)
    site = np.where(np.arange(3000) < 30, "tiny", rng.choice(["x", "y", "z"], 3000))
    wrong = site == "x"
    y = rng.random(3000) < np.where(wrong, expit(logit(p) + 0.8), p)
    found = checked(y, p, by={"site": site})
    rows = {site: found.where(measure="calibration", keys={"site": site})[0] for site in ("x", "y", "z", "tiny")}
    assert rows["x"].verdict == "bad"
    assert {rows["y"].verdict, rows["z"].verdict} <= {"no error found", "good"}
    assert (rows["tiny"].verdict, rows["tiny"].note("scarce").parts) == ("not tested", {"what": "cases"})
    ratio = found.where(measure="observed_expected", keys={"site": "x"})[0]
    assert ratio.value == pytest.approx(y[wrong].sum() / p[wrong].sum())
    assert (ratio.verdict, ratio.low > 1.0) == ("bad", True)
    assert joint(found).verdict == joint(checked(y, p)).verdict  # That of all cases does not read the groups.


def test_cases_a_frame_and_a_ledger_give_the_same_rows():
    y, p = drawn(400)
    site = np.tile(["x", "y"], 200)
    read = pr.cases(y, {"a": p}, by={"site": site})
    found = checked(y, {"a": p}, by={"site": site})
    assert checked(read).to_json() == found.to_json()
    assert checked(pr.condense(read)).to_json() == found.to_json()
    import polars as pl

    frame = pl.DataFrame({"y": y, "a": p, "site": site})
    assert checked(frame, ["a"], outcome="y", by="site").to_json() == found.to_json()
    assert checked(frame.lazy(), ["a"], outcome="y", by="site").to_json() == found.to_json()
    assert len(checked(read, by="site")) == len(found)


def test_without_an_event_the_number_of_events_is_tested():
    found = checked(np.zeros(400), np.full(400, 0.1))
    ratio = found.where(measure="observed_expected")[0]
    assert (ratio.value, ratio.verdict) == (0.0, "bad")
    assert ratio.high < 0.1
    assert joint(found).verdict == "bad"
    few = checked(np.zeros(40), np.full(40, 0.01))
    assert {row.verdict for row in few.where(measure="observed_expected")} == {"too few"}


def test_a_forecast_of_zero_that_came_true_refutes():
    y, p = drawn(500)
    found = joint(checked(np.append(y, True), np.append(p, 0.0)))
    assert (found.p, found.verdict, found.note("refuted").parts["number"]) == (0.0, "bad", 1.0)


def test_a_stored_ledger_of_clusters_is_not_tested(tmp_path):
    y, p = drawn(300)
    pr.condense(y, {"a": p}, cluster=np.arange(300) // 3).to_parquet(tmp_path / "l")
    found = joint(checked(pr.Ledger.from_parquet(tmp_path / "l")))
    assert (found.verdict, [note.code for note in found.notes]) == ("not tested", ["needs-cases"])
    assert math.isnan(found.p)


def test_bad_parameters_are_refused():
    y, p = drawn(50)
    with pytest.raises(InputValueError, match="level must lie strictly between"):
        checked(y, p, level=1.0)
    with pytest.raises(InputValueError, match="n_resamples"):
        checked(y, p, n_resamples=0)


def test_weights_of_one_change_nothing():
    y, p = drawn(60, shape=(1, 20))
    assert checked(y, p, sample_weight=np.ones(60)).to_json() == checked(y, p).to_json()
