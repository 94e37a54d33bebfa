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
RIGHT, PART, DECLINE, CAREFUL = "right", "in part", "declined", "in part or declined"


@dataclass(frozen=True)
class RequestCase:
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


def only(rows: Iterable[Row], **values: object) -> list[Row]:
    """The rows with these values."""
    return [row for row in rows if all(row[name] == value for name, value in values.items())]


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
GERMAN_ORDERS, BUGS, LINES, LOANS, SIGNUPS = (
    f"{name}.csv" for name in ("bestellungen", "bug_reports", "order_lines", "ausleihen", "event_signups")
)
SCORE, HOURS, EUR = "How satisfied are you? (1-10)", "hours spent", "Amount (EUR)"
Q1 = range(1, 4)

REQUEST_CASES: tuple[RequestCase, ...] = (
    # the shipped sample: stocks by month
    RequestCase(SALES, "how many customers do we have?", RIGHT, lambda r: [sum(col(last(r, "month"), "customers"))]),
    RequestCase(SALES, "total revenue by region", RIGHT, lambda r: by(r, "region", "revenue_eur")),
    RequestCase(
        SALES, "revenue excluding North", RIGHT, lambda r: [sum(x["revenue_eur"] for x in r if x["region"] != "North")]
    ),
    RequestCase(
        SALES,
        "revenue of Desk in the South in June 2026",
        RIGHT,
        lambda r: [sum(col(in_month(only(r, product="Desk", region="South"), "month", 6), "revenue_eur"))],
    ),
    RequestCase(SALES, "customers by plan", RIGHT, lambda r: by(last(r, "month"), "plan", "customers")),
    RequestCase(
        SALES,
        "revenue in Q1 2026 compared with Q4 2025",
        CAREFUL,
    ),
    RequestCase(SALES, "which product has the most support tickets per customer?", CAREFUL),
    RequestCase(SALES, "forecast the revenue of the next 3 months", CAREFUL),
    RequestCase(SALES, "why did revenue drop in March?", CAREFUL),
    RequestCase(SALES, "churn rate by plan", CAREFUL),
    RequestCase(SALES, "total revenue by region, lowest first", RIGHT, lambda r: by(r, "region", "revenue_eur")),
    RequestCase(SALES, "total revenue since March 2026", DECLINE),
    RequestCase(
        SALES, "revenue by region", RIGHT, lambda r: by(r, "product", "revenue_eur"), then=("and by product?",)
    ),
    RequestCase(
        SALES,
        "total revenue by region",
        RIGHT,
        lambda r: by(only(r, region="North"), "product", "revenue_eur"),
        then=("and by product?", "only North"),
    ),
    # orders
    RequestCase(ORDERS, "how many orders are there?", RIGHT, lambda r: [len(r)]),
    RequestCase(ORDERS, "what share of orders was refunded?", RIGHT, lambda r: [share(only(r, status="refunded"), r)]),
    RequestCase(ORDERS, "median unit price by country", RIGHT, lambda r: by(r, "country", "unit_price", median)),
    RequestCase(ORDERS, "top 3 customers by total", RIGHT, lambda r: top(by(r, "customer", "total"), 3)),
    RequestCase(ORDERS, "How many orders per month?", RIGHT, lambda r: monthly(r, "ordered_on", "order_id", len)),
    RequestCase(ORDERS, "average total of paid orders", RIGHT, lambda r: [mean(col(only(r, status="paid"), "total"))]),
    RequestCase(
        ORDERS,
        "total by product in Q1 2026 as a chart",
        RIGHT,
        lambda r: by([x for x in r if x["ordered_on"].month in Q1], "product", "total"),
    ),
    RequestCase(ORDERS, "orders over 500", CAREFUL),
    RequestCase(ORDERS, "what is the correlation between units and total?", CAREFUL),
    RequestCase(ORDERS, "total of green lamps", CAREFUL),
    # German, decimal commas, titles above, a row of totals
    RequestCase(GERMAN, "Umsatz pro Region", RIGHT, lambda r: by(r, "Region", "Umsatz")),
    RequestCase(GERMAN, "Umsatz im März pro Region", RIGHT, lambda r: by(in_month(r, "Datum", 3), "Region", "Umsatz")),
    RequestCase(GERMAN, "Wie hoch ist der durchschnittliche Umsatz?", RIGHT, lambda r: [mean(col(r, "Umsatz"))]),
    RequestCase(GERMAN, "total Umsatz by month", RIGHT, lambda r: monthly(r, "Datum", "Umsatz")),
    RequestCase(GERMAN, "Warum ist der Umsatz in Nord so schlecht?", CAREFUL),
    # a workbook with notes above the header and a row of totals
    RequestCase(REPORT, "total Amount by Region", RIGHT, lambda r: by(r, "Region", "Amount")),
    RequestCase(REPORT, "what is the total amount?", RIGHT, lambda r: [sum(col(r, "Amount"))]),
    RequestCase(REPORT, "which rep sold the most?", RIGHT, lambda r: top(by(r, "Rep", "Amount"), 1)),
    RequestCase(
        REPORT,
        "share of the amount by region",
        RIGHT,
        lambda r: {n: 100 * v / sum(col(r, "Amount")) for n, v in by(r, "Region", "Amount").items()},
    ),
    RequestCase(REPORT, "amount by region after discount", CAREFUL),
    # survey
    RequestCase(SURVEY, "average satisfaction by department", RIGHT, lambda r: by(r, "Department", SCORE, mean)),
    RequestCase(SURVEY, "how many people would recommend us?", CAREFUL),
    RequestCase(SURVEY, "how many respondents are there?", RIGHT, lambda r: [len(r)]),
    RequestCase(SURVEY, "what do people complain about?", CAREFUL),
    # staff: stocks at the end of each month
    RequestCase(
        STAFF,
        "how many people do we have by department?",
        RIGHT,
        lambda r: by(last(r, "month"), "department", "headcount"),
    ),
    RequestCase(STAFF, "total headcount by month", RIGHT, lambda r: monthly(r, "month", "headcount")),
    RequestCase(STAFF, "average headcount by department", RIGHT, lambda r: by(r, "department", "headcount", mean)),
    RequestCase(STAFF, "total leavers by department", RIGHT, lambda r: by(r, "department", "leavers")),
    RequestCase(
        STAFF,
        "headcount of Engineering in December 2025",
        RIGHT,
        lambda r: [sum(col(in_month(only(r, department="Engineering"), "month", 12, 2025), "headcount"))],
    ),
    RequestCase(
        STAFF,
        "how many people do we have by department?",
        RIGHT,
        lambda r: monthly(r, "month", "headcount"),
        then=("and by month?",),
    ),
    # tickets
    RequestCase(TICKETS, "how many tickets are there?", RIGHT, lambda r: [len(r)]),
    RequestCase(TICKETS, "how long does it take us to close a ticket on average?", CAREFUL),
    RequestCase(
        TICKETS,
        "how many high priority tickets are still open?",
        RIGHT,
        lambda r: [sum(x["priority"].lower() == "high" and x["status"] == "open" for x in r)],
    ),
    RequestCase(TICKETS, "number of tickets by status", RIGHT, lambda r: by(r, "status", "ticket", len)),
    RequestCase(
        TICKETS,
        "number of tickets by priority",
        RIGHT,
        lambda r: by([{**x, "priority": x["priority"].lower()} for x in r], "priority", "ticket", len),
    ),
    RequestCase(TICKETS, "average hours spent by team", RIGHT, lambda r: by(r, "team", HOURS, mean)),
    RequestCase(
        TICKETS, "how many tickets were opened in March 2026?", RIGHT, lambda r: [len(in_month(r, "opened", 3))]
    ),
    # log
    RequestCase(LOG, "how many requests by status", CAREFUL),
    RequestCase(LOG, "how many rows by status", RIGHT, lambda r: by(r, "status", "path", len)),
    RequestCase(LOG, "median duration by path", RIGHT, lambda r: by(r, "path", "duration_ms", median)),
    RequestCase(LOG, "how many errors are there?", RIGHT, lambda r: [len(only(r, level="ERROR"))]),
    RequestCase(LOG, "largest duration_ms", RIGHT, lambda r: [max(col(r, "duration_ms"))]),
    RequestCase(LOG, "who attacked the server?", CAREFUL),
    # bank
    RequestCase(BANK, "total amount by category", RIGHT, lambda r: by(r, "Category", "Amount")),
    RequestCase(BANK, "what is the balance at the end?", CAREFUL),
    RequestCase(
        BANK, "how much did we spend on Housing?", RIGHT, lambda r: [sum(col(only(r, Category="Housing"), "Amount"))]
    ),
    RequestCase(BANK, "total amount by month", RIGHT, lambda r: monthly(r, "Date", "Amount")),
    # several sheets
    RequestCase(
        BUDGET, "total Cost by Department", RIGHT, lambda r: by([x for x in r if "Cost" in x], "Department", "Cost")
    ),
    RequestCase(
        BUDGET, "total Income by source", RIGHT, lambda r: by([x for x in r if "Income" in x], "Source", "Income")
    ),
    RequestCase(BUDGET, "profit by month", CAREFUL),
    # JSON
    RequestCase(GOODS, "average price by category", RIGHT, lambda r: by(r, "category", "price", mean)),
    RequestCase(
        GOODS,
        "how many products have a rating above 4?",
        CAREFUL,
    ),
    RequestCase(GOODS, "top 5 products by price", CAREFUL),
    # subscriptions
    RequestCase(PLANS, "what percentage of customers are on Pro?", RIGHT, lambda r: [share(only(r, plan="Pro"), r)]),
    RequestCase(PLANS, "how many customers have cancelled?", CAREFUL),
    RequestCase(PLANS, "total mrr by region", RIGHT, lambda r: by(r, "region", "mrr")),
    RequestCase(
        PLANS,
        "customers in the North on Enterprise",
        RIGHT,
        lambda r: [len(only(r, region="North", plan="Enterprise"))],
    ),
    # doubled headers, empty columns
    RequestCase(PARTS, "average price by warehouse", RIGHT, lambda r: by(r, "Warehouse", "Price", mean)),
    RequestCase(PARTS, "total qty by warehouse", CAREFUL),
    # dates in three forms
    RequestCase(EXPENSES, "total amount by employee", RIGHT, lambda r: by(r, "Employee", EUR)),
    RequestCase(
        EXPENSES,
        "how much was spent on Travel and Hotel?",
        RIGHT,
        lambda r: [sum(x[EUR] for x in r if x["Category"] in {"Travel", "Hotel"})],
    ),
    RequestCase(EXPENSES, "largest expense", RIGHT, lambda r: [max(col(r, EUR))]),
    # sensors
    RequestCase(SENSOR, "average temp_c by sensor", RIGHT, lambda r: by(r, "sensor", "temp_c", mean)),
    RequestCase(
        SENSOR, "highest temp_c in the cellar", RIGHT, lambda r: [max(col(only(r, sensor="cellar"), "temp_c"))]
    ),
    # Spanish
    RequestCase(SPANISH, "importe total por ciudad", RIGHT, lambda r: by(r, "ciudad", "importe")),
    RequestCase(
        SPANISH,
        "¿Cuál es el importe medio en Madrid?",
        RIGHT,
        lambda r: [mean(col(only(r, ciudad="Madrid"), "importe"))],
    ),
    RequestCase(SPANISH, "importe de los clientes nuevos", CAREFUL),
    # months as words, percent, money
    RequestCase(MARKETING, "total signups by channel", RIGHT, lambda r: by(r, "Channel", "Signups")),
    RequestCase(MARKETING, "visits in March 2026", RIGHT, lambda r: [sum(col(in_month(r, "Month", 3), "Visits"))]),
    RequestCase(MARKETING, "ad spend per month", RIGHT, lambda r: monthly(r, "Month", "Ad spend")),
    RequestCase(MARKETING, "total conversion", CAREFUL),
    # French, which the rules know no words of: what names columns and values alone is worked out
    RequestCase(FRENCH, "heures total by équipe", RIGHT, lambda r: by(r, "équipe", "heures")),
    RequestCase(
        FRENCH, "total heures by projet in April 2026", RIGHT, lambda r: by(in_month(r, "jour", 4), "projet", "heures")
    ),
    RequestCase(
        FRENCH,
        "total heures without Support",
        RIGHT,
        lambda r: [sum(x["heures"] for x in r if x["équipe"] != "Support")],
    ),
    RequestCase(FRENCH, "combien d'heures par projet ?", CAREFUL),
    RequestCase(FRENCH, "heures sans Support", CAREFUL),
    RequestCase(FRENCH, "quelle équipe a travaillé le plus ?", CAREFUL),
    RequestCase(FRENCH, "total heures after the holidays", CAREFUL),
    RequestCase(FRENCH, "total heures per week and per équipe", CAREFUL),
    # German stocks on two days
    RequestCase(STOCK, "Bestand pro Lager", RIGHT, lambda r: by(last(r, "Stichtag"), "Lager", "Bestand")),
    RequestCase(STOCK, "Bestand in Köln im April 2026", RIGHT, lambda _: [52]),
    RequestCase(
        STOCK, "Wie hoch ist der durchschnittliche Preis pro Artikel?", RIGHT, lambda r: by(r, "Artikel", "Preis", mean)
    ),
    RequestCase(STOCK, "Bestand ohne Köln", RIGHT, lambda _: [30]),
    RequestCase(STOCK, "Welche Artikel haben keinen Bestand mehr?", CAREFUL),
    RequestCase(STOCK, "Bestand unter 10 pro Lager", CAREFUL),
    RequestCase(STOCK, "Warum ist der Bestand in Bremen gefallen?", CAREFUL),
    RequestCase(STOCK, "Was ist der Bestand wert?", CAREFUL),
    # Spanish bookings with a state
    RequestCase(BOOKINGS, "importe total por hotel", RIGHT, lambda r: by(r, "hotel", "importe")),
    RequestCase(
        BOOKINGS, "importe total en abril de 2026", RIGHT, lambda r: [sum(col(in_month(r, "fecha", 4), "importe"))]
    ),
    RequestCase(BOOKINGS, "¿Cuántas reservas hay por estado?", RIGHT, lambda r: by(r, "estado", "hotel", len)),
    RequestCase(
        BOOKINGS, "importe total sin Sol", RIGHT, lambda r: [sum(x["importe"] for x in r if x["hotel"] != "Sol")]
    ),
    RequestCase(BOOKINGS, "importe de las reservas que no están pagadas", CAREFUL),
    RequestCase(BOOKINGS, "importe todavía no cobrado", CAREFUL),
    RequestCase(BOOKINGS, "¿Qué hotel tiene más noches que Luna?", CAREFUL),
    RequestCase(BOOKINGS, "importe de la semana pasada", CAREFUL),
    # Italian, of which the rules know nothing
    RequestCase(ITALIAN, "average peso_kg by corriere", RIGHT, lambda r: by(r, "corriere", "peso_kg", mean)),
    RequestCase(ITALIAN, "largest costo_eur in Milano", RIGHT, lambda _: [31]),
    RequestCase(ITALIAN, "how many rows by città", RIGHT, lambda r: by(r, "città", "corriere", len)),
    RequestCase(ITALIAN, "costo totale per corriere", CAREFUL),
    RequestCase(ITALIAN, "quale corriere costa meno?", CAREFUL),
    RequestCase(ITALIAN, "costo_eur tranne Milano", CAREFUL),
    RequestCase(ITALIAN, "peso medio a Torino dopo gennaio", CAREFUL),
    RequestCase(ITALIAN, "is Rapido cheaper than Lento?", CAREFUL),
    # English: negation, state, time and comparison
    RequestCase(PROJECTS, "how many projects are not done?", RIGHT, lambda r: [sum(x["status"] != "done" for x in r)]),
    RequestCase(PROJECTS, "which owner has the largest budget?", RIGHT, lambda r: top(by(r, "owner", "budget"), 1)),
    RequestCase(
        PROJECTS,
        "share of projects by status",
        RIGHT,
        lambda r: {n: 100 * v / len(r) for n, v in by(r, "status", "owner", len).items()},
    ),
    RequestCase(
        PROJECTS, "median spent of open projects", RIGHT, lambda r: [median(col(only(r, status="open"), "spent"))]
    ),
    RequestCase(PROJECTS, "which projects are over budget?", CAREFUL),
    RequestCase(PROJECTS, "total budget of projects due next month", CAREFUL),
    RequestCase(PROJECTS, "has Omar never finished a project?", CAREFUL),
    RequestCase(PROJECTS, "budget not yet spent by owner", CAREFUL),
    RequestCase(PROJECTS, "does Ines have more open projects than Lena?", CAREFUL),
    RequestCase(PROJECTS, "total budget excluding done and paused", RIGHT, lambda _: [43000]),
    # invoices: what is left out, what is still open, and when
    RequestCase(
        INVOICES,
        "How many invoices were issued in March without the cancelled ones?",
        RIGHT,
        lambda r: [sum(x["status"] != "cancelled" for x in in_month(r, "issued", 3))],
    ),
    RequestCase(
        INVOICES,
        "Total amount by customer, only the open and overdue ones",
        RIGHT,
        lambda r: by([x for x in r if x["status"] in {"open", "overdue"}], "customer", "amount_eur"),
    ),
    RequestCase(
        INVOICES,
        "Number of overdue invoices by customer",
        RIGHT,
        lambda r: by(only(r, status="overdue"), "customer", "invoice_no", len),
    ),
    RequestCase(
        INVOICES, "How many invoices are not paid yet?", RIGHT, lambda r: [sum(x["status"] != "paid" for x in r)]
    ),
    RequestCase(
        INVOICES,
        "Which customers have not paid yet?",
        RIGHT,
        lambda r: by([x for x in r if x["status"] != "paid"], "customer", "invoice_no", len),
    ),
    RequestCase(INVOICES, "Which customer pays latest on average?", CAREFUL),
    RequestCase(INVOICES, "What is overdue and by how many days?", CAREFUL),
    # runs: a length of time, and values in the plural
    RequestCase(
        RUNS,
        "Total distance per month, races only",
        RIGHT,
        lambda r: monthly(only(r, type="race"), "date", "distance_km"),
    ),
    RequestCase(RUNS, "longest distance", RIGHT, lambda r: [max(col(r, "distance_km"))]),
    RequestCase(RUNS, "What was my fastest race?", CAREFUL),
    # texts: a list whose items run over lines, and a log
    RequestCase(SHIFT, "When did line 2 stop?", RIGHT, lambda _: [2, 15]),
    RequestCase(SHIFT, "What about the pallets?", RIGHT, lambda _: [2]),
    RequestCase(SHIFT, "Why did line 2 stop?", PART),
    RequestCase(SHIFT, "What is not done yet?", DECLINE),
    RequestCase(SHIFT, "How many people worked?", DECLINE),
    RequestCase(NAS, "How many errors were there?", DECLINE),
    RequestCase(NAS, "When did the backup fail?", DECLINE),
    RequestCase(NAS, "What changed between 6 and 8 o'clock?", DECLINE),
    # "each", "most", "most often": rows counted for each value of a column
    RequestCase(GERMAN_ORDERS, "wie viele Bestellungen hat jedes Land?", RIGHT, lambda r: count(r, "Land")),
    RequestCase(GERMAN_ORDERS, "welches Land hat die meisten Bestellungen?", RIGHT, lambda r: most(count(r, "Land"))),
    RequestCase(
        GERMAN_ORDERS, "welches Land hat die wenigsten Bestellungen?", RIGHT, lambda r: most(count(r, "Land"), min)
    ),
    RequestCase(GERMAN_ORDERS, "welches Produkt wurde am häufigsten bestellt?", DECLINE),
    RequestCase(GERMAN_ORDERS, "welches Produkt wurde am meisten bestellt?", DECLINE),
    RequestCase(GERMAN_ORDERS, "was wurde am häufigsten bestellt?", DECLINE),
    RequestCase(GERMAN_ORDERS, "Betrag für jedes Land", RIGHT, lambda r: by(r, "Land", "Betrag")),
    RequestCase(
        GERMAN_ORDERS, "durchschnittlicher Betrag nach Produkt", RIGHT, lambda r: by(r, "Produkt", "Betrag", mean)
    ),
    RequestCase(
        GERMAN_ORDERS,
        "wie viele Bestellungen sind nicht bezahlt?",
        RIGHT,
        lambda r: [sum(x["Status"] != "bezahlt" for x in r)],
    ),
    RequestCase(
        GERMAN_ORDERS, "wie viele Bestellungen gab es im März?", RIGHT, lambda r: [len(in_month(r, "Bestelldatum", 3))]
    ),
    RequestCase(BUGS, "how many bugs does each component have?", RIGHT, lambda r: count(r, "component")),
    RequestCase(
        BUGS, "which component has most open bugs?", RIGHT, lambda r: most(count(only(r, state="open"), "component"))
    ),
    RequestCase(BUGS, "which component has most open?", DECLINE),
    RequestCase(BUGS, "which reporter reported the most bugs?", DECLINE),
    RequestCase(BUGS, "which component was reported most?", DECLINE),
    RequestCase(BUGS, "which bug was reported most?", DECLINE),
    RequestCase(BUGS, "what is the most common severity?", RIGHT, lambda r: most(count(r, "severity"))),
    RequestCase(
        BUGS, "which severity was closed most often?", RIGHT, lambda r: most(count(only(r, state="closed"), "severity"))
    ),
    RequestCase(
        BUGS, "how many bugs were closed in February 2026?", RIGHT, lambda r: [len(in_month(r, "closed_on", 2))]
    ),
    RequestCase(
        BUGS,
        "number of bugs closed per month",
        RIGHT,
        lambda r: monthly(only(r, state="closed"), "closed_on", "bug", len),
    ),
    RequestCase(
        BUGS,
        "average hours to fix by component, highest first",
        RIGHT,
        lambda r: by(r, "component", "hours_to_fix", mean),
    ),
    RequestCase(BUGS, "how many bugs are older than 30 days?", DECLINE),
    RequestCase(BUGS, "average number of bugs per component", DECLINE),
    RequestCase(LINES, "how many rows does each product have?", RIGHT, lambda r: count(r, "product")),
    RequestCase(LINES, "how many orders does each country have?", DECLINE),
    RequestCase(LINES, "how many orders are there?", DECLINE),
    RequestCase(LINES, "the most ordered product", DECLINE),
    RequestCase(LINES, "how many Pots were ordered?", DECLINE),
    RequestCase(LINES, "which product was ordered most often?", DECLINE),
    RequestCase(
        LINES, "which 2 countries have the highest amount?", RIGHT, lambda r: top(by(r, "country", "amount"), 2)
    ),
    RequestCase(LINES, "total amount for each country", RIGHT, lambda r: by(r, "country", "amount")),
    RequestCase(LOANS, "welche Zweigstelle hat die meisten Ausleihen?", RIGHT, lambda r: most(count(r, "Zweigstelle"))),
    RequestCase(LOANS, "Anzahl der Ausleihen je Genre", RIGHT, lambda r: count(r, "Genre")),
    RequestCase(LOANS, "häufigstes Genre", RIGHT, lambda r: most(count(r, "Genre"))),
    RequestCase(LOANS, "Summe Ausleihe", DECLINE),
    RequestCase(LOANS, "welches Genre ist am beliebtesten?", DECLINE),
    RequestCase(SIGNUPS, "how many signups does each city have?", RIGHT, lambda r: count(r, "city")),
    RequestCase(SIGNUPS, "which event has most signups?", RIGHT, lambda r: most(count(r, "event"))),
    RequestCase(SIGNUPS, "top 2 cities by signups", RIGHT, lambda r: top(count(r, "city"), 2)),
    RequestCase(
        SIGNUPS,
        "how many signups were there in Porto for each event?",
        RIGHT,
        lambda r: count(only(r, city="Porto"), "event"),
    ),
    RequestCase(SIGNUPS, "which city has the most students?", DECLINE),
    # calculations, and what rules cannot do
    RequestCase("", "what is 17.5% of 2,340?", RIGHT, lambda _: [409.5]),
    RequestCase("", "what is (17 + 3) * 23?", RIGHT, lambda _: [460]),
    RequestCase("", "deploy the api to production", DECLINE),
    RequestCase("", "remind me tomorrow at 9", DECLINE),
    RequestCase("", "fix it", DECLINE),
    RequestCase("", "translate 'good morning' into French", DECLINE),
    RequestCase("", "write a haiku about spring", DECLINE),
    RequestCase("", "Erkläre mir die Quantenphysik", DECLINE),
    RequestCase(TEXT, "outline this file", RIGHT, lambda _: [67]),
    RequestCase(TEXT, "what does it say about holidays?", RIGHT, lambda _: [28]),
    RequestCase(TEXT, "summarise this file", PART),
    RequestCase(TEXT, "what does it say about salaries?", DECLINE),
    RequestCase(TEXT, "translate this file into French", DECLINE),
)
