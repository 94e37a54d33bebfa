"""The browser in which the page of a trace is looked at."""

from tests.workspace_page.browser import browser, chromium, open_page

__all__ = ["browser", "chromium", "open_page"]
