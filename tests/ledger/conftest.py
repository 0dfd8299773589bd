"""What the tests of ledgers share: drawn cases of every kind, and whether two ledgers are the same."""

import itertools
import threading

import numpy as np
import pytest
from hypothesis import strategies as st

import propriety as pr
from propriety.errors import InputValueError

NUMBERS = ("n", "weight", "weight_squares", "mean", "lean", "spread")
COLUMNS = ("forecast", "events", "non_events", "event_squares", "non_event_squares")
FORECASTS = [0.0, 0.1, 0.25, 0.3, 0.5, 0.9, 1.0]
ROWS = [(0.2, 0.3, 0.5), (1.0, 0.0, 0.0), (0.1, 0.8, 0.1), (0.25, 0.25, 0.5), (0.0, 0.4, 0.6)]


class Drawn:
    """Cases as arrays, of which some can be taken, and their ledger."""

    def __init__(self, y, forecasts, options, ordered):
        self.y, self.forecasts, self.options, self.ordered = y, forecasts, options, ordered

    def __len__(self):
        return len(self.y)

    @property
    def weight(self):
        return self.options.get("sample_weight", np.ones(len(self.y)))

    def at(self, rows):
        options = {name: values[rows] for name, values in self.options.items() if name != "by"}
        options["by"] = {name: values[rows] for name, values in self.options.get("by", {}).items()}
        forecasts = {model: p[rows] for model, p in self.forecasts.items()}
        return Drawn(self.y[rows], forecasts, options, self.ordered)

    def frame(self):
        """Return the cases as columns, and how a frame of them is condensed."""
        columns, forecasts = {"y": self.y}, {}
        for model, p in self.forecasts.items():
            own = {f"{model}{place}": p[:, place] for place in range(p.shape[1])} if p.ndim == 2 else {f"{model}_p": p}
            columns |= own
            forecasts[model] = list(own) if p.ndim == 2 else f"{model}_p"
        columns |= {f"key {name}": values for name, values in self.options["by"].items()}
        columns |= {name: values for name, values in self.options.items() if name != "by"}
        columns = {name: values.astype(object) if name == "key site" else values for name, values in columns.items()}
        named = {name: name for name in self.options if name != "by"}
        by = [f"key {name}" for name in self.options["by"]]
        return columns, forecasts, named | {"outcome": "y", "by": by, "ordered": self.ordered}

    def ledger(self, **more):
        return pr.condense(self.y, self.forecasts, ordered=self.ordered, **(self.options | more))


def _draw(draw):
    size = draw(st.integers(1, 14))
    kind = draw(st.sampled_from(["event", "classes", "grades"]))

    def column(values):
        return np.array(draw(st.lists(values, min_size=size, max_size=size)))

    options = {}
    if draw(st.booleans()):
        options["sample_weight"] = column(st.sampled_from([0.0, 0.5, 1.0, 2.0, 3.0]))
        options["sample_weight"][0] = 1.0
    dependence = draw(st.sampled_from([None, "cluster", "period"]))
    if dependence is not None:
        options[dependence] = column(st.integers(0, 3))
    keys = {"site": column(st.sampled_from("xyz")), "day": column(st.integers(0, 2)), "flag": column(st.booleans())}
    options["by"] = {name: keys[name] for name in draw(st.lists(st.sampled_from(sorted(keys)), unique=True))}
    one, outcomes = (st.sampled_from(FORECASTS), 2) if kind == "event" else (st.sampled_from(ROWS), 3)
    forecasts = {model: column(one) for model in "ab"[: draw(st.integers(1, 2))]}
    return Drawn(column(st.integers(0, outcomes - 1)), forecasts, options, kind == "grades")


@pytest.fixture(scope="session")
def drawn_cases():
    """Return the strategy of cases: an event, classes or grades, with or without weights, keys, clusters and times."""
    return st.composite(_draw)()


def _same_table(one, other, rtol):
    assert (one.n, one.n_events, one.cells) == (other.n, other.n_events, other.cells)
    for name in COLUMNS:
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=rtol, atol=1e-14, err_msg=name)


def _same_index(one, other):
    assert one.names == other.names
    assert len(one) == len(other)
    for name in one.names:
        assert one.column(name) == other.column(name)


def _same_moments(one, other, rtol):
    _same_index(one.index, other.index)
    atol = 1e-12 * max(1.0, one.weight_squares.max())  # Engines take differences of sums as large as this.
    for name in NUMBERS:
        numbers = getattr(one, name), getattr(other, name)
        np.testing.assert_allclose(*numbers, rtol=rtol, atol=atol, err_msg=f"{one.rule} {name}")


def _same(one, other, rtol=1e-12):
    for fact in ("models", "events", "labels", "dependence", "n", "kind", "keys", "dropped"):
        assert getattr(one, fact) == getattr(other, fact), fact
    _same_index(one.index, other.index)
    for model, event in itertools.product(one.models, one.events):
        _same_table(one.table(model, event), other.table(model, event), rtol)
        mine, theirs = (ledger.keyed_tables(model, event) for ledger in (one, other))
        for entry in range(len(one.index)):
            _same_table(mine.at(entry), theirs.at(entry), rtol)
    assert one.rules
    for rule in one.rules:
        _same_moments(one.moments(rule), other.moments(rule), rtol)


@pytest.fixture(scope="session")
def same():
    """Return a function that fails where two ledgers differ in more than rounding."""
    return _same


def _refusals_at_once(works):
    refused = []

    def attempt(work):
        try:
            work()
        except InputValueError as error:
            refused.append(str(error))

    threads = [threading.Thread(target=attempt, args=(work,)) for work in works]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    return refused


@pytest.fixture(scope="session")
def refusals_at_once():
    """Return a function that does works in threads at the same time and returns the messages of those refused."""
    return _refusals_at_once
