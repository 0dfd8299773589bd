"""A page as an evaluation makes it: simulated models, groups, scores with intervals, figures and a live ranking."""

import numpy as np

import propriety as pr
from propriety import plots
from propriety.plots.drawing import COLORS
from propriety.report import (
    Estimate,
    Facts,
    Page,
    Section,
    Table,
    figure_of,
    short_names,
    threshold_ranking,
)
from propriety.tables.forecast_table import ForecastTable

MODELS = ("Logistic regression", "Gradient boosting", "Random forest", "Clinical score", "Neural network")
# Strength of the signal that a model sees, its noise, and the slope and shift of its log-odds.
ABILITIES = (
    (0.85, 0.3, 1.0, 0.0),
    (1.0, 0.1, 1.5, 0.25),
    (0.95, 0.3, 0.6, -0.4),
    (0.5, 0.5, 0.9, 0.2),
    (0.95, 0.2, 1.6, 0),
)


def simulate(models, groups, *, n=4000, seed=1):
    rng = np.random.default_rng(seed)
    signal = rng.normal(size=n) * 1.3
    group = rng.integers(len(groups), size=n)
    shift = np.linspace(-0.4, 0.4, len(groups))[group]
    y = rng.random(n) < expit(-1.4 + signal + shift)
    forecasts = {}
    for place, name in enumerate(models):
        strength, noise, slope, offset = ABILITIES[place % len(ABILITIES)]
        seen = strength * signal + noise * rng.normal(size=n)
        forecasts[name] = np.round(expit(slope * (-1.4 + seen) + offset), 4)
    return y.astype(int), forecasts, np.array(groups)[group]


def expit(x):
    return 1 / (1 + np.exp(-x))


def demo_page(
    *, models=MODELS[:4], groups=("Aarhus", "Bergen", "Turku", "Uppsala", "Vaasa"), n=4000, thresholds=(0.1, 0.3)
):
    y, forecasts, group = simulate(models, groups, n=n)
    shown = short_names(models)
    pictured = dict(zip(shown, forecasts.values(), strict=True))
    ranking = pr.ranking_map(y, pictured, thresholds=thresholds)
    best = min(ranking.marked.regrets, key=ranking.marked.regrets.get)
    return Page(
        title="Thirty-day readmission: four models compared",
        verdict=(
            f"Between thresholds of 10% and 30%, {best} leads to the cheapest decisions: its mean regret is {ranking.marked.regret:.4f}, {ranking.marked.margin:.4f} below that of {ranking.marked.runner_up}.",
            "Its probabilities mean what they say. Gradient boosting tells the cases apart best, but its probabilities are too extreme; recalibrated, it would be the model to beat.",
            "The clinical score ranks patients worse than every model and is better left aside at these thresholds.",
        ),
        models=tuple(models),
        headline={
            "Cases": n,
            "Event rate": f"{y.mean():.1%}",
            "Models": len(models),
            "Thresholds": "10% to 30%",
            "Groups": len(groups),
        },
        sections=(
            Section(
                id="scores",
                title="Scores",
                words=(
                    "Each score is a mean loss over the cases: lower is better. Intervals hold 95% of the sampling error.",
                ),
                items=(scores(y, forecasts),),
            ),
            Section(
                id="calibration",
                title="Calibration",
                words=(
                    "A calibrated model that says 20% is right in one case of five.",
                    "The curves show how often the event happened among cases with the same forecast; above the diagonal the forecasts were too low.",
                ),
                items=calibration(y, pictured, models),
            ),
            Section(
                id="decisions",
                title="Decisions",
                words=("What a forecast is worth depends on the thresholds at which people act on it.",),
                items=(
                    threshold_ranking(
                        {name: ForecastTable.from_predictions(y, p) for name, p in forecasts.items()},
                        thresholds=thresholds,
                    ),
                    *decisions(y, pictured, ranking),
                ),
            ),
            Section(id="comparison", title="Comparison", items=(comparison(y, forecasts),)),
            Section(
                id="slices",
                title="Groups",
                words=("The same scores within each group. Small groups vary by chance alone.",),
                items=(by_group(y, forecasts, group),),
            ),
            Section(
                id="methods",
                title="Methods and data",
                words=(
                    "Reliability curves are isotonic (CORP). Regret and net benefit act on forecasts of at least the threshold.",
                ),
                items=(
                    Facts(
                        title="How this was made",
                        entries={
                            "propriety": "0.1.0",
                            "Python": "3.13",
                            "NumPy": "2.4",
                            "Seed": 1,
                            "Cases": n,
                            "Rows dropped": 0,
                            "Resamples": 1000,
                            "Level of intervals": "95%",
                        },
                    ),
                ),
            ),
        ),
    )


