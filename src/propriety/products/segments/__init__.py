"""The segments in which a model is wrong, and forecasts recalibrated by segment."""

from propriety.upward import Product

PRODUCT = Product(
    calls=("find:find_segments", "recalibrate:recalibrate_segments"),
    results=("find:Segments",),
    pictures=("picture",),
    commands=("command:segments", "command:recalibrate_segments"),
    schemas={"segments": 1},
)
