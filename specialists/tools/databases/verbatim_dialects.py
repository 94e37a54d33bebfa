"""SQL dialects for sqlglot in which a statement is written back as it was read.

sqlglot translates between databases: it knows hundreds of functions, and writes some under another name. Here a
statement goes to the database that it was written for. So a call stays a name with arguments (`exp.Anonymous`), except
calls with words between their arguments, such as EXTRACT(year FROM day). Every name is written in quotes, so that no
server takes it for a keyword.
"""

# ruff: noqa: RUF012 - a dialect of sqlglot is set up by plain values of its classes

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, TypeVar

from sqlglot import Dialect, TokenType, exp
from sqlglot.dialects.mysql import MySQL
from sqlglot.dialects.postgres import Postgres
from sqlglot.dialects.sqlite import SQLite
from sqlglot.generators.mysql import MySQLGenerator
from sqlglot.generators.postgres import PostgresGenerator
from sqlglot.generators.sqlite import SQLiteGenerator
from sqlglot.parser import Parser, binary_range_parser
from sqlglot.parsers.mysql import MySQLParser
from sqlglot.parsers.postgres import PostgresParser
from sqlglot.parsers.sqlite import SQLiteParser

from specialists.tools.databases.named_databases import Kind

_Parser = TypeVar("_Parser")


class Arrow(exp.Expression, exp.Binary):
    """`a -> b`: a part of JSON, by a key or a path."""


class TextArrow(exp.Expression, exp.Binary):
    """`a ->> b`: a part of JSON, as text."""


class HashArrow(exp.Expression, exp.Binary):
    """`a #> b` of PostgreSQL: a part of JSON, by the list of its keys."""


class TextHashArrow(exp.Expression, exp.Binary):
    """`a #>> b` of PostgreSQL: a part of JSON by the list of its keys, as text."""


class HasKey(exp.Expression, exp.Binary):
    """`a ? b` of PostgreSQL: whether JSON has a key."""


class Matches(exp.Expression, exp.Binary):
    """`a @@ b` of PostgreSQL: whether a text or JSON matches a query."""


def _make_binary_parser(node: type[exp.Expression]) -> Callable[..., exp.Expression]:
    return lambda self, this, other: self.expression(node(this=this, expression=other))


def _make_binary_writer(sign: str) -> Callable[..., str]:
    return lambda self, node: self.binary(node, sign)


_ARROW_PARSERS = {TokenType.ARROW: _make_binary_parser(Arrow), TokenType.DARROW: _make_binary_parser(TextArrow)}
_ARROW_WRITERS = {Arrow: _make_binary_writer("->"), TextArrow: _make_binary_writer("->>")}
_KEYWORD_ARGUMENT_FUNCTIONS = ("CAST", "EXTRACT", "OVERLAY", "POSITION", "SUBSTRING", "TRIM")
"""Functions whose arguments have words between them, in PostgreSQL and MySQL."""
_CLOCK_WRITERS = {
    exp.CurrentDate: lambda *_: "CURRENT_DATE",
    exp.CurrentTime: lambda *_: "CURRENT_TIME",
    exp.CurrentTimestamp: lambda *_: "CURRENT_TIMESTAMP",
    exp.Localtime: lambda *_: "LOCALTIME",
    exp.Localtimestamp: lambda *_: "LOCALTIMESTAMP",
}


def _select_parsers(parsers: Mapping[str, _Parser], *names: str) -> dict[str, _Parser]:
    return {name: parsers[name] for name in names}


def _parse_string(_: Parser, token: Any) -> exp.Expression:
    return exp.Literal.string(token.text)


def _make_unit_call_parser(name: str) -> Callable[[list[exp.Expression]], exp.Expression]:
    """Return a parser of a call whose first argument is a unit of time and not the name of a column."""

    def build(arguments: list[exp.Expression]) -> exp.Expression:
        first = [exp.var(one.name.upper()) if isinstance(one, exp.Column) else one for one in arguments[:1]]
        return exp.Anonymous(this=name, expressions=[*first, *arguments[1:]])

    return build


