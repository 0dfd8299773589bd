"""What is called otherwise today than in the reference version: the one table of translations.

`FUNCTIONS` and `PARAMETERS` map names of the reference to those of today. `COLUMNS` maps what today's results call
their entries back to the names of the reference, so that both are compared under the same path.
"""

FUNCTIONS: dict[str, str] = {}
PARAMETERS: dict[str, str] = {}
COLUMNS: dict[str, str] = {}
