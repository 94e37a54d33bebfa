"""Checks that a piece of SQL is one statement that only reads, and writes that statement anew.

The statement that runs is generated from the syntax tree, never copied from the SQL that came in. The generated text
is parsed again, and that second tree is checked. Node types, functions and characters are checked against lists of
allowed ones, so that anything unforeseen is refused.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import sqlglot
from sqlglot import exp

from specialists.tools.databases import verbatim_dialects as verbatim
from specialists.tools.databases.named_databases import Kind
from specialists.tools.databases.verbatim_dialects import DIALECTS

MAX_STATEMENT_CHARS = 20_000
_SERVER_NAMES: Mapping[Kind, str] = {"postgresql": "PostgreSQL", "mysql": "MySQL and MariaDB", "sqlite": "SQLite"}


class NotReadOnly(Exception):
    """The SQL is refused. The message tells the model why, so that it can correct the SQL."""


def make_read_only_statement(sql: str, kind: Kind) -> str:
    """Return the statement to run in place of a piece of SQL. Raises NotReadOnly unless all of it only reads."""
    if len(sql) > MAX_STATEMENT_CHARS:
        raise NotReadOnly(f"The statement is longer than {MAX_STATEMENT_CHARS:,} characters; ask for less at once.")
    _check_spelling(sql, kind)
    try:
        statement = _write_statement(_normalize_names(_parse_statement(sql, kind), kind), kind)
        tree = _parse_statement(statement, kind)
        _check_tree(tree, kind)
        second_statement = _write_statement(tree, kind)
    except (sqlglot.errors.SqlglotError, ValueError, TypeError, AttributeError, NotImplementedError) as error:
        raise NotReadOnly(f"That is no SELECT that is run here on {kind}: {_shorten_error(str(error))}") from None
    except RecursionError:
        raise NotReadOnly("The statement is nested too deeply; ask for less at once.") from None
    if second_statement != statement or not _is_unambiguous(statement, kind):
        raise NotReadOnly("SQL written in this way is not run here; write it in a more usual way.")
    return statement


# ---------------------------------------------------------------- the SQL that came in

_STRING, _QUOTED_NAME, _BACKTICK_NAME = r"'(?:[^']|'')*'", r'"(?:[^"]|"")*"', r"`(?:[^`]|``)*`"
_QUOTED_PIECES: Mapping[Kind, re.Pattern[str]] = {
    "postgresql": re.compile(
        rf"(?<!\w)[eE]'(?:[^'\\]|\\.|'')*'|{_STRING}|{_QUOTED_NAME}|(?<![\w$])\$((?:[A-Za-z_]\w*)?)\$.*?\$\1\$",
        re.DOTALL,
    ),
    "mysql": re.compile(rf"'(?:[^'\\]|\\.|'')*'|\"(?:[^\"\\]|\\.|\"\")*\"|{_BACKTICK_NAME}", re.DOTALL),
    "sqlite": re.compile(rf"{_STRING}|{_QUOTED_NAME}|{_BACKTICK_NAME}|\[[^\]]*\]", re.DOTALL),
}
_QUOTED_PLACEHOLDER = "\x00"
"""Replaces each piece in quotes while the rest is checked."""
_COMMENT_STARTS: Mapping[Kind, re.Pattern[str]] = {
    "postgresql": re.compile(r"--|/\*"),
    "mysql": re.compile(r"--|/\*|#"),
    "sqlite": re.compile(r"--|/\*"),
}


def _check_spelling(sql: str, kind: Kind) -> None:
    """Raise NotReadOnly for spellings that the parser and a server may read differently."""
    if _QUOTED_PLACEHOLDER in sql:
        raise NotReadOnly("The statement holds a character of code 0; leave it out.")
    unquoted_sql = _QUOTED_PIECES[kind].sub(_QUOTED_PLACEHOLDER, sql)
    if _COMMENT_STARTS[kind].search(unquoted_sql):
        hint = " (minus minus a number is written with a space or brackets)" if "--" in unquoted_sql else ""
        raise NotReadOnly(f"Comments are not allowed in a statement; leave them out{hint}.")
    if strange := re.search(r"[^\x00\t\n\r\x20-\x7e]", unquoted_sql):
        raise NotReadOnly(
            f"The character U+{ord(strange[0]):04X} is allowed only in quotes; write spaces as usual ones, and put "
            "names of other letters than a to z in quotes."
        )
    if re.search(rf"[uU]&\s*{_QUOTED_PLACEHOLDER}", unquoted_sql):
        raise NotReadOnly("U& before quotes is not allowed; write the characters themselves.")
    if brace := re.search(r"[{}\\]", unquoted_sql):
        raise NotReadOnly(f"The character {brace[0]} is allowed only in quotes.")


# ---------------------------------------------------------------- the tree


def _parse_statement(sql: str, kind: Kind) -> exp.Expr:
    statements = [one for one in DIALECTS[kind]().parse(sql) if one is not None]
    if len(statements) != 1:
        raise NotReadOnly(f"Send one SELECT at a time; these are {len(statements)} statements.")
    return statements[0]


def _write_statement(tree: exp.Expr, kind: Kind) -> str:
    return DIALECTS[kind]().generate(tree, comments=False, unsupported_level=sqlglot.ErrorLevel.RAISE)


def _normalize_names(tree: exp.Expr, kind: Kind) -> exp.Expr:
    """Lower-case the unquoted names of PostgreSQL and drop FROM dual of MySQL, in place, and return the tree.

    The servers read such names so themselves, but not once they are written in quotes.
    """
    for node in list(tree.walk()):
        if isinstance(node, exp.Identifier) and not node.quoted and kind == "postgresql":
            node.set("this", node.name.lower())
        if kind == "mysql" and isinstance(node, exp.From) and _is_dual_table(node.this) and node.parent is not None:
            node.pop()
    return tree


def _is_dual_table(node: exp.Expr) -> bool:
    return isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier) and node.sql().lower() == "dual"


_SOURCE_NODES = (exp.Table, exp.Subquery, exp.Values, exp.Lateral, exp.Unnest)
_STATEMENT_NODES = (exp.Select, exp.SetOperation, exp.Subquery, exp.Values)
_ALLOWED_NODES = frozenset[type[exp.Expr]](
    {
        # queries
        *(exp.Select, exp.Union, exp.Except, exp.Intersect, exp.Subquery, exp.Values, exp.With, exp.CTE),
        *(exp.From, exp.Join, exp.Where, exp.Group, exp.Having, exp.Order, exp.Ordered, exp.Limit, exp.LimitOptions),
        *(exp.Offset, exp.Fetch, exp.Distinct, exp.Rollup, exp.Cube, exp.GroupingSets, exp.Table, exp.TableAlias),
        *(exp.TableSample, exp.IndexTableHint, exp.Lateral, exp.Unnest, exp.Alias, exp.Star),
        # windows and aggregates
        *(exp.Window, exp.WindowSpec, exp.Filter, exp.WithinGroup, exp.IgnoreNulls, exp.RespectNulls),
        *(exp.GroupConcat,),
        # names and values
        *(exp.Identifier, exp.Column, exp.Dot, exp.Literal, exp.Boolean, exp.Null, exp.Var, exp.HexString),
        *(exp.BitString, exp.Tuple, exp.Paren, exp.Array, exp.Bracket, exp.Slice, exp.Interval, exp.IntervalSpan),
        *(exp.DataType, exp.DataTypeParam, exp.ColumnDef, exp.ObjectIdentifier, exp.PseudoType),
        *(exp.CharacterSet, exp.Kwarg),
        # arithmetic, comparison, logic
        *(exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod, exp.Pow, exp.Neg, exp.DPipe, exp.Sqrt, exp.Cbrt),
        *(exp.BitwiseAnd, exp.BitwiseOr, exp.BitwiseXor, exp.BitwiseNot, exp.BitwiseLeftShift),
        *(exp.BitwiseRightShift, exp.And, exp.Or, exp.Not, exp.Xor, exp.Case, exp.If),
        *(exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ, exp.NullSafeNEQ, exp.Is, exp.In),
        *(exp.Between, exp.Exists, exp.Any, exp.All, exp.Like, exp.ILike, exp.Escape, exp.SimilarTo, exp.Glob),
        *(exp.RegexpLike, exp.RegexpILike, exp.Overlaps, exp.Collate, exp.AtTimeZone, exp.JSON, exp.StartsWith),
        *(exp.ArrayContainsAll, exp.ArrayContainedBy, exp.ArrayOverlaps, exp.ExtendsLeft, exp.ExtendsRight),
        *(exp.Adjacent, exp.JSONBContainsAllTopKeys, exp.JSONBContainsAnyTopKeys, exp.JSONBDeleteAtPath),
        *(exp.JSONBPathExists, exp.JSONArrayContains, exp.Match),
        *(verbatim.Arrow, verbatim.TextArrow, verbatim.HashArrow, verbatim.TextHashArrow, verbatim.HasKey),
        *(verbatim.Matches,),
        # calls: those whose arguments have words between them, and all others, whose names are looked up
        *(exp.Cast, exp.Extract, exp.Overlay, exp.StrPosition, exp.Substring, exp.Trim, exp.MatchAgainst),
        *(exp.JSONTable, exp.JSONSchema, exp.JSONColumnDef, exp.Anonymous),
        *(exp.CurrentDate, exp.CurrentTime, exp.CurrentTimestamp, exp.Localtime, exp.Localtimestamp),
        *(exp.CurrentUser, exp.CurrentRole, exp.SessionUser, exp.CurrentCatalog, exp.CurrentSchema),
    }
)
_NODE_DESCRIPTIONS: Mapping[type[exp.Expr], str] = {
    exp.Into: "INTO",
    exp.Lock: "FOR UPDATE or another lock",
    exp.Hint: "a hint",
    exp.Parameter: "a variable or parameter",
    exp.SessionParameter: "a variable of the server",
    exp.Placeholder: "a placeholder",
    exp.NextValueFor: "NEXT VALUE FOR",
    exp.PropertyEQ: "an assignment",
    exp.Concat: "texts beside each other (write ||, or one text)",
    exp.UnicodeString: "U& before quotes",
    exp.Introducer: "a character set before a text",
    exp.National: "N before quotes",
    exp.Variadic: "VARIADIC",
    exp.Operator: "OPERATOR(...)",
}
_BARE_WORD = re.compile(r"[A-Za-z_]\w*(?: \w+)*", re.ASCII)
_BARE_STRING_PATTERNS: Mapping[tuple[type[exp.Expr], str], re.Pattern[str]] = {
    (exp.HexString, "this"): re.compile(r"[0-9A-Fa-f]*"),
    (exp.BitString, "this"): re.compile(r"[01]*"),
    (exp.Anonymous, "this"): re.compile(r"[A-Za-z_]\w*", re.ASCII),
}
_SAMPLING_METHODS = ("system", "bernoulli")
_NUMBER = re.compile(r"\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?", re.ASCII)


def _check_tree(tree: exp.Expr, kind: Kind) -> None:
    """Raise NotReadOnly unless every node, call and system table is allowed."""
    if not isinstance(tree, _STATEMENT_NODES):
        raise NotReadOnly("Only SELECT is run here (WITH, UNION and VALUES too): nothing may be changed.")
    for node in tree.walk():
        if type(node) not in _ALLOWED_NODES:
            description = _NODE_DESCRIPTIONS.get(type(node), type(node).__name__)
            raise NotReadOnly(f"Only reading is allowed, in usual SQL: {description} is not run here.")
        _check_bare_strings(node)
        _check_node(node, kind)
    if kind == "postgresql":
        _check_qualified_columns(tree)


def _check_node(node: exp.Expr, kind: Kind) -> None:
    """Raise NotReadOnly for a node of an allowed type that is used in a way that is not allowed."""
    if isinstance(node, exp.From | exp.Join) and not isinstance(node.this, _SOURCE_NODES):
        raise NotReadOnly(f"{type(node.this).__name__} is not read from here; name a table, a query or a call.")
    if isinstance(node, exp.Anonymous):
        _check_call(node, kind)
    elif isinstance(node, exp.Table):
        _check_table(node, kind)
    elif (
        isinstance(node, exp.TableSample)
        and node.args.get("method")
        and node.text("method").lower() not in _SAMPLING_METHODS
    ):
        raise NotReadOnly("TABLESAMPLE is run with SYSTEM or BERNOULLI alone.")
    elif isinstance(node, exp.Dot) and not isinstance(node.expression, exp.Star | exp.Anonymous):
        raise NotReadOnly("A field behind brackets is not read here; take (x).* in a subquery and name the column.")
    elif isinstance(node, exp.Select) and node.args.get("operation_modifiers"):
        raise NotReadOnly("Words such as SQL_CALC_FOUND_ROWS after SELECT are not run here; leave them out.")


def _check_bare_strings(node: exp.Expr) -> None:
    """Raise NotReadOnly unless each bare string in a node is a word or number, since it is written without quotes."""
    if isinstance(node, exp.Identifier) or (isinstance(node, exp.Literal) and node.is_string):
        return
    for name, value in _iterate_bare_strings(node):
        form = _NUMBER if isinstance(node, exp.Literal) else _BARE_STRING_PATTERNS.get((type(node), name), _BARE_WORD)
        if not form.fullmatch(value):
            raise NotReadOnly(f"That is not run here: {value[:40]!r}.")


def _iterate_bare_strings(node: exp.Expr) -> Iterator[tuple[str, str]]:
    for name, value in node.args.items():
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, str) and one:
                yield name, one


def _check_call(node: exp.Anonymous, kind: Kind) -> None:
    name = node.name.lower() if isinstance(node.this, str) or kind != "postgresql" else node.name
    parent = node.parent
    if (isinstance(parent, exp.Dot) and node.arg_key == "expression") or (
        isinstance(parent, exp.Table) and parent.args.get("db")
    ):
        raise NotReadOnly(f"Call {name} without the name of a schema; functions of schemas are not run here.")
    if name not in read_allowed_functions(kind):
        raise NotReadOnly(
            f"The function {name[:60]} is not on the list of those that are run here on {_SERVER_NAMES[kind]}. Use "
            "another "
            "one; a function of this database's own can be put into a view by whoever looks after it."
        )


_FUNCTION_COLUMNS = frozenset(
    """alias description dictionaries dictionary isleaf key level lexeme lexemes ordinality parentrelid positions
    relid token tokid value weights""".split()  # noqa: SIM905 - shorter
)
"""The columns that allowed functions of PostgreSQL return; none of them is also the name of a function."""


def _check_qualified_columns(tree: exp.Expr) -> None:
    """Raise NotReadOnly for a column that PostgreSQL may take for a function call.

    PostgreSQL reads `x.f` as `f(x)` if x is a value: `SELECT x.pg_read_file FROM unnest(ARRAY['/etc/passwd']) AS x`.
    So any name may follow a dot only if a table, a view or a query stands before the dot.
    """
    sources: dict[str, list[exp.Expr]] = {}
    for source, alias in _iterate_sources(tree):
        sources.setdefault(alias, []).append(source)
    for column in tree.find_all(exp.Column):
        if not column.table or isinstance(column.this, exp.Star):
            continue
        named_sources = sources.get(column.table, [])
        call_columns = [
            _list_call_columns(source, column.table) for source in named_sources if not _is_row_source(source)
        ]
        if named_sources and not call_columns:
            continue
        common_columns = frozenset.intersection(*call_columns) if call_columns else frozenset()
        if column.name not in common_columns | _FUNCTION_COLUMNS | read_allowed_functions("postgresql"):
            raise NotReadOnly(
                f"{column.table}.{column.name} may be a call of a function; give what {column.table} stands for names "
                f"of its columns, as in FROM f(...) AS {column.table}(a, b), or write the name without {column.table}."
            )


def _iterate_sources(tree: exp.Expr) -> Iterator[tuple[exp.Expr, str]]:
    """Yield each source of a FROM, with the name by which columns refer to it."""
    for node in tree.find_all(*_SOURCE_NODES):
        call = node.args.get("this")
        own_name = call.name if isinstance(call, exp.Identifier) else _find_call_name(node)
        yield node, node.alias or own_name


def _find_call_name(node: exp.Expr) -> str:
    """Return the name by which columns refer to a call in a FROM that has no alias."""
    call = node if isinstance(node, exp.Unnest) else node.args.get("this")
    return call.name.lower() if isinstance(call, exp.Anonymous) else type(call).__name__.lower()


def _is_row_source(source: exp.Expr) -> bool:
    """Return True for a table, a view, a query or VALUES; False for a call, which may return values without columns."""
    if isinstance(source, exp.Lateral):
        return isinstance(source.this, exp.Subquery)
    if isinstance(source, exp.Table):
        return isinstance(source.this, exp.Identifier)
    if isinstance(source, exp.Subquery):
        return isinstance(source.this, exp.Table | exp.Query) and (
            not isinstance(source.this, exp.Table) or isinstance(source.this.this, exp.Identifier)
        )
    return isinstance(source, exp.Values)


def _list_call_columns(source: exp.Expr, alias: str) -> frozenset[str]:
    """Return the column names that an alias gives to a call in a FROM, or the alias itself if it names no columns."""
    alias_node = source.args.get("alias")
    columns = alias_node.args.get("columns") if isinstance(alias_node, exp.TableAlias) else None
    ordinality_column = source.args.get("offset")  # of UNNEST ... WITH ORDINALITY
    numbers = [ordinality_column] if isinstance(ordinality_column, exp.Identifier) else []
    return frozenset(one.name for one in (*columns, *numbers)) if columns else frozenset({alias})


_SYSTEM_SCHEMAS: Mapping[Kind, frozenset[str]] = {
    "postgresql": frozenset({"pg_toast"}),
    "mysql": frozenset({"mysql", "performance_schema", "sys"}),
    "sqlite": frozenset(),
}
_READABLE_CATALOG_TABLES = frozenset(
    """pg_attrdef pg_attribute pg_class pg_collation pg_constraint pg_database pg_depend pg_description pg_enum
    pg_extension pg_index pg_indexes pg_inherits pg_language pg_locks pg_matviews pg_namespace pg_opclass
    pg_operator pg_partitioned_table pg_policies pg_proc pg_range pg_roles pg_rules pg_sequence pg_sequences
    pg_stat_activity pg_stat_all_indexes pg_stat_all_tables pg_stat_database pg_stat_sys_indexes
    pg_stat_sys_tables pg_stat_user_functions pg_stat_user_indexes pg_stat_user_tables pg_statio_all_indexes
    pg_statio_all_tables pg_statio_user_indexes pg_statio_user_tables pg_stats pg_tables pg_tablespace
    pg_timezone_abbrevs pg_timezone_names pg_trigger pg_type pg_user pg_views""".split()  # noqa: SIM905 - shorter
)
"""The system tables of PostgreSQL that may be read: none shows the server's files, settings or password hashes."""


