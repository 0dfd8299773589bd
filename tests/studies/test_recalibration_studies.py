"""The studies of recalibration run, on a few samples of each."""

import numpy as np
from loading import load

binary, classes = load("recalibration_gain"), load("class_recalibration")


def test_rows_of_the_binary_study():
    found = list(binary.rows("0.6 x", 600, 2))
    assert [(row["rule"], row["method"]) for row in found] == [
        (rule, method) for rule in binary.RULES for method in binary.TRIED
    ]
    assert all(0.0 < float(row["mean_gain"]) < float(row["best_gain"]) for row in found)
    assert all(float(row["share_with_interval"]) == 1.0 for row in found)


def test_rows_of_the_study_of_classes():
    found = {row["method"]: row for row in classes.rows("0.7 x", 3, 300, 2)}
    assert tuple(found) == classes.METHODS
    assert 0.0 < float(found["temperature"]["mean_gain"]) < float(found["temperature"]["best_gain"])
    assert float(found["auto"]["with_interval"]) == 1.0


def test_true_probabilities_are_probabilities():
    generator = np.random.default_rng(1)
    for design in classes.DESIGNS:
        p, q, y = classes.drawn(design, 4, 50, generator)
        np.testing.assert_allclose(p.sum(axis=1), 1.0)
        np.testing.assert_allclose(q.sum(axis=1), 1.0)
        assert (q >= 0.0).all()
        assert 0 <= y.min() <= y.max() < 4
