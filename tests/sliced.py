"""The rows of `slices` side by side: a column for each number, one row for each model and group."""

import math

import numpy as np

import propriety as pr
from propriety.inference.finding_words import note_words
from propriety.inference.group_rows import group_rows


class Sliced:
    """Columns of a table of groups; `excess_low` is a column of the rows of excess, `net_benefit` of net benefit."""

    def __init__(self, found):
        self.found, self.rows = found, group_rows(found)
        self.measure, self.by, self.dropped = found.measure[0], found.case_keys, found.dropped
        overall = found.where(keys={})
        self.overall = dict(zip(overall.model.tolist(), overall.value.tolist(), strict=True))
        self.model = np.array([row.model for row in self.rows])
        self.group = np.array([row.group for row in self.rows])
        for name in ("n", "events", "units"):
            setattr(self, name, np.array([getattr(row.value, name) for row in self.rows]))
        self.event_rate = np.array([row.value.extra.get("event_rate", math.nan) for row in self.rows])
        for name in ("value", "low", "high"):
            setattr(self, name, np.array([getattr(row.value, name) for row in self.rows]))
        for column, name in (("difference", "value"), ("p_value", "p"), ("p_adjusted", "p_adjusted")):
            setattr(self, column, np.array([getattr(row.rest, name, math.nan) for row in self.rows]))
        self.note = np.array(["; ".join(map(note_words, row.notes)) for row in self.rows])
        self.is_tested = np.array([row.is_tested for row in self.rows])
        self.is_too_small = np.array([row.is_too_small for row in self.rows])
        for measure in dict.fromkeys(one.key for one in found.measure[1:]):
            name = "net_benefit" if measure.startswith("net_benefit") else measure
            for suffix, limit in (("", "value"), ("_low", "low"), ("_high", "high")):
                column = [getattr(row.value, limit) for row in group_rows(found, measure)]
                setattr(self, f"{name}{suffix}", np.array(column))

    def columns(self):
        return {name: column for name, column in vars(self).items() if isinstance(column, np.ndarray)}


def slices(*given, **options):
    """Return the columns of the groups."""
    return Sliced(pr.slices(*given, **options))


def groups_in_json(found, key):
    """Return the rows of the groups of a key, of the first measure, in the JSON of an evaluation."""
    rows = [row for row in found["slices"]["rows"] if row["against"] is None and row[key] is not None]
    return [row for row in rows if row["measure"] == rows[0]["measure"]]
