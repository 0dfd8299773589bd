"""Reading the arguments of a plan: what is known about its cases, and the widths of its intervals."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from propriety import checks
from propriety.checks import is_number
from propriety.errors import InputTypeError, InputValueError, Wording
from propriety.inference.measures.line import CalibrationSlope
from propriety.inference.measures.measure import Measure
from propriety.inference.measures.ranking import AreaUnderRoc
from propriety.inference.measures.ratios import ObservedExpected, StandardizedNetBenefit
from propriety.inference.measures.reading import check_keys, read_measure
from propriety.ledger.ledger import Ledger
from propriety.products.planning.anticipated_cases import AnticipatedCases
from propriety.tables.arguments import check_indices
from propriety.tables.arrays import read_array
from propriety.tables.frames import check_names
from propriety.tables.validation import read_unlabelled

BENEFIT, MODEL = "standardized_net_benefit", "forecast"
DEPENDENT = "Widths and the calibration test are planned for independent cases; {units}s like the pilot's need more."
WEIGHTED = "The plan is for cases of equal weight; with weights like those of the pilot, intervals are wider."


class KnownCases(NamedTuple):
    """What is known about the cases of the study."""

    cases: AnticipatedCases | None
    pilot: Ledger | None
    prevalence: float | None

    @classmethod
    def read(cls, forecasts: object, prevalence: float | None, auc: float | None, *, needed: bool) -> KnownCases:
        """Read forecasts, a ledger, or a prevalence with an area."""
        if prevalence is not None:
            checks.number(prevalence, "prevalence", above=0.0, below=1.0)
        if auc is not None:
            checks.number(auc, "auc", above=0.0, below=1.0)
        if forecasts is None:
            return cls._of_numbers(prevalence, auc, needed=needed)
        if auc is not None:
            raise InputTypeError(Wording("{auc=} is for a plan without {forecasts}, which have their own area"))
        if isinstance(forecasts, Ledger):
            return cls._of_ledger(forecasts, prevalence)
        columns = forecasts if isinstance(forecasts, Mapping) else {MODEL: forecasts}
        check_names(columns)
        given = {model: read_array(own, "forecasts") for model, own in columns.items()}
        values = {model: read_unlabelled(own, "forecasts") + 0.0 for model, own in given.items()}
        _check_models(len(values))
        lengths = {model: len(own) for model, own in values.items()}
        if len(set(lengths.values())) > 1:
            law = "must have the same cases for both models"
            raise InputValueError(law, argument="forecasts", offender=f"the numbers of cases are {lengths}")
        check_indices(*given.values())
        cases = AnticipatedCases.calibrated(values)
        _check_rate(cases.prevalence)
        return cls(cases if prevalence is None else cases.at_prevalence(prevalence), None, prevalence)

    @classmethod
    def _of_numbers(cls, prevalence: float | None, auc: float | None, *, needed: bool) -> KnownCases:
        if auc is None and not needed:
            return cls(None, None, prevalence)
        if auc is None or prevalence is None:
            law = Wording("a plan needs {forecasts}, or {prevalence=} and {auc=}, or {difference=} and {spread=}")
            raise InputTypeError(law, hint="a sample of forecasts without outcomes is best.")
        if auc <= 0.5:
            raise InputValueError("must be above 0.5", argument="auc", got=auc)
        return cls(AnticipatedCases.binormal(prevalence, auc, MODEL), None, prevalence)

    @classmethod
    def _of_ledger(cls, ledger: Ledger, prevalence: float | None) -> KnownCases:
        if ledger.labels is not None:
            raise InputTypeError("must be of one event", argument="forecasts", offender="the ledger is of classes")
        if prevalence is not None:
            law = Wording("{prevalence=} is for forecasts without outcomes")
            raise InputTypeError(law, hint="weight the ledger with at_prevalence, or pass the forecasts alone.")
        _check_models(len(ledger.models))
        table = ledger.table(ledger.models[0])
        _check_rate(table.event_rate)
        return cls(AnticipatedCases.of_table(table, ledger.models[0]), ledger, None)

    @property
    def n_models(self) -> int:
        """Number of models; 1 if none is known."""
        if self.pilot is not None:
            return len(self.pilot.models)
        return 1 if self.cases is None else len(self.cases.forecasts)

    @property
    def rate(self) -> float:
        """Share of events; NaN if it is not known."""
        if self.cases is not None:
            return self.cases.prevalence
        return math.nan if self.prevalence is None else self.prevalence

    def check_compared(self) -> None:
        """Raise an error unless two models can be compared."""
        if self.n_models != 2:
            law = Wording("a comparison needs the forecasts of two models, or {difference=} and {spread=}")
            raise InputTypeError(law)
        if self.pilot is not None and self.pilot.prevalence is not None:
            law = Wording("must have its own event rate for a comparison; the study will not be sampled by outcome")
            hint = Wording("pass the forecasts alone with {prevalence=}, or {difference=} and {spread=}.")
            raise InputValueError(law, argument="forecasts", offender="it is weighted by at_prevalence", hint=hint)

    def single(self) -> AnticipatedCases:
        """Return the cases for criteria of the first model."""
        if self.cases is None:
            law = Wording("widths and the calibration test need {forecasts}, or {prevalence=} and {auc=}")
            raise InputTypeError(law)
        if self.pilot is not None and self.pilot.censoring is not None:
            law = Wording("must hold known outcomes for widths and the calibration test")
            hint = "pass the forecasts alone; if outcomes will be censored, more cases are needed than for known ones."
            raise InputTypeError(law, argument="forecasts", hint=hint)
        return self.cases

    def notes(self, *, clusters: bool) -> list[str]:
        """Return warnings about weights of the pilot, and about its clusters, unless the plan counts `clusters`."""
        if self.pilot is None:
            return []
        units = self.pilot.dependence
        notes = [DEPENDENT.format(units=units)] if units is not None and not clusters else []
        # Weights that only restore the prevalence are allowed for.
        weighted = self.pilot.prevalence is None and self.pilot.table(self.pilot.models[0]).is_weighted
        return [*notes, *([WEIGHTED] if weighted else [])]

    def check_clusters(self) -> None:
        """Raise an error if the comparison of a pilot would count its clusters twice."""
        if self.pilot is not None and self.pilot.dependence is not None:
            law = Wording("{cluster_size=} and {icc=} would be counted twice, because the pilot has clusters")
            raise InputValueError(law, hint="leave them out to compare models; plan widths apart.")


def read_widths(widths: Mapping[Any, float] | None, threshold: float | None, *, default: bool) -> dict[Measure, float]:
    """Return the measures and the widths of their intervals, by default the usual ones or none."""
    named: dict[str, tuple[Measure, float]] = {
        one.key: (one, width) for one, width in ((ObservedExpected(), 0.2), (CalibrationSlope(), 0.2))
    }
    named["auc"] = (AreaUnderRoc(), 0.1)
    if threshold is not None:
        named[BENEFIT] = (StandardizedNetBenefit(threshold), 0.2)
    found: dict[Measure, float] = {}
    if widths is None:
        found = dict(named.values()) if default else {}
    elif not isinstance(widths, Mapping):
        raise InputTypeError("must be a mapping of measures to widths", argument="widths", got_type=widths)
    for one, width in (widths or {}).items():
        if isinstance(one, str) and one not in named:
            hint = Wording("pass {thresholds=}.") if one == BENEFIT else ""
            law = f"must name a measure: {', '.join(named)}; or be a measure or a rule"
            raise InputValueError(law, argument="widths", got=one, hint=hint)
        if not is_number(width) or not 0.0 < width < math.inf:
            raise InputValueError("must be positive numbers", argument="widths", offender=f"got {width!r} for {one!r}")
        found[named[one][0] if isinstance(one, str) else read_measure(one)] = float(width)
    check_keys(found, "widths")
    if threshold is not None and named[BENEFIT][0] not in found:
        law = "is for the width of the standardized net benefit, which is not among the criteria"
        hint = Wording("add {widths=} of standardized_net_benefit, or leave it out.")
        raise InputValueError(law, argument="thresholds", hint=hint)
    return found


def _check_models(models: int) -> None:
    if models > 2:
        law = "must be of one model, or of two to compare"
        raise InputValueError(law, argument="forecasts", offender=f"got {models} models")


def _check_rate(rate: float) -> None:
    if not 0.0 < rate < 1.0:
        law = "must expect events and non-events"
        raise InputValueError(law, argument="forecasts", offender=f"the share of events is {rate:g}")
