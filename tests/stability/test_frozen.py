"""The answers of every public function are those that were stored: a change of a number or of a word is noticed.

``python tests/stability/test_frozen.py`` stores them again, after a change that is meant; read the difference.
"""

import json
import math
import re
import sys
from functools import cache, partial
from pathlib import Path
from zlib import crc32

import numpy as np
import pytest

import propriety as pr

sys.path.insert(0, str(Path(__file__).resolve().parent))

from calls import CALLS, cases, exact, flat

STORED = Path(__file__).with_name("frozen.json")
TOLERANCE = 1e-6  # Of the sum of the absolute numbers: fits stop elsewhere with other versions of SciPy.
ROUNDING = 1e-12  # Of sums that are zero.
N = 160
DATA = {"unweighted": cases(N, seed=3), "weighted": cases(N, seed=3, weighted=True)}
own = pr.measures
MEASURES = (
    *(own.MeanScore(pr.Log()), own.Skill(), own.Miscalibration(), own.Discrimination(pr.Log()), own.AreaUnderRoc()),
    *(own.CalibrationIntercept(), own.CalibrationSlope(), own.IntegratedCalibrationIndex(), own.ObservedExpected()),
    *(own.PredictedActual(), own.NormalizedEntropy(), own.NetBenefit((0.1, 0.3)), own.Regret((0.1, 0.3))),
    *(own.StandardizedNetBenefit(0.2), own.TopKNetBenefit(thresholds=0.2, share=0.1), own.PartialArea(0.0, 0.5)),
    *(own.AccuracyAtCoverage(0.8), own.CoverageAtAccuracy(0.8), own.AreaUnderRiskCoverage()),
    own.AreaUnderGeneralizedRiskCoverage(),
)
UNITS = {"": None, " in clusters": "cluster", " over time": "period"}


def _told(call, *given, **options):
    """Return the answer, or the text of the error that says why there is none."""
    try:
        return call(*given, n_resamples=40, seed=7, **options)
    except pr.errors.ProprietyError as error:
        return [str(error)]


def _of_measure(call, data, measure, unit):
    dependence = {} if unit is None else {unit: data.cluster}
    given = (data.p,) if call is pr.estimate else (data.models,)
    return _told(call, data.y, *given, measure, **dependence, **data.binary)


ASKED = {
    f"{call.__name__} {measure.key}{words}": partial(_of_measure, call, measure=measure, unit=unit)
    for call in (pr.estimate, pr.compare)
    for measure in MEASURES
    for words, unit in UNITS.items()
} | CALLS
EVERY = [(name, kind) for name in ASKED for kind in DATA]


def brief(name, kind):
    """Return an answer in brief: of each column the count, the size and a sum of its numbers, and a sum of all texts."""
    answer = ASKED[name](DATA[kind])
    numbers, others = flat(exact(answer))
    columns, texts = {}, [str(answer)] if str(answer) != repr(answer) else []
    for path, value in [*numbers.items(), *others.items()]:
        if isinstance(value, int | float) and not isinstance(value, bool):
            columns.setdefault(re.sub(r"/\d+(?=/|$)", "", path), []).append(value)
        else:
            texts.append([path, value])
    found = {}
    for path, column in columns.items():
        values = np.array(column, dtype=np.float64)
        finite = np.where(np.isfinite(values), values, 0.0)
        # Of different weights, so that numbers that change places are noticed.
        total = float(finite @ np.cos(np.arange(len(values)) + 1.0))
        absent = len(values) - int(np.isfinite(values).sum())
        found[path] = [len(values), absent, _short(np.abs(finite).sum()), _short(total)]
    return found | {"texts": crc32(json.dumps(texts).encode())}


def _short(value):
    return float(f"{value:.8g}")


@cache
def stored_answers():
    return json.loads(STORED.read_text(encoding="utf-8"))


def test_every_call_is_stored():
    assert {tuple(name.rsplit(", ", 1)) for name in stored_answers()} == set(EVERY)


@pytest.mark.parametrize(("name", "kind"), EVERY)
def test_the_answer_is_the_stored_one(name, kind):
    stored = stored_answers()[f"{name}, {kind}"]
    found = brief(name, kind)
    assert found.keys() == stored.keys()
    assert found.pop("texts") == stored["texts"], "a word differs"
    for path, value in found.items():
        assert value[:2] == stored[path][:2], path
        room = TOLERANCE * max(value[2], stored[path][2]) + ROUNDING
        for one, other in zip(value[2:], stored[path][2:], strict=True):
            assert math.isclose(one, other, rel_tol=0.0, abs_tol=room), path


if __name__ == "__main__":
    lines = (f"{json.dumps(f'{name}, {kind}')}: {json.dumps(brief(name, kind))}" for name, kind in EVERY)
    STORED.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
