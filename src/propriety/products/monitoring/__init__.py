"""Deployed models day by day or case by case, with a bound on the probability of false alarms."""

from propriety.upward import Product

PRODUCT = Product(
    calls=(
        "ledger_monitor:monitor",
        "calibration_stream:monitor_calibration",
        "comparison_stream:monitor_comparison",
    ),
    results=(
        "calibration_stream:MonitoredCalibration",
        "comparison_stream:MonitoredComparison",
        "e_process:EProcess",
        "history:MonitoredDays",
        "ledger_monitor:LedgerMonitor",
    ),
    pictures=("picture", "picture_of_cases"),
    commands=("command:monitor",),
    schemas={"monitor": 1},
)
