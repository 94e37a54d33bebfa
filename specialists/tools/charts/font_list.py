"""The process that lists the fonts of this machine for those that draw: it takes seconds, and the list is kept.

It is given nothing of anybody's, so that it may write into the folder that later processes only read.
"""

from __future__ import annotations


def main() -> None:
    """Have matplotlib write its list into the folder of `MPLCONFIGDIR`, if it is not there."""
    import matplotlib.font_manager  # noqa: F401, PLC0415 - it writes the list when it is imported
