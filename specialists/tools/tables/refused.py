"""Why a file or a query gives no table."""


class TableRefused(Exception):
    """The file cannot be read as a table. The text says what it is and what to do, in one line."""
