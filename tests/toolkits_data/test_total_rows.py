"""Totals are set apart whatever they are called, true rows are not, and what is not certain is said."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from specialists.tools.tables.delimited import read_delimited_sheets
from specialists.tools.tables.sheet import Sheet
from specialists.tools.tables.workbook import read_workbook_sheets

from .conftest import Cell, workbook_bytes

SEEDS = range(200)


def read(text: str) -> Sheet:
    (sheet,) = read_delimited_sheets(text.encode(), ".csv")
    return sheet


@pytest.mark.parametrize(
    ("text", "row_count", "apart"),
    [
        ("month;value\nJan;1\nFeb;2\nSumme;3\n", 2, "line 4 ('Summe')"),
        ("date;v\n01.02.2026;10,50\n02.02.2026;20,75\nSumme;31,25\n", 2, "line 4 ('Summe')"),
        ("Megye,Termék,Ft\nN,x,1012\nN,y,2015\nS,z,57\nMindenki,,3084\n", 3, "line 5 ('Mindenki')"),
        ("item,qty,price,amount\nA,2,3.50,7.00\nB,1,4.25,4.25\nC,4,1.10,4.40\n,7,,15.65\n", 3, "line 5"),
        ('r,rev,share\nN,"$1,200.00",40 %\nS,"$1,800.00",60 %\nTotal,"$3,000.00",100 %\n', 2, "line 4 ('Total')"),
        ("r;v\nN;1.200,50 €\nS;-200,25 €\nGesamt;1.000,25 €\n", 2, "line 4 ('Gesamt')"),
        ('r,v\nN,(200)\nS,"1,200"\nTotal,"1,000"\n', 2, "line 4 ('Total')"),
        ("r,p,v\nN,x,10\nN,y,20\nN total,,30\nS,z,5\nS,w,6\nS total,,11\nAll,,41\n", 4, "line 8 ('All')"),
        (
            "r,p,v\nN,x,1012\nN,y,2015\nN,,3027\nS,z,57\nS,w,61\nS,,118\n,,3145\n",
            4,
            "line 4 ('N'), line 7 ('S'), line 8",
        ),
        ("name,k,v\nTotal,,1000\nx,a,601\ny,b,399\n", 2, "line 2 ('Total')"),
        ("name,v,rate\nx,100,2.5\ny,200,3.5\nTotal,300,3.1\n", 2, "line 4 ('Total')"),
        ("name,a,b\nx,33.3,1\ny,33.3,2\nz,33.3,3\nTotal,100.0,6\n", 3, "line 5 ('Total')"),
        ("c,v\nAT,1\nBE,2\n\nTotal,3\n\nSource: SAP\n", 2, "line 5 ('Total')"),
        ("姓名,数\n甲,10\n乙,20\n合计,30\n", 2, "line 4 ('合计')"),
    ],
)
def test_totals_are_set_apart_and_said(text: str, row_count: int, apart: str) -> None:
    sheet = read(text)
    assert len(sheet.rows) == row_count
    assert apart in sheet.notes[0]
    assert not sheet.faults


def test_a_row_of_averages_is_no_row() -> None:
    sheet = read("name,v,note\nBen,1.5,x\nAnn,2.5,y\nDurchschnitt,2.0,\n")
    assert len(sheet.rows) == 2
    assert sheet.notes == ["1 average row set apart, not counted: line 4 ('Durchschnitt')"]


@pytest.mark.parametrize(
    ("text", "row_count", "fault_words"),
    [
        (
            "Company,Country,Rev\nShell,UK,100\nTotal,FR,90\nBP,UK,80\n",
            3,
            "line 3 ('Total') is called a total and is counted",
        ),
        ("name,k,v\nx,1,2\ny,2,3\nTotal,,9\n", 2, "does not agree with the rows above it: it is not counted; check"),
        (
            "name,k,v\nx,a,1012\ny,b,2017\nz,c,513\nw,d,3542\n",
            4,
            "line 5 ('w') is the sum of rows above it and is counted",
        ),
        ("name,k,v\nx,a,10\ny,b,20\nz,c,14\nw,,44\n", 4, "line 5 ('w') is the sum of rows above it and is counted"),
        ("name,v,w\nx,1,2\ny,2,3\nz,3,4\nBen,,\n", 4, "the last row has one cell only ('Ben')"),
    ],
)
def test_what_is_not_certain_is_said(text: str, row_count: int, fault_words: str) -> None:
    sheet = read(text)
    assert len(sheet.rows) == row_count
    assert fault_words in sheet.faults[0]


@pytest.mark.parametrize(
    "text",
    [
        "n,v\nx,1\ny,2\nz,3\n",
        "n,v\nx,1\ny,1\nz,2\nw,3\n",
        "n,note,v\nx,a,1\ny,,2\nz,b,3\nw,,6\n",
        "n,v,total\nx,1,1\ny,2,2\n",
        "product,v\nTotal War,5\nTotal Recall,9\nSumatra,3\n",
        "n,v\nx,0\ny,0\nz,0\n",
    ],
)
def test_true_rows_stay(text: str) -> None:
    sheet = read(text)
    assert len(sheet.rows) == text.count("\n") - 1
    assert sheet.notes == []
    assert sheet.faults == []


@dataclass
class TableFile:
    """A file, the true amounts in it, and how many rows are no true ones."""

    lines: list[list[str]]
    amounts: list[int] = field(default_factory=list)
    totals: int = 0


LABELS = ("Total", "Summe", "Összesen", "Kokku", "Итого", "Tổng cộng", "Vsego", "", "Somme", "jumla")


def make_table_file(rng: random.Random, write: Writer) -> TableFile:
    """Groups with totals or without, a grand total or none, in a random language, with empty cells in true rows too."""
    label, groups = rng.choice(LABELS), rng.randint(1, 4)
    per_group, grand = rng.random() < 0.5, rng.random() < 0.8
    made = TableFile([["Region", "Product", "Pieces", "Amount"]])
    for group in range(groups):
        inside = []
        for number in range(rng.randint(2, 9)):
            amount = rng.choice((1, 1, 1, -1)) * rng.randint(10_000, 9_999_999)
            note = f"P{number}" if rng.random() < 0.97 else "n/a"
            made.lines.append([f"Region {group}", note, str(rng.randint(1, 99)), write(amount)])
            inside.append(amount)
        if per_group:
            pieces = sum(int(line[2]) for line in made.lines[-len(inside) :])
            made.lines.append([f"{label} Region {group}".strip(), "", str(pieces), write(sum(inside))])
            made.totals += 1
        made.amounts += inside
    if grand:
        made.lines.append([label, "", "", write(sum(made.amounts))])
        made.totals += 1
    return made


class Writer:
    """Writes cents as people of one country do."""

    def __init__(self, thousands: str, point: str, around: str, *, brackets: bool) -> None:
        self.thousands, self.point, self.around, self.brackets = thousands, point, around, brackets

    def __call__(self, cents: int) -> str:
        whole = f"{abs(cents) // 100:,}".replace(",", self.thousands)
        plain = self.around.format(f"{whole}{self.point}{abs(cents) % 100:02}")
        return plain if cents >= 0 else f"({plain})" if self.brackets else f"-{plain}"


WRITERS = (
    Writer(",", ".", "${}", brackets=False),
    Writer(",", ".", "${}", brackets=True),
    Writer(".", ",", "{} €", brackets=False),
    Writer(" ", ",", "{} zł", brackets=False),
    Writer("'", ".", "CHF {}", brackets=False),
    Writer("", ".", "{}", brackets=False),
)


def _text(lines: Sequence[Sequence[str]]) -> str:
    return "\n".join("\t".join(line) for line in lines) + "\n"


@pytest.mark.parametrize("first", range(0, len(SEEDS), 100))
def test_a_total_is_never_counted_and_no_true_row_is_dropped(first: int) -> None:
    for seed in SEEDS[first : first + 100]:
        rng = random.Random(seed)
        file = make_table_file(rng, rng.choice(WRITERS))
        sheet = read(_text(file.lines))
        true = [line for line in file.lines[1:] if line[1]]
        assert len(true) == len(file.amounts)
        assert sheet.rows == true, f"seed {seed}"
        assert bool(sheet.notes) == bool(file.totals), f"seed {seed}"


def test_a_workbook_with_a_title_merged_headers_and_totals() -> None:
    rows: list[list[Cell]] = [
        ["Sales 2026"],
        [],
        ["Region", "Q1", None, "Q2", None],
        [None, "Rev", "Cost", "Rev", "Cost"],
        ["North", 100.5, 20, 110.25, 30],
        ["South", 200.25, 40, 210.5, 50],
        ["Total", 300.75, 60, 320.75, 80],
        ["Figures are preliminary and may change."],
    ]
    (sheet,) = read_workbook_sheets(workbook_bytes({"S": rows}))
    assert sheet.names == ["Region", "Q1 / Rev", "Q1 / Cost", "Q2 / Rev", "Q2 / Cost"]
    assert [row[0] for row in sheet.rows] == ["North", "South"]
    assert sheet.notes == [
        "1 total row set apart, not counted: line 7 ('Total')",
        "1 note below the table not counted: Figures are preliminary and may change.",
    ]
    assert not sheet.faults
