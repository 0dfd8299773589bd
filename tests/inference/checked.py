"""The parts of a table of `check_calibration` by name, for tests."""

from types import SimpleNamespace

import propriety as pr
from propriety.inference.calibration_words import calibration_words, caveats_of, own_sizes, ways_of, whole_row

DRAWS = {"seed": 1, "n_resamples": 100}


def checked(y, p=None, **options):
    """Return the test of one model and its sizes, with the ways in which it is wrong if an error is shown."""
    found = pr.check_calibration(y, p, **(DRAWS | options))
    (model,) = dict.fromkeys(found.model.tolist())
    row = whole_row(found, model)
    sizes = own_sizes(found.where(keys={}), row)
    is_wrong = row.verdict in ("small", "bad")
    return SimpleNamespace(
        found=found,
        model=model,
        row=row,
        verdict=row.verdict,
        p=row.p,
        ratio=sizes.get("observed_expected"),
        slope=sizes.get("calibration_slope"),
        cost=sizes["miscalibration"],
        ways=ways_of(row, sizes.values()) if is_wrong else (),
        note=caveats_of(row, sizes.values()),
        words=calibration_words(found, model, "m"),
    )


def of_class(found, label, measure="calibration"):
    """Return the row of a class."""
    (row,) = found.where(measure=measure, keys={"class": label})
    return row


def of_top(found, measure="calibration"):
    """Return the row of the most likely class."""
    (row,) = found.where(measure=measure, statistic="top label", keys={})
    return row
