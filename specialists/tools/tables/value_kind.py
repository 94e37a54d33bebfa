"""Kinds of values: one way to write values of a type, with the SQL that reads it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ValueKind:
    """One way to write values of a type.

    Attributes:
        name: The name of the kind.
        plural: The values in the plural, in words for people: `dates`.
        pattern: A regular expression for Python and DuckDB that the values match.
        sql: SQL that converts `{x}`, a trimmed text, or gives NULL.
        fact: How the values are read, in words for people; "" if that is plain.
    """

    name: str
    plural: str
    pattern: str
    sql: str
    fact: str = ""

    def write_condition_sql(self, text_sql: str) -> str:
        """Return the SQL condition that the SQL text expression `text_sql` is of this kind."""
        pattern = self.pattern.replace("'", "''")
        return f"regexp_full_match({text_sql}, '{pattern}')"

    def write_cast_sql(self, text_sql: str) -> str:
        """Return the SQL that reads the SQL text expression `text_sql`, or gives NULL."""
        return f"CASE WHEN {self.write_condition_sql(text_sql)} THEN {self.sql.replace('{x}', text_sql)} END"
