"""Outlines a table by its columns, named as the tools for tables name them. The rows are for those tools."""

from __future__ import annotations

from specialists.formats.contents import Contents
from specialists.tools.tables.sheet_sources import columns_of


def outline_columns(data: bytes, name: str, contents: Contents) -> None:
    """Make each column a section. Of several sheets each is one, with its columns."""
    for title, names in columns_of(data, name):
        if title:
            contents.section(f"sheet {title}: {', '.join(names)}")
        else:
            for column in names:
                contents.section(column)
