"""The picture of probability means shows the groups, the three means, their angle and the divergence."""

import matplotlib as mpl
import numpy as np
import pytest
from drawn import line, texts
from matplotlib.colors import to_rgb

import propriety.plots.probability_means as pictures
from propriety.diagnostics.probability_means import probability_means
from propriety.errors import InputValueError
from propriety.plots.drawing import shown

mpl.use("agg")

RNG = np.random.default_rng(0)
TRUTH = RNG.random(800)
Y = RNG.random(800) < TRUTH
OVER = TRUTH**2 / (TRUTH**2 + (1 - TRUTH) ** 2)


@pytest.fixture(scope="module")
def means():
    return probability_means(Y, OVER, precision=0.01)


def scattered(ax, label):
    (found,) = [one for one in ax.collections if one.get_label() == label]
    return found


def test_bubbles_are_the_groups_with_areas_in_proportion_to_their_weight(means):
    ax = means.plot()
    for name in ("event", "non-event"):
        here = (means.groups.label == name) & (means.groups.weight > 0)
        bubbles = scattered(ax, f"_{name}")
        np.testing.assert_array_equal(
            bubbles.get_offsets(), np.column_stack([means.groups.source, means.groups.model])[here]
        )
        np.testing.assert_allclose(
            bubbles.get_sizes() / means.groups.weight[here], pictures.LARGEST / means.groups.weight.max()
        )
    assert not np.array_equal(scattered(ax, "_event").get_facecolor(), scattered(ax, "_non-event").get_facecolor())
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("Source probability (observed rate)", "Model probability (forecast)")


def test_marks_lie_at_source_and_model_with_their_names(means):
    ax = means.plot()
    np.testing.assert_array_equal(scattered(ax, "_marks").get_offsets(), np.column_stack([means.source, means.model]))
    for name in ("decisiveness", "accuracy", "robustness"):
        (text,) = [text for text in ax.texts if text.get_text() == f"{name}  {shown(getattr(means, name))}"]
        index = ("decisiveness", "accuracy", "robustness").index(name)
        assert text.xy == (means.source[index], means.model[index])


def test_the_line_has_the_angle_it_is_labelled_with(means):
    ax = means.plot()
    x, y = line(ax, "_line")
    assert np.degrees(np.arctan2(y[1] - y[0], x[1] - x[0])) == pytest.approx(means.angle)
    assert f"{means.angle:.1f}°" in texts(ax)


def test_the_angle_of_a_sample_is_no_verdict():
    """The angle of calibrated forecasts varies by some degrees, and 54 of 60 samples were called wrong because of it."""
    verdicts = [word for word in texts(probability_means(Y, TRUTH).plot()) if "confident" in word]
    assert verdicts == []
    assert round(probability_means(Y, TRUTH).angle) != 45


def test_the_projection_ends_at_the_divergence(means):
    ax = means.plot()
    x, y = line(ax, "_projection")
    assert (x[1], y[1]) == (1.0, means.divergence[1])
    assert means.model[1] / means.source[1] == pytest.approx((y[1] - y[0]) / (x[1] - x[0]))
    assert f"divergence\n{shown(means.divergence[1])}" in texts(ax)


def test_a_divergence_above_one_leaves_through_the_top():
    means = probability_means([1, 1, 0, 0], [0.9, 0.8, 0.2, 0.1], source="bins", bins=[0, 1])
    ax = means.plot()
    x, y = line(ax, "_projection")
    assert y[1] == 1.0
    assert x[1] == pytest.approx(1 / means.divergence[1])
    assert "source in 1 bin\nnot clipped\nn = 4" in texts(ax)


def test_details_can_be_left_out_and_a_name_put_in(means):
    ax = means.plot(label="a model", details=False)
    assert texts(ax) == [f"{means.angle:.1f}°"]
    assert ax.get_title(loc="left") == "a model"


def test_the_corner_says_where_the_source_comes_from(means):
    assert "isotonic source\nclipped at 0.01\nn = 800" in texts(means.plot())


def test_the_line_of_a_perfect_model_is_the_diagonal():
    y, p, weight = [1, 0, 1, 0], [0.2, 0.2, 0.7, 0.7], [0.2, 0.8, 0.7, 0.3]
    ax = probability_means(y, p, sample_weight=weight).plot()
    assert "45.0°" in texts(ax)
    np.testing.assert_array_equal(*line(ax, "_diagonal"))


def test_constant_forecasts_have_marks_and_no_line():
    ax = probability_means([1, 0], [0.5, 0.5]).plot()
    assert not [one for one in ax.get_lines() if one.get_label() == "_line"]
    assert not any("°" in text for text in texts(ax))


@pytest.mark.slow
@pytest.mark.parametrize(("classes", "named"), [(3, True), (7, False)])
def test_classes_are_named_while_they_can_be_told_apart(classes, named):
    rows = RNG.dirichlet(np.ones(classes), 200)
    ax = probability_means(np.arange(200) % classes, rows).plot()
    written = texts(ax)
    assert ("0" in written) == named
    assert (f"{classes} classes" in written) != named
    looks = {to_rgb(scattered(ax, f"_{label}").get_facecolor()[0]) for label in range(classes)}
    assert len(looks) == (classes if named else 1)


def test_without_a_source_there_is_no_picture():
    with pytest.raises(InputValueError, match=r'the figure needs source probabilities.*Hint: use source="pav"'):
        probability_means(Y, OVER, source="none").plot()


def test_a_class_without_cases_has_no_picture():
    with pytest.raises(InputValueError, match="no case is of this class"):
        probability_means([1, 1], [0.5, 0.7]).parts["non-event"].plot()


def test_the_spectrum_is_drawn_over_its_finite_exponents(means):
    spectrum = means.spectrum([np.inf, 1, -2, 0])
    ax = spectrum.plot()
    x, y = line(ax, "model")
    assert x.tolist() == [-2, 0, 1]
    np.testing.assert_array_equal(y, spectrum.model[[2, 3, 1]])
    assert {"model", "source", "decisiveness", "accuracy", "robustness"} <= set(texts(ax))
    assert "source" not in texts(probability_means(Y, OVER, source="none").spectrum().plot())
    with pytest.raises(InputValueError, match="finite exponents"):
        means.spectrum([np.inf]).plot()
