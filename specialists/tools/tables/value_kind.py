"""A way to write values of one type, and the SQL that reads it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ValueKind:
    """One way to write values. `pattern` is for Python and DuckDB; `sql` converts `{x}`, a trimmed text, or gives NULL.

    `words` names the values in the plural, `fact` is what people should know of the reading.
    """

    name: str
    words: str
    pattern: str
    sql: str
    fact: str = ""

    def write_condition_sql(self, x: str) -> str:
        """Write the SQL condition that `x` is written in this way."""
        pattern = self.pattern.replace("'", "''")
        return f"regexp_full_match({x}, '{pattern}')"

    def write_read_sql(self, x: str) -> str:
        """Write the SQL that reads the text `x`, or gives NULL."""
        return f"CASE WHEN {self.write_condition_sql(x)} THEN {self.sql.replace('{x}', x)} END"
