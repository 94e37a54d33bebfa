"""A tool for exchange rates: the euro reference rates of the European Central Bank, for which no key is needed.

The bank's data API answers `https://data-api.ecb.europa.eu/service/data/EXR/D.USD.EUR.SP00.A?...&format=csvdata` with a
CSV, of which the columns TIME_PERIOD and OBS_VALUE are read. If `LEADHAND_RECORDED_PAGES` is set, recorded replies are
used in place of the network.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Awaitable, Callable
from datetime import date, timedelta
from decimal import Decimal, InvalidOperation
from pathlib import Path

from pydantic import BaseModel, Field

from specialists.tools.extras import describe_unavailable_tool
from specialists.tools.tool import OutgoingData, Tool, ToolOutcome, Workbench
from specialists.tools.toolkit import ToolSettings
from specialists.tools.web import recorded_web

RATES_HOST = "data-api.ecb.europa.eu"
LOOKBACK_DAYS = 7
"""Days before the requested day to look back for the last working day with a rate."""
FIRST_RATE_DAY = date(1999, 1, 4)
GetReply = Callable[[str, Workbench], Awaitable[str]]


class RatesUnavailable(Exception):
    """Raised if there is no rate. The text gives the reason, and for some reasons what to do."""


class RateArguments(BaseModel):
    """Arguments of exchange_rate."""

    currency: str = Field(pattern="^[A-Za-z]{3}$")
    day: date


def tools(settings: ToolSettings) -> tuple[Tool, ...]:
    """Make the tool, with the recorded replies in `LEADHAND_RECORDED_PAGES` if that is set."""
    pages = settings.env.get("LEADHAND_RECORDED_PAGES", "")
    return (
        make_rate_tool(
            _make_recorded_getter(recorded_web.read_index(Path(pages).expanduser())) if pages else _fetch_bank_text
        ),
    )


def make_rate_tool(get: GetReply) -> Tool:
    """Make the tool. `get` returns the bank's reply for an address, or raises RatesUnavailable."""

    async def exchange_rate(arguments: RateArguments, workbench: Workbench) -> ToolOutcome:
        """Say what one euro was worth in a currency (USD, GBP) on a day (2026-11-20): the ECB's reference rate."""
        currency = arguments.currency.upper()
        if currency == "EUR" or arguments.day < FIRST_RATE_DAY:
            return ToolOutcome("The rates are against the euro, from 4 January 1999 on.", failed=True)
        url = _build_rates_url(currency, arguments.day)
        try:
            day, rate = _parse_last_rate(await get(url, workbench))
        except RatesUnavailable as error:
            return ToolOutcome(str(error), failed=True)
        note = "" if day == arguments.day.isoformat() else f" {arguments.day} has none; this is the last before."
        return ToolOutcome(
            f"1 EUR = {rate} {currency} on {day} (ECB euro reference rate).{note}\nSource: {url}", sources=(url,)
        )

    def sends(arguments: RateArguments) -> OutgoingData:
        return OutgoingData(RATES_HOST, f"GET {_build_rates_url(arguments.currency.upper(), arguments.day)}")

    return Tool("exchange_rate", "read", RateArguments, exchange_rate, sends=sends, public=True)


def _build_rates_url(currency: str, day: date) -> str:
    period = f"startPeriod={day - timedelta(days=LOOKBACK_DAYS)}&endPeriod={day}"
    return f"https://{RATES_HOST}/service/data/EXR/D.{currency}.EUR.SP00.A?{period}&format=csvdata"


def _parse_last_rate(text: str) -> tuple[str, Decimal]:
    """Return the last day in the bank's CSV and its rate. Raises RatesUnavailable if the CSV has no rate."""
    rows = csv.DictReader(io.StringIO(text))
    if not {"TIME_PERIOD", "OBS_VALUE"} <= set(rows.fieldnames or ()):
        raise RatesUnavailable(
            "The bank's reply is no table of rates. Take a rate from a page or a file, with its source."
        )
    rate_by_day: dict[str, Decimal] = {}
    for row in rows:
        try:
            rate_by_day[date.fromisoformat(row["TIME_PERIOD"]).isoformat()] = Decimal(row["OBS_VALUE"])
        except (TypeError, ValueError, InvalidOperation):
            continue
    if not rate_by_day:
        raise RatesUnavailable("The bank has no rate of that currency for those days.")
    day = max(rate_by_day)
    return day, rate_by_day[day]


def _make_recorded_getter(pages: recorded_web.RecordedWeb) -> GetReply:
    async def get(url: str, _workbench: Workbench) -> str:
        page = pages.find_page(url)
        if page is None:
            raise RatesUnavailable(pages.explain_missing_page(url))
        return page.read_body().decode("utf-8", "replace")

    return get


async def _fetch_bank_text(url: str, workbench: Workbench) -> str:
    if absent := describe_unavailable_tool("web", "ssrfguard", "httpx"):
        raise RatesUnavailable(absent)
    from specialists.tools.web.fetch import FetchFailed, FetchSettings, download_page  # noqa: PLC0415  # only for a call

    try:
        page = await download_page(url, FetchSettings(), lambda _: "", workbench.may_follow)
    except FetchFailed as error:
        raise RatesUnavailable(f"The European Central Bank gave no rate: {error}") from None
    return page.body.decode("utf-8", "replace")
