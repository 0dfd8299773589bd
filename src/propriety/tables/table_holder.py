"""What holds forecast tables in place of cases, as a ledger does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from propriety.tables.forecast_table import ForecastTable


class HoldsTables:
    """What holds the forecast table of each model and event, and no individual cases."""

    __slots__ = ()

    def table(self, model: str | None = None, event: Any = None, **keys: Any) -> ForecastTable:
        """Return the table of a model and an event, by default of the only one."""
        raise NotImplementedError