class _VerbatimGenerator:
    """Writes strings and names so that a server reads them the same in each of its SQL modes."""

    BACKSLASH_ESCAPES = False
    NAME_QUOTE = '"'

    def literal_sql(self, node: exp.Literal) -> str:
        """Write a number as it is, and a string with its quotes doubled (for MySQL also its backslashes)."""
        text = str(node.this)
        if not node.is_string:
            return text
        text = text.replace("\\", "\\\\") if self.BACKSLASH_ESCAPES else text
        return "'" + text.replace("'", "''") + "'"

    def identifier_sql(self, node: exp.Identifier) -> str:
        """Write a name in quotes."""
        return self.NAME_QUOTE + node.name.replace(self.NAME_QUOTE, 2 * self.NAME_QUOTE) + self.NAME_QUOTE


class _Postgres(Postgres):
    class Parser(PostgresParser):
        FUNCTIONS: ClassVar[Any] = {}
        FUNCTION_PARSERS = _select_parsers(PostgresParser.FUNCTION_PARSERS, *_KEYWORD_ARGUMENT_FUNCTIONS)
        STRING_PARSERS = {**PostgresParser.STRING_PARSERS, TokenType.HEREDOC_STRING: _parse_string}
        NUMERIC_PARSERS = {**PostgresParser.NUMERIC_PARSERS, TokenType.BYTE_STRING: _parse_string}
        PRIMARY_PARSERS = {**PostgresParser.PRIMARY_PARSERS, **STRING_PARSERS, **NUMERIC_PARSERS}
        JSON_OPERATORS = {
            **_ARROW_PARSERS,
            TokenType.HASH_ARROW: _make_binary_parser(HashArrow),
            TokenType.DHASH_ARROW: _make_binary_parser(TextHashArrow),
            TokenType.PLACEHOLDER: _make_binary_parser(HasKey),
        }
        RANGE_PARSERS = {**PostgresParser.RANGE_PARSERS, TokenType.DAT: binary_range_parser(Matches)}

    class Generator(_VerbatimGenerator, PostgresGenerator):
        MULTI_ARG_DISTINCT = True
        TRANSFORMS: ClassVar[Any] = {
            **PostgresGenerator.TRANSFORMS,
            **_ARROW_WRITERS,
            **_CLOCK_WRITERS,
            HashArrow: _make_binary_writer("#>"),
            TextHashArrow: _make_binary_writer("#>>"),
            HasKey: _make_binary_writer("?"),
            Matches: _make_binary_writer("@@"),
            exp.Pow: _make_binary_writer("^"),
        }


class _MySQL(MySQL):
    class Parser(MySQLParser):
        FUNCTIONS: ClassVar[Any] = {name: _make_unit_call_parser(name) for name in ("TIMESTAMPADD", "TIMESTAMPDIFF")}
        FUNCTION_PARSERS = _select_parsers(
            MySQLParser.FUNCTION_PARSERS, *_KEYWORD_ARGUMENT_FUNCTIONS, "GROUP_CONCAT", "CONVERT", "MATCH", "JSON_TABLE"
        )
        COLUMN_OPERATORS = {**MySQLParser.COLUMN_OPERATORS, **_ARROW_PARSERS}

    class Generator(_VerbatimGenerator, MySQLGenerator):
        BACKSLASH_ESCAPES = True
        NAME_QUOTE = "`"
        TRANSFORMS: ClassVar[Any] = {
            **MySQLGenerator.TRANSFORMS,
            **_ARROW_WRITERS,
            **_CLOCK_WRITERS,
            exp.RegexpLike: _make_binary_writer("REGEXP"),
            exp.StrPosition: lambda self, node: f"POSITION({self.sql(node, 'substr')} IN {self.sql(node, 'this')})",
        }


class _SQLite(SQLite):
    class Parser(SQLiteParser):
        FUNCTIONS: ClassVar[Any] = {}
        FUNCTION_PARSERS = _select_parsers(SQLiteParser.FUNCTION_PARSERS, "CAST")
        CONCAT_OPERATORS = {**SQLiteParser.CONCAT_OPERATORS, **_ARROW_PARSERS}

    class Generator(_VerbatimGenerator, SQLiteGenerator):
        MULTI_ARG_DISTINCT = True
        NAME_QUOTE = "`"  # SQLite takes an unknown name in double quotes for a string
        TYPE_MAPPING = {**SQLiteGenerator.TYPE_MAPPING, exp.DType.DECIMAL: "NUMERIC"}
        TRANSFORMS: ClassVar[Any] = {**SQLiteGenerator.TRANSFORMS, **_ARROW_WRITERS, **_CLOCK_WRITERS}


DIALECTS: Mapping[Kind, type[Dialect]] = {"postgresql": _Postgres, "mysql": _MySQL, "sqlite": _SQLite}
