"""The files of the set, read by plain Python and by hand: nothing here knows how Leadhand reads a table."""

from __future__ import annotations

import csv
import json
import re
import zipfile
from collections.abc import Callable, Iterable
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

FILES = Path(__file__).parent / "files"
SAMPLE = Path(__file__).parents[2] / "specialists" / "samples" / "sales.csv"

Row = dict[str, Any]
_MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"


def rows_of(name: str) -> list[Row]:
    """The rows of a file, totals left out, numbers and dates as such, names of columns as the file has them."""
    return _READERS[name]()


def _table(name: str, delimiter: str = ",", encoding: str = "utf-8-sig", skip_count: int = 0) -> list[Row]:
    path = SAMPLE if name == "sales.csv" else FILES / name
    lines = path.read_text(encoding=encoding).splitlines()[skip_count:]
    return [dict(row) for row in csv.DictReader(lines, delimiter=delimiter)]


def _convert_columns(rows: Iterable[Row], **kinds: Callable[[str], Any]) -> list[Row]:
    """Rows with columns read by these functions; `_` in a name stands for a space too. Empty cells are None."""
    made = []
    for row in rows:
        read = dict(row)
        for name, kind in kinds.items():
            column = next(one for one in row if re.sub(r"\W+", "_", one).strip("_") == name)
            read[column] = kind(row[column]) if row[column].strip() else None
        made.append(read)
    return made


def _us(text: str) -> float:
    """`($1,200.00)` is -1200."""
    sign = -1 if text.startswith(("(", "-")) else 1
    return sign * float(re.sub(r"[^\d.]", "", text))


def _eu(text: str) -> float:
    return float(text.replace(".", "").replace(",", "."))


def _day(form: str) -> Callable[[str], date]:
    return lambda text: datetime.strptime(text, form).date()  # noqa: DTZ007 - a day has no zone


def _any_day(text: str) -> date:
    form = "%Y-%m-%d" if "-" in text else "%d.%m.%Y" if "." in text else "%d %b %Y"
    return _day(form)(text)


def _stamp(text: str) -> datetime:
    return datetime.fromisoformat(text)


def _sheet(name: str, sheet: int, skip_count: int) -> list[Row]:
    """The rows of one sheet of a workbook; days are numbers of days since the end of 1899."""
    with zipfile.ZipFile(FILES / name) as book:
        root = ET.fromstring(book.read(f"xl/worksheets/sheet{sheet}.xml"))  # noqa: S314 - our own file
    lines = []
    for line in root.iter(f"{_MAIN}row"):
        cells: dict[str, Any] = {}
        for cell in line.iter(f"{_MAIN}c"):
            if text := "".join(cell.itertext()):
                cells[re.sub(r"\d", "", str(cell.get("r")))] = text
        lines.append((int(str(line.get("r"))), cells))
    body = [cells for number, cells in lines if number > skip_count]
    return [{str(title): row.get(letter, "") for letter, title in body[0].items()} for row in body[1:]]


def _serial(text: str) -> date:
    return date(1899, 12, 30) + timedelta(days=int(float(text)))


def _products() -> list[Row]:
    rows: list[Row] = json.loads((FILES / "products.json").read_text(encoding="utf-8"))
    return rows


def _parts() -> list[Row]:
    with (FILES / "inventory_dup_headers.csv").open(encoding="utf-8", newline="") as file:
        lines = list(csv.reader(file))[1:]
    return [
        {"Item": one[0], "Qty": int(one[2]), "Price": float(one[3]), "Qty_2": int(one[4]), "Warehouse": one[5]}
        for one in lines
    ]


