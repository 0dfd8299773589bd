"""Caveats of the verdict on the calibration of class probabilities."""

from __future__ import annotations

import numpy as np

from propriety.calibration.class_test import SMALLEST, ClassTest
from propriety.inference.calibration_summary import CalibrationSummary
from propriety.inference.class_views import Lines
from propriety.inference.dependent_calibration import units_of_cases
from propriety.ledger.ledger import Ledger


def class_note(
    ledger: Ledger, test: ClassTest | None, lines: Lines, top: CalibrationSummary | None, level: float
) -> str:
    """Return the caveats of a verdict."""
    if test is None:
        return f"a test needs {ledger.where_cases_are}"
    if not lines.uncorrelated.any():
        return "all probabilities are 0 or 1"
    said = _untested_classes(ledger, test, lines)
    if test.smallest > 1.0 - level:
        said.append(f"{test.method} are too few for a level of {level:.10g}")
    if "shape" not in test.p_values and ledger.cases is None:
        said.append(f"a test of the shape needs {ledger.where_cases_are}")
        if ledger.source is None:
            said.append("the test of the temperature is conservative")
    if ledger.dependence is not None:
        limits = "" if test.p_value > 1.0 - level else "; the verdict uses the limits of all classes instead"
        said.append(f"the miscalibration of correlated cases is not estimated{limits}")
        said += [f"most likely class: {top.note}"] if top is not None and top.note else []
    elif ledger.cases is None:
        said.append(f"a narrower interval of the miscalibration needs {ledger.where_cases_are}")
    return "; ".join(said)


def _untested_classes(ledger: Ledger, test: ClassTest, lines: Lines) -> list[str]:
    """Say how many classes are not tested by themselves, because they are rare or because of clusters or periods."""
    left_out, classes = np.isnan(test.class_p_values), len(test.class_p_values)
    rare = int(np.count_nonzero(left_out & (lines.uncorrelated > 0.0) & (lines.uncorrelated < SMALLEST)))
    correlated = int(np.count_nonzero(left_out & (lines.uncorrelated >= SMALLEST)))
    said = []
    if rare:
        said.append(f"{rare:,} of {classes:,} classes {'is' if rare == 1 else 'are'} too rare to be tested separately")
    if correlated and ledger.cases is not None:
        units = units_of_cases(ledger.cases)[0]
        unit = f"{ledger.dependence}s are" if units > 1 else f"{ledger.dependence} is"
        said.append(f"{units:,} {unit} too few to test {correlated:,} of {classes:,} classes separately")
    return said
