"""What single words of a request mean to the rehearsal, in English, German and Spanish. Data, and how to compare words.

No file's own words are here: those come from its columns and values.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeVar

from handoff.text.text_words import stem

Fold = Literal["sum", "mean", "median", "max", "min", "share"]
"""How the values of a column become one figure."""


_Name = TypeVar("_Name", bound=str)


def word_set(text: str) -> frozenset[str]:
    """The words of a text, as a set."""
    return frozenset(text.split())


def _stems(text: str) -> frozenset[str]:
    return frozenset(stem(word) for word in text.split())


def _each(groups: Mapping[_Name, str]) -> dict[str, _Name]:
    return {word: name for name, text in groups.items() for word in text.split()}


FOLDS: Mapping[str, Fold] = _each(
    {
        "sum": "total totals sum sums overall altogether summe gesamt gesamter gesamte insgesamt suma totales "
        "much viel cuánto cuánta",
        "mean": "average averages avg mean durchschnitt durchschnittlich durchschnittliche durchschnittlicher "
        "durchschnittlichen mittelwert promedio medio media",
        "median": "median mediana",
        "max": "largest highest maximum max biggest peak greatest höchste höchster höchsten größte größter "
        "größten mayor máximo máxima",
        "min": "smallest lowest minimum min kleinste kleinster niedrigste niedrigster menor mínimo mínima",
        "share": "share shares percentage percent proportion anteil anteile prozent porcentaje proporción",
    }
)
MOST = word_set("most best meisten beste bester más mejor")
LEAST = word_set("least worst fewest wenigsten schlechteste menos peor")
BY = word_set("by per each every across pro je nach por cada")
PER = word_set("per pro je por cada")
WHICH = word_set("which what welche welcher welches qué cuál")
NOT = word_set("excluding exclude except without not ohne außer excl sin excepto")
AND = word_set("and or und oder y o")
CHART = word_set("chart charts plot graph diagram diagramm grafik gráfico draw bar")
TREND = word_set("trend trends course verlauf entwicklung development tendencia evolución")
CHANGE = word_set(
    "rise rose risen grew grow grown increase increased fall fell fallen drop dropped decline declined decrease "
    "decreased change changed"
)
"""Verbs for the course of time, whichever direction they take for granted."""
NOW = word_set("end now current currently latest ende aktuell derzeit actual ahora")
"""Words for the last moment, which is what a stock is told for; of anything else they are not understood."""
UNITS: Mapping[str, str] = _each(
    {
        "day": "day days daily dai tag tage täglich día días",
        "week": "week weeks weekly woche wochen wöchentlich semana semanas",
        "month": "month months monthly monat monate monats monatlich mes meses mensual",
        "quarter": "quarter quarters quarterly quartal quartale trimestre trimestres",
        "year": "year years yearly annual annually jahr jahre jährlich año años",
    }
)
ADVERBS = word_set("daily weekly monthly quarterly yearly annual annually täglich wöchentlich monatlich jährlich")
WHY = word_set("why warum wieso weshalb")
FILLERS = word_set(
    "a an the this that these those there and are is was were be been do does did have has had can could would will "
    "i we us our you your me my it its it's of in on at for from to as with please show give tell see let get list "
    "how what which what's much many figure figures number numbers data table file spreadsheet sheet csv excel "
    "all attached value values row rows record records entry entries so also just any by made find work out need want "
    "ist sind war waren der die das den dem des ein eine einer einem im in am an auf aus bei für von vom zu zum zur es "
    "uns wir ich sie bitte zeig zeige gib mir gibt hat haben wie hoch und was welche "
    "es son el la los las un una de del en y para que qué se su sus fue fueron hay por muestra dame tenemos cuál cuáles"
)
"""Words that say nothing about which figure is meant. None negates, compares, tells a state or asks when or who."""
ONLY = word_set("only just still nur sólo solo noch todavía on")
"""Words that say nothing beside a value: `only North`, `still open`, `on Pro`; alone they are not understood."""

FLOWS = _stems(
    "sales revenue turnover income proceeds amount total cost costs expense expenses spend spending spent "
    "units qty quantity volume pieces sold orders mrr arr visits views clicks signups leavers joiners hires "
    "new churned lost cancelled tickets hours bytes umsatz umsätze menge betrag kosten anzahl einnahmen "
    "ausgaben stückzahl importe unidades ventas ingresos gastos cantidad payments payment paid tax "
    "donations salary budget"
)
"""Words of columns whose values may be added up without being told to."""
STOCKS = _stems(
    "customers clients accounts users subscribers members headcount staff employees people inventory stock "
    "bestand kunden mitarbeiter clientes empleados backlog population"
)
"""Words of columns that say how many there are at a moment: added up over moments they mean nothing."""
RATES = _stems(
    "rate ratio percent percentage pct share price preis precio score age alter temperature temp rating "
    "humidity margin conversion average avg mean median satisfied satisfaction grade lat lon latitude "
    "longitude duration latency speed"
)
"""Words of columns whose values must not be added up unless somebody says so; of rates not even then."""
NEVER_ADDED = _stems("rate ratio percent percentage pct conversion margin")
ALIKE: tuple[frozenset[str], ...] = tuple(
    frozenset(stem(word) for word in group.split())
    for group in (
        "sales revenue turnover income proceeds umsatz ventas ingresos sold earn earned verkauft",
        "amount betrag importe sold spend spent spending expense expenses paid ausgegeben gastado",
        "cost costs expense expenses spend spent spending kosten costes gastos",
        "units quantity qty volume pieces menge unidades",
        "customers clients accounts users subscribers kunde kunden clientes",
        "products articles goods produkt produkte artikel productos",
        "profit margin earnings gewinn",
        "staff headcount employees people mitarbeiter empleados",
        "region area territory",
        "plan tier package",
        "price preis precio",
        "city town stadt ciudad",
        "country land país",
        "month monat mes",
        "date datum fecha when",
        "people person persons respondent respondents employee employees",
    )
)
"""Words that people use for one another: general ones, not those of any file."""
_SHARED = 6


def close(one: str, other: str) -> bool:
    """Return True if two words are of one family: the same stem, or a long beginning in common."""
    one, other = stem(one), stem(other)
    if one == other:
        return True
    shared = next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    return shared >= _SHARED and shared >= 0.6 * min(len(one), len(other))


def alike(one: str, other: str) -> bool:
    """Return True if two words are used for one another."""
    one, other = stem(one), stem(other)
    return any(one in group and other in group for group in ALIKE)
