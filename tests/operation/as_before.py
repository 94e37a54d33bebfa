"""What sets up the log within the tests' own process does not do so for the tests that follow in it."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator

from bot.logs import OWN_PACKAGES


@contextlib.contextmanager
def logging_as_before() -> Iterator[None]:
    """On leaving, the loggers are as they were."""
    loggers = [logging.getLogger(), *map(logging.getLogger, OWN_PACKAGES)]
    before = [(logger, logger.level, logger.handlers[:]) for logger in loggers]
    try:
        yield
    finally:
        for logger, level, handlers in before:
            logger.setLevel(level)
            logger.handlers = handlers
