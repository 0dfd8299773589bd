"""Rules by name: every one of the catalogue is stored and found again, and an unknown one is known by its name."""

import json
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pytest

import propriety as pr
from propriety.errors import InputTypeError, InputValueError, UnsupportedOperationError
from propriety.rules import catalogue
from propriety.rules.catalogue import RULES, UnknownRule, register_rule, rule_from_dict, rule_to_dict
from propriety.rules.functions import FUNCTIONS, Excess, NetLoss


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    """Forget the rules that a test registers."""
    monkeypatch.setattr(catalogue, "_OWN", {})


@pytest.mark.parametrize("rule", [*RULES, Excess(), NetLoss(0.2)], ids=repr)
def test_every_rule_of_the_catalogue_comes_back(rule):
    stored = json.loads(json.dumps(rule_to_dict(rule)))
    found = rule_from_dict(stored)
    assert found == rule
    assert hash(found) == hash(rule)
    assert type(found) is type(rule)
    assert rule.stored() == stored
    assert set(stored) == {"name", "parameters"}


def test_the_catalogue_and_the_functions_have_names_of_their_own():
    kinds = {type(rule) for rule in RULES} | set(FUNCTIONS)
    assert len({kind.__name__ for kind in kinds}) == len(kinds)


def test_only_what_differs_from_the_defaults_is_stored():
    assert rule_to_dict(pr.Log()) == {"name": "Log", "parameters": {}}
    assert rule_to_dict(pr.Log(clip=0.01)) == {"name": "Log", "parameters": {"clip": 0.01}}
    assert rule_to_dict(pr.BoundedBrier(0.1, 0.3)) == {"name": "BoundedBrier", "parameters": {"low": 0.1, "high": 0.3}}
    assert rule_to_dict(NetLoss(0.25)) == {"name": "NetLoss", "parameters": {"threshold": 0.25}}


@dataclass(frozen=True, slots=True, repr=False)
class Power(pr.BinaryRule):
    """A rule of one's own."""

    exponent: float = 2.0

    def loss(self, p, *, event, ops=None):
        return abs(p - event) ** self.exponent


def test_a_rule_of_ones_own_comes_back_once_it_is_registered():
    stored = rule_to_dict(Power(3.0))
    unknown = rule_from_dict(stored)
    assert isinstance(unknown, UnknownRule)
    assert register_rule(Power) is Power
    assert rule_from_dict(stored) == Power(3.0)
    assert rule_from_dict({"name": "Power", "parameters": {}}) == Power()


def test_an_unknown_rule_keeps_its_name_and_cannot_score():
    unknown = rule_from_dict({"name": "Power", "parameters": {"exponent": 3.0}})
    assert repr(unknown) == "Power(exponent=3.0)"
    assert unknown == rule_from_dict({"name": "Power", "parameters": {"exponent": 3.0}})
    assert unknown != rule_from_dict({"name": "Power", "parameters": {}})
    assert rule_from_dict(json.loads(json.dumps(rule_to_dict(unknown)))) == unknown
    assert unknown.properties().proper is None
    with pytest.raises(UnsupportedOperationError, match=r"the formula of Power\(exponent=3.0\) is not known here"):
        unknown.loss(0.3, event=True)


def test_moments_of_an_unknown_rule_are_still_moments():
    ledger = pr.condense([0, 1, 1], {"a": [0.2, 0.4, 0.9], "b": [0.5, 0.5, 0.5]}, rules=[Power(3.0)])
    unknown = rule_from_dict(rule_to_dict(Power(3.0)))
    assert not pr.condense([0, 1], {"a": [0.2, 0.4]}).grid(8).has_moments(unknown)
    assert ledger.moments(Power(3.0)).means[1] == pytest.approx(0.125)


@pytest.mark.parametrize(
    ("data", "law"),
    [
        ({}, "a stored rule must have a name and parameters; got {}"),
        ({"name": "Brier"}, "a stored rule must have a name and parameters"),
        ({"name": 3, "parameters": {}}, "a stored rule must have a name and parameters"),
        ({"name": "Brier", "parameters": [1]}, "a stored rule must have a name and parameters"),
        ({"name": "Brier", "parameters": {"width": 2}}, "the parameters of Brier must be those of its class"),
        ({"name": "NetLoss", "parameters": {}}, "the parameters of NetLoss must be those of its class"),
        ({"name": "Log", "parameters": {"clip": 7.0}}, "clip"),
        ({"name": "ShiftedBrier", "parameters": {"weighted": [1]}}, "the parameters of ShiftedBrier must be those"),
        ({"name": "NetLoss", "parameters": {"threshold": 2.0}}, "threshold must lie strictly between 0 and 1"),
        ({"name": "NetLoss", "parameters": {"threshold": "a"}}, "threshold must lie strictly between 0 and 1"),
    ],
    ids=["nothing", "no parameters", "number", "list", "other", "too few", "unlawful", "lists", "beyond", "text"],
)
def test_what_is_no_stored_rule_is_refused(data, law):
    with pytest.raises(InputValueError, match=law):
        rule_from_dict(data)


def test_only_classes_of_rules_that_are_dataclasses_are_registered():
    class Plain(pr.BinaryRule):
        def loss(self, p, *, event, ops=None):
            return abs(p - event)

    for wrong in (Power(3.0), int, "Power", Plain):
        with pytest.raises(InputValueError, match="rule must be the class of a rule that is a dataclass"):
            register_rule(wrong)


def test_the_name_of_a_rule_of_the_catalogue_cannot_be_registered():
    @dataclass(frozen=True)
    class Brier(pr.BinaryRule):
        def loss(self, p, *, event, ops=None):
            return 1.0 - p if event else p

    with pytest.raises(InputValueError, match="must not have the name of a rule of propriety, Brier"):
        register_rule(Brier)
    assert rule_from_dict({"name": "Brier", "parameters": {}}) == pr.Brier()


def test_a_rule_that_cannot_be_looked_up_is_refused():
    @dataclass
    class Loose(pr.BinaryRule):
        def loss(self, p, *, event, ops=None):
            return 1.0 - p if event else p

    for call in (lambda *cases: pr.mean_score(*cases, rule=Loose()), lambda *cases: pr.estimate(*cases, Loose())):
        with pytest.raises(InputTypeError, match=r"rule must be hashable; .* Hint: make its class a frozen dataclass"):
            call([0, 1], [0.2, 0.7])


def test_the_event_may_be_used_as_a_number_on_an_engine():
    @dataclass(frozen=True)
    class Square(pr.BinaryRule):
        def loss(self, p, *, event, ops=None):
            return (p - event) ** 2

    duckdb = pytest.importorskip("duckdb")
    y, p, q = [0, 1, 1, 0] * 5, np.linspace(0.1, 0.9, 20), np.linspace(0.2, 0.7, 20)
    connection = duckdb.connect()
    connection.register("cases", pa.table({"y": y, "p": p, "q": q}))
    found = pr.compare(connection.table("cases"), ["p", "q"], Square(), outcome="y")
    assert found.differences.value[0] == pytest.approx(pr.brier_score(y, p) - pr.brier_score(y, q))
