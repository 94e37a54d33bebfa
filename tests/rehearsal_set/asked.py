"""The questions of the set: what people would ask of these files, and what an honest answer is."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from statistics import mean, median
from typing import Any

from tests.rehearsal_set.plain_tables import Row

Figures = dict[str, float] | list[float]
"""What a right answer says: a figure by what it belongs to, both on one line, or figures alone."""
RIGHT, PART, DECLINED, CAREFUL = "right", "in part", "declined", "in part or declined"


@dataclass(frozen=True)
class Asked:
    """A request about a file, the outcome that is expected, and for a right answer its figures from the plain rows.

    `then` are follow-ups in the same thread: the outcome and the figures are those of the last one.
    """

    file: str
    text: str
    want: str
    figures: Callable[[list[Row]], Figures] | None = None
    then: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return f"{self.file or 'no file'}: {' / '.join((self.text, *self.then))}"


def by(rows: Iterable[Row], column: str, value: str, fold: Callable[[list[Any]], float] = sum) -> dict[str, float]:
    """A figure for each value of a column; empty cells do not count."""
    groups: dict[str, list[Any]] = defaultdict(list)
    for row in rows:
        if row[column] not in {"", None} and row[value] is not None:
            groups[str(row[column])].append(row[value])
    return {name: fold(values) for name, values in groups.items()}


def monthly(rows: Iterable[Row], when: str, value: str, fold: Callable[[list[Any]], float] = sum) -> dict[str, float]:
    """A figure for each month, named as 2026-03."""
    return by([{"m": f"{row[when]:%Y-%m}", "v": row[value]} for row in rows], "m", "v", fold)


def col(rows: Iterable[Row], column: str) -> list[Any]:
    """The values of a column that are there."""
    return [row[column] for row in rows if row[column] is not None]


def top(groups: dict[str, float], count: int) -> dict[str, float]:
    """The groups with the largest figures."""
    return dict(sorted(groups.items(), key=lambda one: -one[1])[:count])


def count(rows: Iterable[Row], column: str) -> dict[str, float]:
    """The number of rows for each value of a column."""
    return by([{column: row[column], "row": 1} for row in rows], column, "row")


def most(groups: dict[str, float], pick: Callable[[Iterable[float]], float] = max) -> dict[str, float]:
    """The groups with the largest figure, or the smallest."""
    return {name: value for name, value in groups.items() if value == pick(groups.values())}


def only(rows: Iterable[Row], **wanted: object) -> list[Row]:
    """The rows with these values."""
    return [row for row in rows if all(row[name] == value for name, value in wanted.items())]


def in_month(rows: Iterable[Row], when: str, month: int, year: int = 2026) -> list[Row]:
    """The rows of a month."""
    return [row for row in rows if row[when] is not None and (row[when].year, row[when].month) == (year, month)]


def last(rows: list[Row], when: str) -> list[Row]:
    """The rows of the last period."""
    end = max(row[when] for row in rows)
    return only(rows, **{when: end})


def share(part: Iterable[Any], whole: Iterable[Any]) -> float:
    """Percent of rows."""
    return 100 * len(list(part)) / len(list(whole))


SALES = "sales.csv"
ORDERS, GERMAN, REPORT, SURVEY = "shop_orders.csv", "verkauf_2026.csv", "regional_report.xlsx", "survey_answers.csv"
STAFF, TICKETS, LOG, BANK = "headcount_by_month.csv", "tickets.csv", "access_log.csv", "bank_statement.csv"
BUDGET, GOODS, PLANS = "budget_sheets.xlsx", "products.json", "subscriptions.csv"
PARTS, EXPENSES, SENSOR = "inventory_dup_headers.csv", "expenses_mixed_dates.csv", "sensor.tsv"
SPANISH, MARKETING, TEXT = "ventas_ciudades.csv", "marketing.csv", "team_agreement.md"
FRENCH, STOCK, BOOKINGS = "heures_equipe.csv", "lagerbestand.csv", "reservas.csv"
ITALIAN, PROJECTS = "spedizioni.csv", "projects.csv"
INVOICES, RUNS, SHIFT, NAS = "invoices.csv", "runs.tsv", "handover.txt", "nas.log"
ORDERED, BUGS, LINES, LOANS, SIGNUPS = (
    f"{name}.csv" for name in ("bestellungen", "bug_reports", "order_lines", "ausleihen", "event_signups")
)
SCORE, HOURS, EUR = "How satisfied are you? (1-10)", "hours spent", "Amount (EUR)"
Q1 = range(1, 4)

ASKED: tuple[Asked, ...] = (
    # the shipped sample: stocks by month
    Asked(SALES, "how many customers do we have?", RIGHT, lambda r: [sum(col(last(r, "month"), "customers"))]),
    Asked(SALES, "total revenue by region", RIGHT, lambda r: by(r, "region", "revenue_eur")),
    Asked(
        SALES, "revenue excluding North", RIGHT, lambda r: [sum(x["revenue_eur"] for x in r if x["region"] != "North")]
    ),
    Asked(
        SALES,
        "revenue of Desk in the South in June 2026",
        RIGHT,
        lambda r: [sum(col(in_month(only(r, product="Desk", region="South"), "month", 6), "revenue_eur"))],
    ),
    Asked(SALES, "customers by plan", RIGHT, lambda r: by(last(r, "month"), "plan", "customers")),
    Asked(
        SALES,
        "revenue in Q1 2026 compared with Q4 2025",
        CAREFUL,
    ),
    Asked(SALES, "which product has the most support tickets per customer?", CAREFUL),
    Asked(SALES, "forecast the revenue of the next 3 months", CAREFUL),
    Asked(SALES, "why did revenue drop in March?", CAREFUL),
    Asked(SALES, "churn rate by plan", CAREFUL),
    Asked(SALES, "total revenue by region, lowest first", RIGHT, lambda r: by(r, "region", "revenue_eur")),
    Asked(SALES, "total revenue since March 2026", DECLINED),
    Asked(SALES, "revenue by region", RIGHT, lambda r: by(r, "product", "revenue_eur"), then=("and by product?",)),
    Asked(
        SALES,
        "total revenue by region",
        RIGHT,
        lambda r: by(only(r, region="North"), "product", "revenue_eur"),
        then=("and by product?", "only North"),
    ),
    # orders
    Asked(ORDERS, "how many orders are there?", RIGHT, lambda r: [len(r)]),
    Asked(ORDERS, "what share of orders was refunded?", RIGHT, lambda r: [share(only(r, status="refunded"), r)]),
    Asked(ORDERS, "median unit price by country", RIGHT, lambda r: by(r, "country", "unit_price", median)),
    Asked(ORDERS, "top 3 customers by total", RIGHT, lambda r: top(by(r, "customer", "total"), 3)),
    Asked(ORDERS, "How many orders per month?", RIGHT, lambda r: monthly(r, "ordered_on", "order_id", len)),
    Asked(ORDERS, "average total of paid orders", RIGHT, lambda r: [mean(col(only(r, status="paid"), "total"))]),
    Asked(
        ORDERS,
        "total by product in Q1 2026 as a chart",
        RIGHT,
        lambda r: by([x for x in r if x["ordered_on"].month in Q1], "product", "total"),
    ),
    Asked(ORDERS, "orders over 500", CAREFUL),
    Asked(ORDERS, "what is the correlation between units and total?", CAREFUL),
    Asked(ORDERS, "total of green lamps", CAREFUL),
    # German, decimal commas, titles above, a row of totals
    Asked(GERMAN, "Umsatz pro Region", RIGHT, lambda r: by(r, "Region", "Umsatz")),
    Asked(GERMAN, "Umsatz im März pro Region", RIGHT, lambda r: by(in_month(r, "Datum", 3), "Region", "Umsatz")),
    Asked(GERMAN, "Wie hoch ist der durchschnittliche Umsatz?", RIGHT, lambda r: [mean(col(r, "Umsatz"))]),
    Asked(GERMAN, "total Umsatz by month", RIGHT, lambda r: monthly(r, "Datum", "Umsatz")),
    Asked(GERMAN, "Warum ist der Umsatz in Nord so schlecht?", CAREFUL),
    # a workbook with notes above the header and a row of totals
    Asked(REPORT, "total Amount by Region", RIGHT, lambda r: by(r, "Region", "Amount")),
    Asked(REPORT, "what is the total amount?", RIGHT, lambda r: [sum(col(r, "Amount"))]),
    Asked(REPORT, "which rep sold the most?", RIGHT, lambda r: top(by(r, "Rep", "Amount"), 1)),
    Asked(
        REPORT,
        "share of the amount by region",
        RIGHT,
        lambda r: {n: 100 * v / sum(col(r, "Amount")) for n, v in by(r, "Region", "Amount").items()},
    ),
    Asked(REPORT, "amount by region after discount", CAREFUL),
    # survey
    Asked(SURVEY, "average satisfaction by department", RIGHT, lambda r: by(r, "Department", SCORE, mean)),
    Asked(SURVEY, "how many people would recommend us?", CAREFUL),
    Asked(SURVEY, "how many respondents are there?", RIGHT, lambda r: [len(r)]),
    Asked(SURVEY, "what do people complain about?", CAREFUL),
    # staff: stocks at the end of each month
    Asked(
        STAFF,
        "how many people do we have by department?",
        RIGHT,
        lambda r: by(last(r, "month"), "department", "headcount"),
    ),
    Asked(STAFF, "total headcount by month", RIGHT, lambda r: monthly(r, "month", "headcount")),
    Asked(STAFF, "average headcount by department", RIGHT, lambda r: by(r, "department", "headcount", mean)),
    Asked(STAFF, "total leavers by department", RIGHT, lambda r: by(r, "department", "leavers")),
    Asked(
        STAFF,
        "headcount of Engineering in December 2025",
        RIGHT,
        lambda r: [sum(col(in_month(only(r, department="Engineering"), "month", 12, 2025), "headcount"))],
    ),
    Asked(
        STAFF,
        "how many people do we have by department?",
        RIGHT,
        lambda r: monthly(r, "month", "headcount"),
        then=("and by month?",),
    ),
    # tickets
    Asked(TICKETS, "how many tickets are there?", RIGHT, lambda r: [len(r)]),
    Asked(TICKETS, "how long does it take us to close a ticket on average?", CAREFUL),
    Asked(
        TICKETS,
        "how many high priority tickets are still open?",
        RIGHT,
        lambda r: [sum(x["priority"].lower() == "high" and x["status"] == "open" for x in r)],
    ),
    Asked(TICKETS, "number of tickets by status", RIGHT, lambda r: by(r, "status", "ticket", len)),
    Asked(
        TICKETS,
        "number of tickets by priority",
        RIGHT,
        lambda r: by([{**x, "priority": x["priority"].lower()} for x in r], "priority", "ticket", len),
    ),
    Asked(TICKETS, "average hours spent by team", RIGHT, lambda r: by(r, "team", HOURS, mean)),
    Asked(TICKETS, "how many tickets were opened in March 2026?", RIGHT, lambda r: [len(in_month(r, "opened", 3))]),
    # log
    Asked(LOG, "how many requests by status", CAREFUL),
    Asked(LOG, "how many rows by status", RIGHT, lambda r: by(r, "status", "path", len)),
    Asked(LOG, "median duration by path", RIGHT, lambda r: by(r, "path", "duration_ms", median)),
    Asked(LOG, "how many errors are there?", RIGHT, lambda r: [len(only(r, level="ERROR"))]),
    Asked(LOG, "largest duration_ms", RIGHT, lambda r: [max(col(r, "duration_ms"))]),
    Asked(LOG, "who attacked the server?", CAREFUL),
    # bank
    Asked(BANK, "total amount by category", RIGHT, lambda r: by(r, "Category", "Amount")),
    Asked(BANK, "what is the balance at the end?", CAREFUL),
    Asked(
        BANK, "how much did we spend on Housing?", RIGHT, lambda r: [sum(col(only(r, Category="Housing"), "Amount"))]
    ),
    Asked(BANK, "total amount by month", RIGHT, lambda r: monthly(r, "Date", "Amount")),
    # several sheets
    Asked(BUDGET, "total Cost by Department", RIGHT, lambda r: by([x for x in r if "Cost" in x], "Department", "Cost")),
    Asked(BUDGET, "total Income by source", RIGHT, lambda r: by([x for x in r if "Income" in x], "Source", "Income")),
    Asked(BUDGET, "profit by month", CAREFUL),
    # JSON
    Asked(GOODS, "average price by category", RIGHT, lambda r: by(r, "category", "price", mean)),
    Asked(
        GOODS,
        "how many products have a rating above 4?",
        CAREFUL,
    ),
    Asked(GOODS, "top 5 products by price", CAREFUL),
    # subscriptions
    Asked(PLANS, "what percentage of customers are on Pro?", RIGHT, lambda r: [share(only(r, plan="Pro"), r)]),
    Asked(PLANS, "how many customers have cancelled?", CAREFUL),
    Asked(PLANS, "total mrr by region", RIGHT, lambda r: by(r, "region", "mrr")),
    Asked(
        PLANS,
        "customers in the North on Enterprise",
        RIGHT,
        lambda r: [len(only(r, region="North", plan="Enterprise"))],
    ),
    # doubled headers, empty columns
    Asked(PARTS, "average price by warehouse", RIGHT, lambda r: by(r, "Warehouse", "Price", mean)),
    Asked(PARTS, "total qty by warehouse", CAREFUL),
    # dates in three forms
    Asked(EXPENSES, "total amount by employee", RIGHT, lambda r: by(r, "Employee", EUR)),
    Asked(
        EXPENSES,
        "how much was spent on Travel and Hotel?",
        RIGHT,
        lambda r: [sum(x[EUR] for x in r if x["Category"] in {"Travel", "Hotel"})],
    ),
    Asked(EXPENSES, "largest expense", RIGHT, lambda r: [max(col(r, EUR))]),
    # sensors
    Asked(SENSOR, "average temp_c by sensor", RIGHT, lambda r: by(r, "sensor", "temp_c", mean)),
    Asked(SENSOR, "highest temp_c in the cellar", RIGHT, lambda r: [max(col(only(r, sensor="cellar"), "temp_c"))]),
    # Spanish
    Asked(SPANISH, "importe total por ciudad", RIGHT, lambda r: by(r, "ciudad", "importe")),
    Asked(
        SPANISH,
        "¿Cuál es el importe medio en Madrid?",
        RIGHT,
        lambda r: [mean(col(only(r, ciudad="Madrid"), "importe"))],
    ),
    Asked(SPANISH, "importe de los clientes nuevos", CAREFUL),
    # months as words, percent, money
    Asked(MARKETING, "total signups by channel", RIGHT, lambda r: by(r, "Channel", "Signups")),
    Asked(MARKETING, "visits in March 2026", RIGHT, lambda r: [sum(col(in_month(r, "Month", 3), "Visits"))]),
    Asked(MARKETING, "ad spend per month", RIGHT, lambda r: monthly(r, "Month", "Ad spend")),
    Asked(MARKETING, "total conversion", CAREFUL),
    # French, which the rules know no words of: what names columns and values alone is worked out
    Asked(FRENCH, "heures total by équipe", RIGHT, lambda r: by(r, "équipe", "heures")),
    Asked(
        FRENCH, "total heures by projet in April 2026", RIGHT, lambda r: by(in_month(r, "jour", 4), "projet", "heures")
    ),
    Asked(
        FRENCH,
        "total heures without Support",
        RIGHT,
        lambda r: [sum(x["heures"] for x in r if x["équipe"] != "Support")],
    ),
    Asked(FRENCH, "combien d'heures par projet ?", CAREFUL),
    Asked(FRENCH, "heures sans Support", CAREFUL),
    Asked(FRENCH, "quelle équipe a travaillé le plus ?", CAREFUL),
    Asked(FRENCH, "total heures after the holidays", CAREFUL),
    Asked(FRENCH, "total heures per week and per équipe", CAREFUL),
    # German stocks on two days
    Asked(STOCK, "Bestand pro Lager", RIGHT, lambda r: by(last(r, "Stichtag"), "Lager", "Bestand")),
    Asked(STOCK, "Bestand in Köln im April 2026", RIGHT, lambda _: [52]),
    Asked(
        STOCK, "Wie hoch ist der durchschnittliche Preis pro Artikel?", RIGHT, lambda r: by(r, "Artikel", "Preis", mean)
    ),
    Asked(STOCK, "Bestand ohne Köln", RIGHT, lambda _: [30]),
    Asked(STOCK, "Welche Artikel haben keinen Bestand mehr?", CAREFUL),
    Asked(STOCK, "Bestand unter 10 pro Lager", CAREFUL),
    Asked(STOCK, "Warum ist der Bestand in Bremen gefallen?", CAREFUL),
    Asked(STOCK, "Was ist der Bestand wert?", CAREFUL),
    # Spanish bookings with a state
    Asked(BOOKINGS, "importe total por hotel", RIGHT, lambda r: by(r, "hotel", "importe")),
    Asked(BOOKINGS, "importe total en abril de 2026", RIGHT, lambda r: [sum(col(in_month(r, "fecha", 4), "importe"))]),
    Asked(BOOKINGS, "¿Cuántas reservas hay por estado?", RIGHT, lambda r: by(r, "estado", "hotel", len)),
    Asked(BOOKINGS, "importe total sin Sol", RIGHT, lambda r: [sum(x["importe"] for x in r if x["hotel"] != "Sol")]),
    Asked(BOOKINGS, "importe de las reservas que no están pagadas", CAREFUL),
    Asked(BOOKINGS, "importe todavía no cobrado", CAREFUL),
    Asked(BOOKINGS, "¿Qué hotel tiene más noches que Luna?", CAREFUL),
    Asked(BOOKINGS, "importe de la semana pasada", CAREFUL),
    # Italian, of which the rules know nothing
    Asked(ITALIAN, "average peso_kg by corriere", RIGHT, lambda r: by(r, "corriere", "peso_kg", mean)),
    Asked(ITALIAN, "largest costo_eur in Milano", RIGHT, lambda _: [31]),
    Asked(ITALIAN, "how many rows by città", RIGHT, lambda r: by(r, "città", "corriere", len)),
    Asked(ITALIAN, "costo totale per corriere", CAREFUL),
    Asked(ITALIAN, "quale corriere costa meno?", CAREFUL),
    Asked(ITALIAN, "costo_eur tranne Milano", CAREFUL),
    Asked(ITALIAN, "peso medio a Torino dopo gennaio", CAREFUL),
    Asked(ITALIAN, "is Rapido cheaper than Lento?", CAREFUL),
    # English: negation, state, time and comparison
    Asked(PROJECTS, "how many projects are not done?", RIGHT, lambda r: [sum(x["status"] != "done" for x in r)]),
    Asked(PROJECTS, "which owner has the largest budget?", RIGHT, lambda r: top(by(r, "owner", "budget"), 1)),
    Asked(
        PROJECTS,
        "share of projects by status",
        RIGHT,
        lambda r: {n: 100 * v / len(r) for n, v in by(r, "status", "owner", len).items()},
    ),
    Asked(PROJECTS, "median spent of open projects", RIGHT, lambda r: [median(col(only(r, status="open"), "spent"))]),
    Asked(PROJECTS, "which projects are over budget?", CAREFUL),
    Asked(PROJECTS, "total budget of projects due next month", CAREFUL),
    Asked(PROJECTS, "has Omar never finished a project?", CAREFUL),
    Asked(PROJECTS, "budget not yet spent by owner", CAREFUL),
    Asked(PROJECTS, "does Ines have more open projects than Lena?", CAREFUL),
    Asked(PROJECTS, "total budget excluding done and paused", RIGHT, lambda _: [43000]),
    # invoices: what is left out, what is still open, and when
    Asked(
        INVOICES,
        "How many invoices were issued in March without the cancelled ones?",
        RIGHT,
        lambda r: [sum(x["status"] != "cancelled" for x in in_month(r, "issued", 3))],
    ),
    Asked(
        INVOICES,
        "Total amount by customer, only the open and overdue ones",
        RIGHT,
        lambda r: by([x for x in r if x["status"] in {"open", "overdue"}], "customer", "amount_eur"),
    ),
    Asked(
        INVOICES,
        "Number of overdue invoices by customer",
        RIGHT,
        lambda r: by(only(r, status="overdue"), "customer", "invoice_no", len),
    ),
    Asked(INVOICES, "How many invoices are not paid yet?", RIGHT, lambda r: [sum(x["status"] != "paid" for x in r)]),
    Asked(
        INVOICES,
        "Which customers have not paid yet?",
        RIGHT,
        lambda r: by([x for x in r if x["status"] != "paid"], "customer", "invoice_no", len),
    ),
    Asked(INVOICES, "Which customer pays latest on average?", CAREFUL),
    Asked(INVOICES, "What is overdue and by how many days?", CAREFUL),
    # runs: a length of time, and values in the plural
    Asked(
        RUNS,
        "Total distance per month, races only",
        RIGHT,
        lambda r: monthly(only(r, type="race"), "date", "distance_km"),
    ),
    Asked(RUNS, "longest distance", RIGHT, lambda r: [max(col(r, "distance_km"))]),
    Asked(RUNS, "What was my fastest race?", CAREFUL),
    # texts: a list whose items run over lines, and a log
    Asked(SHIFT, "When did line 2 stop?", RIGHT, lambda _: [2, 15]),
    Asked(SHIFT, "What about the pallets?", RIGHT, lambda _: [2]),
    Asked(SHIFT, "Why did line 2 stop?", PART),
    Asked(SHIFT, "What is not done yet?", DECLINED),
    Asked(SHIFT, "How many people worked?", DECLINED),
    Asked(NAS, "How many errors were there?", DECLINED),
    Asked(NAS, "When did the backup fail?", DECLINED),
    Asked(NAS, "What changed between 6 and 8 o'clock?", DECLINED),
    # "each", "most", "most often": rows counted for each value of a column
    Asked(ORDERED, "wie viele Bestellungen hat jedes Land?", RIGHT, lambda r: count(r, "Land")),
    Asked(ORDERED, "welches Land hat die meisten Bestellungen?", RIGHT, lambda r: most(count(r, "Land"))),
    Asked(ORDERED, "welches Land hat die wenigsten Bestellungen?", RIGHT, lambda r: most(count(r, "Land"), min)),
    Asked(ORDERED, "welches Produkt wurde am häufigsten bestellt?", DECLINED),
    Asked(ORDERED, "welches Produkt wurde am meisten bestellt?", DECLINED),
    Asked(ORDERED, "was wurde am häufigsten bestellt?", DECLINED),
    Asked(ORDERED, "Betrag für jedes Land", RIGHT, lambda r: by(r, "Land", "Betrag")),
    Asked(ORDERED, "durchschnittlicher Betrag nach Produkt", RIGHT, lambda r: by(r, "Produkt", "Betrag", mean)),
    Asked(
        ORDERED,
        "wie viele Bestellungen sind nicht bezahlt?",
        RIGHT,
        lambda r: [sum(x["Status"] != "bezahlt" for x in r)],
    ),
    Asked(ORDERED, "wie viele Bestellungen gab es im März?", RIGHT, lambda r: [len(in_month(r, "Bestelldatum", 3))]),
    Asked(BUGS, "how many bugs does each component have?", RIGHT, lambda r: count(r, "component")),
    Asked(
        BUGS, "which component has most open bugs?", RIGHT, lambda r: most(count(only(r, state="open"), "component"))
    ),
    Asked(BUGS, "which component has most open?", DECLINED),
    Asked(BUGS, "which reporter reported the most bugs?", DECLINED),
    Asked(BUGS, "which component was reported most?", DECLINED),
    Asked(BUGS, "which bug was reported most?", DECLINED),
    Asked(BUGS, "what is the most common severity?", RIGHT, lambda r: most(count(r, "severity"))),
    Asked(
        BUGS, "which severity was closed most often?", RIGHT, lambda r: most(count(only(r, state="closed"), "severity"))
    ),
    Asked(BUGS, "how many bugs were closed in February 2026?", RIGHT, lambda r: [len(in_month(r, "closed_on", 2))]),
    Asked(
        BUGS,
        "number of bugs closed per month",
        RIGHT,
        lambda r: monthly(only(r, state="closed"), "closed_on", "bug", len),
    ),
    Asked(
        BUGS,
        "average hours to fix by component, highest first",
        RIGHT,
        lambda r: by(r, "component", "hours_to_fix", mean),
    ),
    Asked(BUGS, "how many bugs are older than 30 days?", DECLINED),
    Asked(BUGS, "average number of bugs per component", DECLINED),
    Asked(LINES, "how many rows does each product have?", RIGHT, lambda r: count(r, "product")),
    Asked(LINES, "how many orders does each country have?", DECLINED),
    Asked(LINES, "how many orders are there?", DECLINED),
    Asked(LINES, "the most ordered product", DECLINED),
    Asked(LINES, "how many Pots were ordered?", DECLINED),
    Asked(LINES, "which product was ordered most often?", DECLINED),
    Asked(LINES, "which 2 countries have the highest amount?", RIGHT, lambda r: top(by(r, "country", "amount"), 2)),
    Asked(LINES, "total amount for each country", RIGHT, lambda r: by(r, "country", "amount")),
    Asked(LOANS, "welche Zweigstelle hat die meisten Ausleihen?", RIGHT, lambda r: most(count(r, "Zweigstelle"))),
    Asked(LOANS, "Anzahl der Ausleihen je Genre", RIGHT, lambda r: count(r, "Genre")),
    Asked(LOANS, "häufigstes Genre", RIGHT, lambda r: most(count(r, "Genre"))),
    Asked(LOANS, "Summe Ausleihe", DECLINED),
    Asked(LOANS, "welches Genre ist am beliebtesten?", DECLINED),
    Asked(SIGNUPS, "how many signups does each city have?", RIGHT, lambda r: count(r, "city")),
    Asked(SIGNUPS, "which event has most signups?", RIGHT, lambda r: most(count(r, "event"))),
    Asked(SIGNUPS, "top 2 cities by signups", RIGHT, lambda r: top(count(r, "city"), 2)),
    Asked(
        SIGNUPS,
        "how many signups were there in Porto for each event?",
        RIGHT,
        lambda r: count(only(r, city="Porto"), "event"),
    ),
    Asked(SIGNUPS, "which city has the most students?", DECLINED),
    # calculations, and what rules cannot do
    Asked("", "what is 17.5% of 2,340?", RIGHT, lambda _: [409.5]),
    Asked("", "what is (17 + 3) * 23?", RIGHT, lambda _: [460]),
    Asked("", "deploy the api to production", DECLINED),
    Asked("", "remind me tomorrow at 9", DECLINED),
    Asked("", "fix it", DECLINED),
    Asked("", "translate 'good morning' into French", DECLINED),
    Asked("", "write a haiku about spring", DECLINED),
    Asked("", "Erkläre mir die Quantenphysik", DECLINED),
    Asked(TEXT, "outline this file", RIGHT, lambda _: [67]),
    Asked(TEXT, "what does it say about holidays?", RIGHT, lambda _: [28]),
    Asked(TEXT, "summarise this file", PART),
    Asked(TEXT, "what does it say about salaries?", DECLINED),
    Asked(TEXT, "translate this file into French", DECLINED),
)