_READABLE_SCHEMA_VIEWS = frozenset(
    """character_sets check_constraints collations columns events key_column_usage parameters partitions
    referential_constraints routines schemata statistics table_constraints tables triggers views""".split()  # noqa: SIM905 - shorter
)
"""The views of information_schema that may be read: none shows settings, files, users, processes or other servers."""
_READABLE_POSTGRESQL_VIEWS = _READABLE_SCHEMA_VIEWS | frozenset(
    """column_privileges constraint_column_usage constraint_table_usage domain_constraints domains element_types
    enabled_roles role_table_grants sequences table_privileges view_column_usage view_table_usage""".split()  # noqa: SIM905 - shorter
)


def _check_table(node: exp.Table, kind: Kind) -> None:
    if not isinstance(node.this, exp.Identifier):
        return
    name, schema = node.name, node.db
    is_system_table = kind == "postgresql" and name.startswith("pg_") and schema in ("", "pg_catalog")
    is_hidden = schema.lower() in _SYSTEM_SCHEMAS[kind] or (kind == "postgresql" and schema.startswith("pg_t"))
    if schema.lower() == "information_schema":
        is_hidden = name.lower() not in (_READABLE_POSTGRESQL_VIEWS if kind == "postgresql" else _READABLE_SCHEMA_VIEWS)
    if is_hidden or (is_system_table and name not in _READABLE_CATALOG_TABLES):
        raise NotReadOnly(f"{'.'.join(filter(None, (schema, name)))[:80]} is the server's own, and is not read here.")