_ISO = date.fromisoformat
_READERS: dict[str, Callable[[], list[Row]]] = {
    "sales.csv": lambda: _convert_columns(
        _table("sales.csv"),
        month=_ISO,
        customers=int,
        new_customers=int,
        churned_customers=int,
        support_tickets=int,
        revenue_eur=float,
        price_eur=float,
    ),
    "shop_orders.csv": lambda: _convert_columns(
        _table("shop_orders.csv"), ordered_on=_ISO, units=int, unit_price=float, total=float
    ),
    "verkauf_2026.csv": lambda: _convert_columns(
        [row for row in _table("verkauf_2026.csv", ";", "latin-1", 2) if row["Datum"] != "Summe"],
        Datum=_day("%d.%m.%Y"),
        Menge=int,
        Umsatz=_eu,
    ),
    "regional_report.xlsx": lambda: _convert_columns(
        [row for row in _sheet("regional_report.xlsx", 1, 3) if row["Order ID"] != "Total"], Date=_serial, Amount=float
    ),
    "survey_answers.csv": lambda: _convert_columns(_table("survey_answers.csv"), How_satisfied_are_you_1_10=int),
    "headcount_by_month.csv": lambda: _convert_columns(
        _table("headcount_by_month.csv"), month=_ISO, headcount=int, leavers=int, salary_cost_eur=int
    ),
    "tickets.csv": lambda: _convert_columns(_table("tickets.csv"), opened=_ISO, closed=_ISO, hours_spent=float),
    "access_log.csv": lambda: _convert_columns(_table("access_log.csv"), timestamp=_stamp, duration_ms=int, bytes=int),
    "bank_statement.csv": lambda: _convert_columns(
        _table("bank_statement.csv"), Date=_day("%m/%d/%Y"), Amount=_us, Balance=_us
    ),
    "budget_sheets.xlsx": lambda: [
        *_convert_columns(_sheet("budget_sheets.xlsx", 1, 0), Month=_serial, Income=int),
        *_convert_columns(_sheet("budget_sheets.xlsx", 2, 0), Month=_serial, Cost=int),
    ],
    "products.json": _products,
    "subscriptions.csv": lambda: _convert_columns(
        _table("subscriptions.csv"), mrr=int, started=_ISO, cancelled_on=_ISO
    ),
    "inventory_dup_headers.csv": _parts,
    "expenses_mixed_dates.csv": lambda: _convert_columns(
        _table("expenses_mixed_dates.csv"), When=_any_day, Amount_EUR=float
    ),
    "sensor.tsv": lambda: _convert_columns(_table("sensor.tsv", "\t"), time=_stamp, temp_c=float, humidity=int),
    "ventas_ciudades.csv": lambda: _convert_columns(
        _table("ventas_ciudades.csv", ";"), fecha=_day("%d/%m/%Y"), unidades=int, importe=_eu
    ),
    "marketing.csv": lambda: _convert_columns(
        _table("marketing.csv"), Month=_day("%b %Y"), Visits=_us, Signups=int, Ad_spend=_us
    ),
    "heures_equipe.csv": lambda: _convert_columns(_table("heures_equipe.csv", ";"), jour=_ISO, heures=_eu),
    "lagerbestand.csv": lambda: _convert_columns(
        _table("lagerbestand.csv", ";"), Stichtag=_day("%d.%m.%Y"), Bestand=int, Preis=_eu
    ),
    "reservas.csv": lambda: _convert_columns(
        _table("reservas.csv", ";"), fecha=_day("%d/%m/%Y"), noches=int, importe=_eu
    ),
    "spedizioni.csv": lambda: _convert_columns(_table("spedizioni.csv"), data=_ISO, peso_kg=float, costo_eur=float),
    "projects.csv": lambda: _convert_columns(_table("projects.csv"), budget=int, spent=int, due=_ISO),
    "invoices.csv": lambda: _convert_columns(
        _table("invoices.csv"), issued=_ISO, due=_ISO, amount_eur=float, paid_on=_ISO
    ),
    "runs.tsv": lambda: _convert_columns(_table("runs.tsv", "\t"), date=_ISO, distance_km=float, avg_hr=float),
    "bestellungen.csv": lambda: _convert_columns(
        _table("bestellungen.csv", ";"), Bestelldatum=_day("%d.%m.%Y"), Menge=int, Betrag=_eu
    ),
    "bug_reports.csv": lambda: _convert_columns(
        _table("bug_reports.csv"), reported=_ISO, closed_on=_ISO, hours_to_fix=float
    ),
    "order_lines.csv": lambda: _convert_columns(_table("order_lines.csv"), ordered=_ISO, quantity=int, amount=float),
    "ausleihen.csv": lambda: _convert_columns(_table("ausleihen.csv", ";"), Datum=_day("%d.%m.%Y"), Tage=int),
    "event_signups.csv": lambda: _convert_columns(_table("event_signups.csv"), signed_up_on=_ISO, price_eur=int),
    "team_agreement.md": list,
    "handover.txt": list,
    "nas.log": list,
}