def scores(y, forecasts):
    columns = {
        "model": list(forecasts),
        "Brier score": [],
        "log score": [],
        "miscalibration": [],
        "discrimination": [],
        "AUC": [],
    }
    for p in forecasts.values():
        for name, rule in (("Brier score", pr.Brier()), ("log score", pr.Log())):
            losses = pr.case_scores(y, p, rule=rule)
            error = 1.96 * losses.std() / np.sqrt(len(losses))
            columns[name].append(Estimate(losses.mean(), losses.mean() - error, losses.mean() + error))
        parts = pr.decompose(y, p)
        columns["miscalibration"].append(parts.miscalibration)
        columns["discrimination"].append(parts.discrimination)
        columns["AUC"].append(pr.roc_curve(y, p).auc)
    best = dict.fromkeys(("Brier score", "log score", "miscalibration"), "lowest") | {
        "discrimination": "highest",
        "AUC": "highest",
    }
    return Table(
        title="Scores of each model",
        columns=columns,
        call="pr.mean_score(y_true, y_proba, rule=pr.Brier())",
        best=best,
        note="Brier score = miscalibration \N{MINUS SIGN} discrimination + uncertainty.",
    )


def calibration(y, forecasts, models):
    names = list(forecasts)
    curves = {name: pr.reliability_curve(y, p) for name, p in forecasts.items()}
    parts = {name: pr.decompose(y, p) for name, p in forecasts.items()}
    table = {"model": [], "forecast_min": [], "forecast_max": [], "event_rate": []}
    for name, curve in curves.items():
        for column in ("forecast_min", "forecast_max", "event_rate"):
            table[column] += getattr(curve, column).tolist()
        table["model"] += [name] * len(curve.event_rate)
    return (
        figure_of(
            lambda ax: plots.plot_curves(curves, ax),
            title="Reliability",
            caption="Event rate against forecast. On the diagonal forecasts mean what they say.",
            table=table,
            call="pr.reliability_curve(y_true, y_proba).plot()",
            models=names,
            size=(4.6, 4.6),
        ),
        figure_of(
            lambda ax: plots.plot_decompositions(parts, ax),
            title="Decomposition of the scores",
            caption="Miscalibration to the right, discrimination upwards: the best models are at the upper left.",
            table={
                "model": names,
                **{
                    field: [getattr(one, field) for one in parts.values()]
                    for field in ("score", "miscalibration", "discrimination", "uncertainty")
                },
            },
            call="pr.decompose(y_true, y_proba, rule=pr.Brier())",
            models=names,
            size=(4.6, 4.6),
        ),
        *(
            banded(curve, name, place, model, "half" if len(models) == 4 else "third")
            for place, (model, (name, curve)) in enumerate(zip(models, curves.items(), strict=True))
        ),
    )


def banded(curve, name, place, model, width):
    curve = curve.with_consistency_band(level=0.9, n_resamples=50, seed=1)
    return figure_of(
        lambda ax: plots.draw(curve, ax, color=COLORS[place % len(COLORS)]),
        title=f"Reliability of {name}",
        caption="Outside the grey band chance alone does not explain the distance from the diagonal.",
        table={"forecast_min": curve.forecast_min, "forecast_max": curve.forecast_max, "event_rate": curve.event_rate},
        call="pr.reliability_curve(y_true, y_proba).with_consistency_band(level=0.9, seed=1).plot()",
        size=(4.4, 4.4) if width == "half" else (3.9, 3.9),
        width=width,
        of_models=(model,),
    )


