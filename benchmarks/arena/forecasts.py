"""Forecasts of five kinds of models for every problem of the arena, kept in files because fitting takes minutes."""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path

import numpy as np
from problems import BINARY, CLASSES, Problem, load
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

MODELS = {
    "logistic": lambda: make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000)),
    "forest": lambda: RandomForestClassifier(200, random_state=1),
    "boosting": lambda: HistGradientBoostingClassifier(random_state=1),
    "naive Bayes": lambda: make_pipeline(StandardScaler(), GaussianNB()),
    "neural net": lambda: make_pipeline(StandardScaler(), MLPClassifier((64, 32), max_iter=60, random_state=1)),
}


def forecasts_of(problem: Problem, folder: Path) -> Path:
    """Return the file with the forecasts of all models on the calibration rows and the test rows of a problem."""
    path = folder / f"{problem.package}-{problem.table}.npz"
    if path.exists():
        return path
    features, classes = load(problem)
    # 40% to fit models, 30% to fit maps, 30% to score them; rows of one person are split like any others.
    train, rest, y_train, y_rest = train_test_split(features, classes, test_size=0.6, random_state=1, stratify=classes)
    own, test, y_own, y_test = train_test_split(rest, y_rest, test_size=0.5, random_state=1, stratify=y_rest)
    kept = {"y_own": y_own, "y_test": y_test}
    for name, make in MODELS.items():
        model = make().fit(train, y_train)
        kept |= {f"{name} own": model.predict_proba(own), f"{name} test": model.predict_proba(test)}
    partial = path.with_suffix(".partial.npz")
    np.savez_compressed(partial, **kept)
    partial.replace(path)
    return path


if __name__ == "__main__":
    warnings.simplefilter("ignore", ConvergenceWarning)
    place = Path(sys.argv[1] if len(sys.argv) > 1 else "build/arena")
    place.mkdir(parents=True, exist_ok=True)
    for one in (*BINARY, *CLASSES):
        forecasts_of(one, place)
        print(one.name, os.times().user, flush=True)
