"""Says if a piece of SQL is one statement that only reads. Pure; the database itself is told to only read as well."""

from __future__ import annotations

import re

import sqlglot
from sqlglot import exp

LONGEST = 20_000
_DIALECTS = {"postgresql": "postgres", "mysql": "mysql", "sqlite": "sqlite"}
_ACTS = re.compile(
    r"pg_(?:terminate|cancel)_backend|pg_read_(?:binary_)?file|pg_(?:ls|stat)_(?:dir|file)\w*|pg_(?:reload|rotate)\w*|"
    r"pg_(?:create|drop|promote|switch|start|stop|backup)\w*|pg_(?:try_)?advisory\w*|lo_\w+|dblink\w*|set_config|"
    r"setval|nextval|query_to_\w+|table_to_\w+|cursor_to_\w+|load_file|get_lock|release_\w*lock\w*|is_\w+_lock|"
    r"sys_exec|sys_eval|load_extension|writefile|readfile|edit|fts3_tokenizer"
)
"""Functions that do something, or reach beyond the tables."""
_RUN_COMMENT = re.compile(r"/\*M?!")
_CHANGES = (exp.DML, exp.DDL, exp.Command, exp.Into, exp.Lock, exp.SetItem, exp.Pragma, exp.Use, exp.Kill)


def fault(sql: str, kind: str) -> str:
    """Say why a piece of SQL is not run, in words that let a model mend it; empty if it only reads."""
    if len(sql) > LONGEST:
        return f"The statement is longer than {LONGEST:,} characters; ask for less at once."
    if kind == "mysql" and _RUN_COMMENT.search(sql):
        return "Comments that MySQL runs (/*! ... */) are not allowed; leave them out."
    try:
        statements = [one for one in sqlglot.parse(sql, dialect=_DIALECTS[kind]) if one is not None]
    except (sqlglot.errors.SqlglotError, RecursionError, ValueError) as error:
        return f"That is no SELECT that {kind} knows: {_first_line(str(error))}"
    if len(statements) != 1:
        return f"Send one SELECT at a time; these are {len(statements)} statements."
    statement = statements[0]
    if not isinstance(statement, exp.Query):
        return "Only SELECT is run here (WITH and UNION too): nothing may be changed."
    for node in statement.walk():
        if isinstance(node, _CHANGES) and not isinstance(node, exp.Query):
            return "Only reading is allowed: no INSERT, UPDATE, DELETE, INTO or FOR UPDATE, nor any in a WITH."
        if isinstance(node, exp.Func) and _ACTS.fullmatch(_name(node)):
            return f"The function {_name(node)} is not run here: it does more than read tables."
    return ""


def _name(node: exp.Func) -> str:
    name = node.name if isinstance(node, exp.Anonymous) else node.sql_name()
    return str(name).lower()


def _first_line(text: str) -> str:
    line = " ".join(re.sub(r"\x1b\[\d*m", "", text).split("\n", 1)[0].split())
    return line[:300]
