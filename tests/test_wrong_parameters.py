"""Every public function refuses a wrong parameter with an error that has its name, what it must be, and what it is."""

import inspect
import typing
from operator import attrgetter

import numpy as np
import pytest

import propriety as pr
from propriety.errors import ProprietyError
from propriety.public_names import public_names

RNG = np.random.default_rng(1)
N = 60
P = RNG.uniform(0.05, 0.95, N)
Y = (RNG.random(N) < P).astype(int)
# Values that are wrong for every function with such a parameter.
WRONG = {
    "level": [1.5, "0.95", None],
    "n_resamples": [0, 2.5],
    "seed": [-1, np.random.default_rng(1)],
    "missing": ["skip"],
    "prevalence": [2.0],
    "harm": [-1.0],
    "workers": [0],
    "smallest": [-1],
    "power": [1.0],
}
REQUIRED = {
    "y_true": Y,
    "y_proba": P,
    "forecasts": {"a": P, "b": 1 - P},
    "thresholds": (0.1, 0.5),
    "by": np.arange(N) % 3,
    "measure": pr.Brier(),
    "cost": [[0, 1], [5, 0]],
    "k": 5,
    "reference": P,
    "unlabelled": P,
    "correct": Y,
    "confidence": P,
}
REQUIRED["rule"] = REQUIRED["measure"]
# What a function needs besides, so that it reads the parameter.
BESIDES = {
    "slices": {"by": np.arange(N) % 3},
    "reliability_curve": {"method": "bins"},
}
UNREAD = {("slices", "n_resamples")}  # Only measures without an error of their own need it.


def literal_of(annotation):
    """Return whether an annotation allows a list of texts only."""
    options = [one for one in (annotation, *typing.get_args(annotation)) if typing.get_origin(one) is typing.Literal]
    others = [one for one in typing.get_args(annotation) if typing.get_origin(one) is not typing.Literal]
    return bool(options) and (annotation in options or all(one is type(None) for one in others))


def cases():
    """Return functions that can be called with the arguments above, each with a parameter and a wrong value."""
    for name in public_names():
        function = attrgetter(name)(pr)
        if not inspect.isfunction(function):
            continue
        try:
            signature = inspect.signature(function, eval_str=True)
        except (NameError, TypeError):  # An annotation that only a type checker can read.
            signature = inspect.signature(function)
        parameters = signature.parameters
        needed = [
            one.name for one in parameters.values() if one.default is one.empty and one.kind is not one.VAR_KEYWORD
        ]
        if not needed or needed[0] not in ("y_true", "correct") or not set(needed) <= set(REQUIRED):
            continue
        needed += [one for one in ("y_proba", "forecasts") if one in parameters and one not in needed]
        given = {one: REQUIRED[one] for one in needed} | BESIDES.get(name, {})
        for parameter in parameters.values():
            wrong = WRONG.get(parameter.name, ["zz", 7] if literal_of(parameter.annotation) else [])
            for value in () if (name, parameter.name) in UNREAD else wrong:
                if value is not None or parameter.default is not None:
                    yield pytest.param(
                        function, given, parameter.name, value, id=f"{name}-{parameter.name}-{value!r:.12}"
                    )


CASES = list(cases())


def test_there_are_many():
    assert len(CASES) >= 100


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("function", "given", "parameter", "value"), CASES)
def test_it_is_refused_by_name_demand_and_offender(function, given, parameter, value):
    with pytest.raises(ProprietyError) as caught:
        function(**(given | {parameter: value}))
    error = caught.value
    assert error.argument == parameter, str(error)
    assert error.demand.startswith(("must ", "is for "))
    assert error.offender == f"got {value!r}"
    assert str(error).startswith(f"{parameter} {error.demand}; got ")