@functools.cache
def read_allowed_functions(kind: Kind) -> frozenset[str]:
    """Return the names of the functions that may be called, in lower case, from `functions_KIND.txt`."""
    text = (Path(__file__).parent / f"functions_{kind}.txt").read_text(encoding="utf-8")
    lines = (line for line in text.splitlines() if not line.startswith("#"))
    return frozenset(name for line in lines for name in line.split())


# ---------------------------------------------------------------- the statement that runs

_WRITTEN_QUOTED_PIECES: Mapping[Kind, re.Pattern[str]] = {
    "postgresql": re.compile(rf"(?<!\w)[xXbB]'[0-9A-Fa-f]*'|{_STRING}|{_QUOTED_NAME}"),
    "mysql": re.compile(rf"(?<!\w)[xXbB]'[0-9A-Fa-f]*'|'(?:[^'\\]|''|\\\\)*'|{_BACKTICK_NAME}"),
    "sqlite": re.compile(rf"(?<!\w)[xX]'[0-9A-Fa-f]*'|{_STRING}|{_BACKTICK_NAME}"),
}
_ALLOWED_SIGNS: Mapping[Kind, str] = {"postgresql": "@#?~^:[]", "mysql": "^~:", "sqlite": "~"}
_TOUCHES_QUOTES = re.compile(r"[\w&$]\x00|\x00[\w$\x00]")


def _is_unambiguous(statement: str, kind: Kind) -> bool:
    """Return True if every server reads the characters of a statement as the parser does.

    That holds if there are only ASCII words, numbers and known signs outside of quotes, no comment begins, and quoted
    pieces touch neither words nor each other.
    """
    unquoted_sql = _WRITTEN_QUOTED_PIECES[kind].sub(_QUOTED_PLACEHOLDER, statement)
    signs = re.escape(_ALLOWED_SIGNS[kind])
    return (
        re.fullmatch(rf"[\x00A-Za-z0-9_ .,()+*/%<>=!|&{signs}-]*", unquoted_sql) is not None
        and not _COMMENT_STARTS["postgresql"].search(unquoted_sql)
        and not _TOUCHES_QUOTES.search(unquoted_sql)
    )


def _shorten_error(text: str) -> str:
    line = " ".join(re.sub(r"\x1b\[\d*m", "", text).split("\n", 1)[0].split())
    return line[:300]
