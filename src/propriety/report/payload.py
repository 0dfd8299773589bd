"""The data that the page's script reads, as JSON that cannot break out of its element."""

from __future__ import annotations

import json
from typing import Any

# In HTML these could end the element, open another or start an entity; in JSON they can always be escaped.
ESCAPES = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"}


def json_for_html(data: Any) -> str:
    r"""Write JSON for an element ``<script type="application/json">``, in ASCII.

    Examples
    --------
    >>> print(json_for_html({"name": "</script>&\u2028"}))
    {"name":"\u003c/script\u003e\u0026\u2028"}
    """
    # ASCII escapes U+2028 and U+2029, which end lines in scripts.
    text = json.dumps(data, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    for letter, escape in ESCAPES.items():
        text = text.replace(letter, escape)
    return text
