"""Demands on data and the hints that go with them, each worded once; other readers' wordings refer to their codes."""

from __future__ import annotations

from propriety.errors import Wording

# Intervals and tests of clusters compute fourth powers of weights, which must be numbers too.
LEAST_SQUARES, MOST_SQUARES = 1e-120, 1e120

DISTINCT_COLUMNS = Wording("must have distinct column names", "distinct-columns")
EVENT_OF_CLASSES = Wording(
    "belongs to a binary outcome; three columns or more of {y_proba} are named by {labels=}", "event-of-classes"
)
JSON = Wording("must be JSON", "json")
KNOWN_OUTCOMES = Wording("must hold known outcomes; those by a horizon are weighted for censoring", "known-outcomes")
MISSING = Wording("must not hold missing values (NaN, None, NA or masked)", "no-missing-values")
NOT_EMPTY = Wording("must not be empty", "not-empty")
NO_CASE = Wording("{y_true} and {y_proba} must hold at least one case; both are empty", "no-case")
NO_WEIGHT = Wording("must be positive for at least one case; all are 0", "some-weight")
NUMBERS = Wording("must hold real numbers", "real-numbers")
ONE_ENTRY = Wording("must be an array with one entry per case", "one-entry-per-case")
ONE_COLUMN = Wording("must be 1-D, one entry per case", "one-column")
ORDERED_EVENT = Wording("belongs to three or more classes; the forecasts are of one event", "ordered-event")
ONE_MODEL = Wording("must be the forecasts of one model", "one-model")
ONLY_OF_CASES = Wording("is for files of cases; these are ledgers", "only-of-cases")
OUTCOME = Wording("must hold 0 and 1 (or False and True) unless {labels} are given", "events")
PARQUET = Wording("must be a whole Parquet file", "parquet")
SAME_INDEX = "{first} and {argument} carry different indices, so their rows may not belong together"
SAME_LENGTH = Wording("{y_true} and {argument} must be equally long", "same-length")
SAME_ROWS = Wording("must return the same rows in every query; they changed between two queries", "same-rows")
SOME_CASE = Wording("must hold at least one case", "one-case")
TWO_OUTCOMES = Wording("must name the two outcomes of a binary {y_proba}", "two-outcomes")
UNIT = Wording("must lie in [0, 1]", "unit-interval")
WEIGHT = Wording("must be finite and not negative", "finite-not-negative")
WEIGHT_SIZE = Wording(f"must have squares whose sum lies between {LEAST_SQUARES:g} and {MOST_SQUARES:g}", "weight-size")

CAST_HINT = "cast {column!r} first."
CENSORED_MISSING_HINT = "leave such cases out of both the outcomes and the forecasts."
CLASS_HINT = Wording("evaluate one class, such as y == 2 with {y_proba}[:, 2].", "class-hint")
COLUMNS_HINT = Wording(
    "rename the columns, with a common beginning if you wish, as 'p_no' and 'p_yes' have, or pass {y_proba}.to_numpy() "
    "if they are in the order of these labels."
)
DURATION_HINT = "divide it by a unit, such as numpy.timedelta64(1, 'D')."
EVENT_HINT = Wording("pass the column of the event, such as {y_proba}[:, 1].", "event-hint")
EVENT_LABEL_HINT = Wording(
    "pass {labels=}[other, event], of which {y_proba} gives the probability of the last.", "event-label-hint"
)
EVERY_CLASS_HINT = Wording("name every class in {labels=}, including those without cases.")
LABELLED_HINT = Wording("pass {labels=}[other, event] to name both.", "labelled-hint")
LABELS_HINT = Wording("pass {labels=}, the label of each column in order.", "labels-hint")
LEAVE_OUT_HINT = "leave such rows out."
LISTED_HINT = Wording(
    "pass {labels=}, the label of each column in order, or rename the columns, with a common beginning if you wish, as "
    "'p_no' and 'p_yes' have."
)
MISSING_HINT = Wording(
    'drop such rows yourself, or let propriety.cases(..., missing="drop") drop and count them.', "missing-hint"
)
MODELS_HINT = (
    "if the columns are models, pass a mapping, such as {name: frame[name] for name in frame}; if they are classes, "
    "each row must sum to one."
)
MOMENT_HINT = "subtract the moment from which it counts, and divide by a unit, such as numpy.timedelta64(1, 'D')."
NAMES_HINT = Wording("rename them, or pass {y_proba}.to_numpy() if they are in the order of these labels.")
NUMBERS_HINT = Wording(
    "convert it with numpy.asarray({argument}, dtype=float) and see which values fail.", "numbers-hint"
)
ONE_AGAINST_REST_HINT = "pass {y_true} == {event!r} to score one class against the rest."
ONE_COLUMN_HINT = "pass the column of the event that the map was fitted to."
OVERSHOOT_HINT = (
    "these look like probabilities that overshoot, such as those of linear regression or after scaling; correct the "
    "model, or clip them to [0, 1] yourself."
)
ROUNDING_HINT = Wording(
    "this looks like rounding error; if it is, apply numpy.clip({argument}, 0, 1) yourself.", "rounding-hint"
)
ROW_SUM_HINT = "divide each row by its sum."
SAME_INDEX_HINT = Wording("align them by label, or call .to_numpy() on {argument}.")
SWAPPED_HINT = Wording("are {y_true} and {y_proba} swapped?")
WEIGHT_HINT = "give a weight of 0 to leave a case out."
WEIGHT_SIZE_HINT = "divide the weights by their mean."


def enough_for_level(least: int, level: float) -> str:
    """Return the demand on a number of draws or units without which a level cannot be reached."""
    return f"must be at least {least:,} for a level of {level:g}"


def named_once(what: str, name: object) -> Wording:
    """Return the demand that nothing is named twice, as this name is."""
    return Wording("must name each {what} once; {name!r} is named again", "named-once", what=what, name=name)


def only_with(option: str) -> Wording:
    """Return the demand on a parameter that has no effect without an option."""
    return Wording("is for {option}", "only-with", option=option)


def numbers_as_losses(rule: object, forecast: str = "some case") -> Wording:
    """Return the demand that a rule returns numbers."""
    return Wording("{rule!r} must return numbers; its loss of {of} is NaN", "losses", rule=rule, of=forecast)


def rule_of_one_event(rule: object) -> Wording:
    """Return the demand that a rule for one event does not get rows of probabilities."""
    return Wording("{rule!r} scores the forecast of one event; got rows of probabilities", "rule-of-event", rule=rule)


def one_event(what: str) -> Wording:
    """Return the demand of what is not defined for rows of class probabilities."""
    return Wording("{what} needs the forecast of one event; the forecasts are rows of classes", "one-event", what=what)


def probabilities_of(estimator: object) -> Wording:
    """Return the demand that an estimator predicts probabilities."""
    return Wording("must have predict_proba; {kind} does not", "predict-proba", kind=type(estimator).__name__)


def something_to_merge(what: str) -> Wording:
    """Return the demand that there is something to add."""
    return Wording("at least one {what} is needed to merge; there is none", "something-to-merge", what=what)


def all_classes(number: int) -> Wording:
    """Return the demand on the splits that a classifier is fitted to."""
    return Wording("must have all {number} classes in each training set", "all-classes", number=number)
