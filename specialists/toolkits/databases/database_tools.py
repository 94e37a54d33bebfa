"""The tools that look at the operator's databases and ask them in SQL, read-only."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from specialists.toolkits.tool import Tool, ToolOutcome, Workbench

NOT_SET_UP = (
    "No database is set up here. Whoever runs the bot can name some in LEADHAND_DATABASES, such as "
    "orders=postgresql://reader:password@host/orders."
)


class ListTables(BaseModel):
    """The arguments of `list_tables`."""

    model_config = ConfigDict(extra="forbid")
    database: str = Field(default="", max_length=100)
    words: str = Field(default="", max_length=200)


class QueryDatabase(BaseModel):
    """The arguments of `query_database`."""

    model_config = ConfigDict(extra="forbid")
    sql: str = Field(min_length=1, max_length=20_000)
    database: str = Field(default="", max_length=100)


async def list_tables(_arguments: ListTables, _workbench: Workbench) -> ToolOutcome:
    """List the databases, their tables and columns; of many, those whose names hold the words."""
    return ToolOutcome(NOT_SET_UP, failed=True)


async def query_database(_arguments: QueryDatabase, _workbench: Workbench) -> ToolOutcome:
    """Run one read-only SELECT in the database's own SQL. Aggregate there: at most 100 rows come back."""
    return ToolOutcome(NOT_SET_UP, failed=True)


UNSET = (
    Tool("list_tables", "read", ListTables, list_tables),
    Tool("query_database", "read", QueryDatabase, query_database, query="sql"),
)
"""The tools where no database is named: they say what to set up."""