def decisions(y, forecasts, ranking):
    names = list(forecasts)
    steps = np.arange(1, 100) / 100
    net = {name: pr.decision_curve(y, p, grid=steps) for name, p in forecasts.items()}
    regret = {name: pr.regret_curve(y, p) for name, p in forecasts.items()}
    murphy = {name: pr.murphy_curve(y, p) for name, p in forecasts.items()}
    coarse = {name: pr.regret_curve(y, p, grid=steps) for name, p in forecasts.items()}
    return (
        figure_of(
            lambda ax: plots.plot_threshold_curves(net, ax),
            title="Net benefit",
            caption="What acting on the forecasts gains over treating nobody, in true positives per case. Higher is better.",
            table={"threshold": steps, **{name: curve.value for name, curve in net.items()}},
            call="pr.decision_curve(y_true, y_proba).plot()",
            models=names,
        ),
        figure_of(
            lambda ax: plots.plot_threshold_curves(regret, ax),
            title="Regret",
            caption="What wrong decisions cost at each threshold. Lower is better; the area is half the Brier score.",
            table={"threshold": steps, **{name: curve.value for name, curve in coarse.items()}},
            call="pr.regret_curve(y_true, y_proba).plot()",
            models=names,
        ),
        figure_of(
            lambda ax: plots.draw(ranking, ax),
            title="Who wins on which interval",
            caption="Each point is an interval of thresholds, coloured by the model with the lowest mean regret there. The ring is your interval.",
            table={
                name: ranking.columns()[name]
                for name in ("low", "high", "winner", "runner_up", "regret", "margin", "is_noise")
            },
            call="pr.ranking_map(y_true, forecasts, thresholds=(0.1, 0.3)).plot()",
            models=names,
            size=(4.8, 4.5),
        ),
        figure_of(
            lambda ax: plots.draw(murphy[names[0]], ax),
            title=f"Murphy diagram of {names[0]}",
            caption="The score at each threshold, and the miscalibration, discrimination and uncertainty that it is made of.",
            table={
                "threshold": murphy[names[0]].threshold,
                "score": murphy[names[0]].value,
                "miscalibration": murphy[names[0]].miscalibration,
            },
            call="pr.murphy_curve(y_true, y_proba).plot()",
            size=(4.8, 4.5),
        ),
    )


def comparison(y, forecasts):
    names = list(forecasts)
    columns = {"model": [], "against": [], "difference in Brier score": [], "told from noise": []}
    losses = {name: pr.case_scores(y, p, rule=pr.Brier()) for name, p in forecasts.items()}
    for place, name in enumerate(names):
        for other in names[place + 1 :]:
            difference = losses[name] - losses[other]
            mean, error = difference.mean(), 1.96 * difference.std() / np.sqrt(len(y))
            columns["model"].append(name)
            columns["against"].append(other)
            columns["difference in Brier score"].append(Estimate(mean, mean - error, mean + error))
            columns["told from noise"].append(bool(abs(mean) > error))
    return Table(
        title="Paired differences",
        columns=columns,
        call="pr.compare(y_true, forecasts, rule=pr.Brier(), seed=1)",
        of_models=("model", "against"),
        note="Below zero the first model is better.",
    )


def by_group(y, forecasts, group):
    labels = np.unique(group).tolist()
    columns = {
        "group": labels,
        "cases": [int((group == label).sum()) for label in labels],
        "event rate": [float(y[group == label].mean()) for label in labels],
    }
    for name, p in forecasts.items():
        columns[name] = [float(pr.brier_score(y[group == label], p[group == label])) for label in labels]
    return Table(title="Brier score by group", columns=columns, call="pr.brier_score(y_true[group], y_proba[group])")
