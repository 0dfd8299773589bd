"""A comparison of many models is that of each two of them, and says what it finds in few words."""

import numpy as np
import pytest

import propriety as pr
from propriety.inference.verdict import lead
from propriety.ledger import moments as module

RNG = np.random.default_rng(1)
N = 400
TRUTH = RNG.random(N)
Y = (RNG.random(N) < TRUTH).astype(int)
MODELS = {f"m{place:02d}": np.clip(TRUTH + RNG.normal(0, 0.02 * place, N), 0, 1) for place in range(25)}
WEIGHT = RNG.gamma(2.0, 1.0, N) * (RNG.random(N) < 0.9)
CLUSTER = RNG.integers(0, 40, N)
NUMBERS = ("value", "low", "high", "error", "p")


@pytest.mark.parametrize("measure", [pr.Brier(), pr.measures.AreaUnderRoc()], ids=["brier", "area"])
@pytest.mark.parametrize(
    "options",
    [{}, {"sample_weight": WEIGHT}, {"cluster": CLUSTER}, {"cluster": CLUSTER, "sample_weight": WEIGHT}],
    ids=["plain", "weighted", "clusters", "weighted clusters"],
)
def test_a_pair_among_many_is_that_pair_alone(measure, options, monkeypatch):
    monkeypatch.setattr(module, "BLOCK", 3 * N)  # Three pairs at a time.
    many = pr.compare(Y, MODELS, measure, **options)
    places = {
        (one, other): place
        for place, (one, other) in enumerate(zip(many.differences.model, many.differences.against, strict=True))
    }
    assert len(places) == 25 * 24 // 2
    for one, other in [("m00", "m01"), ("m03", "m17"), ("m23", "m24"), ("m00", "m24")]:
        alone = pr.compare(Y, {one: MODELS[one], other: MODELS[other]}, measure, **options)
        for name in NUMBERS:
            np.testing.assert_allclose(
                getattr(many.differences, name)[places[one, other]],
                getattr(alone.differences, name)[0],
                rtol=1e-10,
                atol=1e-15,
            )


def test_ranks_follow_from_the_pairs():
    many = pr.compare(Y, MODELS | {"same": MODELS["m03"]})
    pairs = list(many.differences)
    worst = dict(zip(many.ranks().model.tolist(), many.ranks().extra["worst_rank"].tolist(), strict=True))
    for model in MODELS:
        ahead = sum(
            lead(row) == (1 if row.model == model else -1) for row in pairs if model in (row.model, row.against)
        )
        assert worst[model] == len(MODELS) + 1 - ahead


def test_long_lists_of_names_are_counted():
    models = {f"m{place}": np.clip(TRUTH + (0.0 if place < 30 else 0.4), 0, 1) for place in range(60)}
    models = {name: np.clip(p + RNG.normal(0, 0.001, N), 0, 1) for name, p in models.items()}
    told = str(pr.compare(Y, models))
    assert "better than 30 models; about as good as 29 models" in told
