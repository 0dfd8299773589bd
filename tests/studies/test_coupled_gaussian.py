"""The study of coupled Gaussians gives the verified angles, and its distributions are what they say."""

import numpy as np
import pytest
from loading import load
from scipy.integrate import quad

CASES = 40_000


study = load("coupled_gaussian")


@pytest.fixture(scope="module")
def found():
    return {name: study.means_of(case, n=CASES, seed=3) for name, case in (study.CASES | study.EXTRA).items()}


@pytest.mark.slow
@pytest.mark.parametrize("name", study.CASES)
def test_angles_lie_within_a_degree(found, name):
    case = study.CASES[name]
    assert found[name][case.known].angle == pytest.approx(case.angle, abs=1.0)


@pytest.mark.parametrize(
    ("name", "accuracy", "source", "divergence"),
    [("tail over-confident", 0.5473, 0.6145, 0.8908), ("tail over-confident, |feature| < 8", 0.5574, 0.6162, 0.9045)],
    ids=["whole", "truncated"],
)
def test_the_divergence_of_the_over_confident_tail(found, name, accuracy, source, divergence):
    means = found[name]["population"]
    assert [means.model[1], means.source[1], means.divergence[1]] == pytest.approx(
        [accuracy, source, divergence], abs=3e-4
    )


def test_isotonic_divergence_never_exceeds_one(found):
    assert max(means["pav"].divergence[1] for means in found.values()) <= 1 + 1e-12


def test_only_compact_support_calls_what_happens_impossible(found):
    assert found["coupling -0.095, not 0, not clipped"]["pav"].accuracy == 0.0
    assert found["coupling 0.095, not 0, not clipped"]["pav"].accuracy > 0.6


@pytest.mark.parametrize("coupling", [-0.3, -0.095, 0.0, 0.5, 1.0])
def test_densities_have_the_corrected_sign_and_are_those_of_the_draws(coupling):
    each = study.CoupledGaussian(1.0, 2.0, coupling)
    x = np.array([0.2, 1.7, 3.1])
    r = (x - 1.0) / 2.0
    kernel = np.exp(-(r**2) / 2) if coupling == 0 else (1 + coupling * r**2) ** (-(1 / coupling + 1) / 2)
    np.testing.assert_allclose(each.density(x) / each.density(x)[0], kernel / kernel[0], rtol=1e-10)
    drawn = each.draw(20_000, np.random.default_rng(0))
    for low, high in ((0.0, 1.0), (1.5, 3.0)):
        share = ((drawn > low) & (drawn <= high)).mean()
        assert share == pytest.approx(quad(lambda at: each.density(np.array([at]))[0], low, high)[0], abs=1e-3)


def test_a_row_of_the_table(found):
    line = study.row("mean 1, not 2", study.CASES["mean 1, not 2"], found["mean 1, not 2"])
    assert line["verified_angle"] == 18.4
    assert abs(float(line["difference"])) < 1
    assert float(line["model_accuracy"]) == pytest.approx(0.5813, abs=1e-3)
    assert study.conclusion(found).startswith("7 of 7 angles")
