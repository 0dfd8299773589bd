"""Forecasts whose outcomes are not known yet, or not all of them."""

from propriety.upward import Product

PRODUCT = Product(
    calls=("before_labels:before_labels", "late_labels:late_labels", "prevalence:estimate_prevalence"),
    results=(
        *("before_labels:BeforeLabels", "before_labels:Reconciliation"),
        *("late_labels:LabelRevision", "late_labels:LateLabels", "late_labels:ReportedByAge"),
        "prevalence:PrevalenceEstimate",
    ),
    pictures=("picture",),
)
