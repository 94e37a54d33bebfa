"""Finds the rows of a table that are totals of other rows, and the notes below it, so that neither is counted.

A total is found by arithmetic, in any language: its numbers are the sums of the rows since an earlier total, or of
all rows. Sums can agree by chance, so a row without a word such as "total" must also have empty cells where all other
rows have none.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from specialists.tools.tables import column_types
from specialists.tools.tables.row_sums import NumberColumn, RowSums, make_number_column

Row = list[str]

_MAX_SAMPLED_CELLS = 200
_MAX_SUM_STARTS = 60
_FEW_ROWS, _MAX_BLANK_SHARE = 10, 0.5
"""Rows with the same empty cells may be totals if they are at most `_FEW_ROWS`, or this share of all rows."""
_MIN_SUM_DIGITS, _MIN_DIGITS_WITH_BLANKS = 3, 2
_TOTAL_WORDS = (
    "total totals subtotal subtotals sum sums grand overall altogether summe zwischensumme teilsumme gesamt "
    "gesamtsumme insgesamt gesamtergebnis endsumme somme totaux ensemble totale totali subtotale totaal subtotaal "
    "suma razem ogółem "
    "összesen celkem summa totalt yhteensä итого всего 合計 合计 总计 小計 小计 총계 toplam"
)
_AVERAGE_WORDS = (
    "average avg mean durchschnitt mittelwert schnitt moyenne promedio media média gemiddelde medel średnia"
)
_LABEL_WORDS = {**dict.fromkeys(_TOTAL_WORDS.split(), "total"), **dict.fromkeys(_AVERAGE_WORDS.split(), "average")}
_LETTERS = re.compile(r"[^\W\d_]+")
_NOTE_TEXT = re.compile(r"[*†‡¹²³#(\[].*|.*\w: .*|(\S+\s+){4,}\S+|.*\b(https?://|www\.)\S+.*|©.*", re.DOTALL)


@dataclass(slots=True)
class UncountedRows:
    """The rows that are not counted, by index, with `notes` on them, and `faults` of uncertain rows, as in `Sheet`."""

    rows: set[int] = field(default_factory=set)
    notes: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)


def find_total_rows(rows: Sequence[Row], lines: Sequence[int], width: int) -> UncountedRows:
    """Return the totals of a table, and the notes below it. `lines` are the line numbers of the rows."""
    uncounted_rows = UncountedRows()
    end = _set_aside_notes_below(rows, lines, width, uncounted_rows)
    if end > 1:
        _TotalSearch(rows[:end], lines, width, uncounted_rows).find_totals()
    return uncounted_rows


def _set_aside_notes_below(rows: Sequence[Row], lines: Sequence[int], width: int, uncounted_rows: UncountedRows) -> int:
    """Add the notes below the table to `uncounted_rows`, and return the number of rows above them."""
    end = len(rows)
    texts: list[str] = []
    while end > 2 and width > 1:
        filled_cells = [(at, cell.strip()) for at, cell in enumerate(rows[end - 1]) if cell.strip()]
        if len(filled_cells) != 1 or not _LETTERS.search(filled_cells[0][1]) or find_label_kind(filled_cells[0][1]):
            break
        at, text = filled_cells[0]
        column_cells = [row[at] for row in rows[: end : max(1, end // _MAX_SAMPLED_CELLS)][:-1] if row[at].strip()]
        is_number_column = bool(column_cells) and sum(
            cell.strip()[-1:].isdigit() for cell in column_cells
        ) >= 0.8 * len(column_cells)
        if not (is_number_column or lines[end - 1] - lines[end - 2] > 1 or _NOTE_TEXT.fullmatch(text)):
            if width > 2:
                fault = f"the last row has one cell only ('{text[:40]}'): it may be a note, and is counted as data"
                uncounted_rows.faults.append(fault)
            break
        end -= 1
        texts.insert(0, text)
    if texts:
        uncounted_rows.rows.update(range(end, len(rows)))
        uncounted_rows.notes.append(
            f"{_format_count(len(texts), 'note')} below the table not counted: {' / '.join(texts)[:160]}"
        )
    return end


def find_label_kind(text: str) -> str:
    """Return what the words of a cell call its row: `total`, `average` or ""."""
    words = _LETTERS.findall(text.casefold()) if len(text) <= 60 else []
    kinds = [_LABEL_WORDS[word] for word in words if word in _LABEL_WORDS]
    return kinds[0] if kinds and len(words) <= 5 else ""


def is_total_label(text: str) -> bool:
    """Return whether a cell holds only words for a total or an average."""
    words = _LETTERS.findall(text.casefold()) if len(text) <= 40 else []
    return bool(words) and all(word in _LABEL_WORDS for word in words)


class _TotalSearch:
    """The search for totals in one table."""

    def __init__(self, rows: Sequence[Row], lines: Sequence[int], width: int, uncounted_rows: UncountedRows) -> None:
        self._rows, self._lines, self._uncounted_rows = rows, lines, uncounted_rows
        self._width = width
        samples = [_sample_cells(rows, at) for at in range(width)]
        commas = column_types.has_decimal_commas(samples)
        self._number_columns: list[NumberColumn] = []
        self._text_columns: list[int] = []
        self._date_columns: list[int] = []
        for at, sample in enumerate(samples):
            kinds = column_types.list_candidate_kinds(sample, decimal_commas=commas) if sample else []
            if kinds and kinds[0].name in column_types.NUMERIC_KIND_NAMES:
                self._number_columns.append(make_number_column(at, sample, kinds[0].name))
            else:
                (self._date_columns if kinds else self._text_columns).append(at)
        self._sums = RowSums(rows)
        self._uncertain_notes: list[str] = []
        self._rows_by_blanks: dict[frozenset[int], list[int]] = {}
        for index, row in enumerate(rows):
            if "" in row:
                self._rows_by_blanks.setdefault(_find_blank_columns(row), []).append(index)
        self._empty_columns = {at for at in range(width) if all(not row[at] for row in rows)}

    def find_totals(self) -> None:
        """Add the totals, with notes and faults, to the result."""
        candidates = self._list_candidates()
        totals: dict[int, str] = {}
        starts = [0]
        for index in candidates:
            if kind := self._judge_row(index, starts, totals):
                totals[index] = kind
                self._sums.exclude_row(index)
                starts = [*starts[-_MAX_SUM_STARTS:], index + 1]
        if 0 not in totals and (kind := self._check_first_row(totals)):
            totals[0] = kind
        self._uncounted_rows.rows.update(totals)
        for kind in ("total", "average"):
            row_indexes = sorted(index for index, each in totals.items() if each == kind)
            if row_indexes:
                line_list = ", ".join(
                    f"line {self._lines[index]}{self._quote_first_cell(index)}" for index in row_indexes[:5]
                )
                more = " ..." if len(row_indexes) > 5 else ""
                self._uncounted_rows.notes.insert(
                    0, f"{_format_count(len(row_indexes), kind + ' row')} set apart, not counted: {line_list}{more}"
                )
        self._uncounted_rows.faults += self._uncertain_notes

    # ------------------------------------------------------------ candidates

    def _list_candidates(self) -> list[int]:
        """List the rows that may be totals: with a word for a total, with cells empty that others fill, or the last."""
        rows = self._rows
        candidates = {
            index
            for row_indexes in self._rows_by_blanks.values()
            if len(row_indexes) <= max(_FEW_ROWS, _MAX_BLANK_SHARE * len(rows))
            for index in row_indexes
        }
        for at in self._text_columns[:2]:
            labels = {text for text in {row[at] for row in rows} if find_label_kind(text)}
            if labels:
                candidates.update(index for index, row in enumerate(rows) if row[at] in labels)
        for at in [*self._date_columns, *(column.index for column in self._number_columns)][:2]:
            candidates.update(
                index
                for index, row in enumerate(rows)
                if row[at] and not row[at][-1].isdigit() and not any(map(str.isdigit, row[at]))
            )
        return sorted(candidates | {len(rows) - 1})

    # ------------------------------------------------------------ judging candidates

    def _judge_row(self, index: int, starts: Sequence[int], totals: Mapping[int, str]) -> str:
        """Return what a row is: `total`, `average`, or "" for one that is counted. Uncertain rows become faults."""
        label, is_last = _find_row_label(self._rows[index]), index == len(self._rows) - 1
        filled_columns = [
            column for column in self._number_columns if column.parse(self._rows[index][column.index]) is not None
        ]
        sums = [
            (start, self._count_sum_digits(index, start, filled_columns))
            for start in reversed(starts)
            if start < index and filled_columns
        ]
        if not (label or is_last or any(digits is not None for _, digits in sums)):
            return ""
        missing_columns = self._count_missing_columns(index, totals)
        if not filled_columns or index == 0:
            return "total" if label == "total" and missing_columns and not filled_columns and index else ""
        for start, digits in sums:
            if digits is None:
                continue
            row_count = self._sums.count_rows(start, index)
            if label == "total" and (row_count > 1 or missing_columns or is_total_label(self._find_first_cell(index))):
                return "total"
            min_digits = (
                _MIN_DIGITS_WITH_BLANKS
                if missing_columns > 1 or self._is_like_total(index, totals)
                else _MIN_SUM_DIGITS
            )
            if missing_columns and row_count > 1 and digits >= min_digits:
                return "total"
            if (
                is_last
                and row_count > 2
                and digits >= (_MIN_DIGITS_WITH_BLANKS if missing_columns else _MIN_SUM_DIGITS + 1)
            ):
                self._note_uncertain_row(index, "is the sum of rows above it", "if it is a total, leave it out of sums")
                return ""
        if (
            missing_columns
            and index > 1
            and (is_last or label == "average")
            and self._is_mean(index, filled_columns, totals, label)
        ):
            return "average"
        return self._judge_label(index, label, last=is_last, lacking=missing_columns) if label else ""

    def _judge_label(self, index: int, label: str, *, last: bool, lacking: int) -> str:
        """Judge a row whose words and numbers disagree. Return `label` if it is not counted, otherwise ""."""
        claim = f"is called {'an average' if label == 'average' else 'a total'}"
        if not is_total_label(self._find_first_cell(index)):
            return ""
        if not (last and lacking):
            self._note_uncertain_row(index, claim, "leave it out of sums if it is one")
            return ""
        self._uncertain_notes.append(
            f"line {self._lines[index]}{self._quote_first_cell(index)} {claim} and does not agree with the rows above "
            "it: it is not counted; check which is right"
        )
        return label

    def _count_missing_columns(self, index: int, totals: Container[int]) -> int:
        """Count the columns in which the row lacks what the others have: a filled cell, or a date or number in it."""
        row = self._rows[index]
        blank_columns = _find_blank_columns(row)
        count = sum(self._is_blank_only_here(at, blank_columns, totals) for at in blank_columns)
        for at in (*self._date_columns, *(column.index for column in self._number_columns)):
            cell = row[at].strip()
            count += bool(cell) and not any(map(str.isdigit, cell)) and cell.lower() not in column_types.EMPTY_WORDS
        return count

    def _is_like_total(self, index: int, totals: Iterable[int]) -> bool:
        """Return whether one of the totals has the same empty cells as a row."""
        blank_columns = _find_blank_columns(self._rows[index])
        return bool(blank_columns) and any(_find_blank_columns(self._rows[at]) == blank_columns for at in totals)

    def _is_blank_only_here(self, at: int, blank_columns: frozenset[int], totals: Container[int]) -> bool:
        """Return True if the column `at` is empty in this row and filled in the others.

        Totals do not count, nor do rows whose set of empty columns contains `blank_columns` or is contained in it.
        """
        return at not in self._empty_columns and not any(
            at in blanks
            and not (blanks <= blank_columns or blank_columns <= blanks)
            and any(other not in totals for other in others)
            for blanks, others in self._rows_by_blanks.items()
        )

    def _count_sum_digits(self, index: int, start: int, filled_columns: Sequence[NumberColumn]) -> int | None:
        """Count the digits by which a row agrees with the sum of the rows from `start` on; None if it is not their sum.

        A number that is no sum may be a rate or a mean: it has to lie between the lowest and the highest of its column.
        """
        digits, agreeing_columns, deviating_values = 0, 0, []
        for column in filled_columns:
            value = column.parse(self._rows[index][column.index]) or 0.0
            if self._sums.sample_exceeds(column, start, index, value):
                deviating_values.append((column, value))
                continue
            whole, rows = self._sums.sum_span(column, start, index)
            if _is_sum(column, value, whole, rows):
                agreeing_columns += bool(value) and rows > 0
                digits += _count_significant_digits(value, column.decimals)
            else:
                deviating_values.append((column, value))
        if not agreeing_columns or not all(
            column.is_share or self._sums.lies_within(column, value, start, index) for column, value in deviating_values
        ):
            return None
        return digits

    def _is_mean(self, index: int, filled_columns: Sequence[NumberColumn], totals: Container[int], label: str) -> bool:
        """Return whether all numbers of a row are means of the rows above, with too many digits to be chance."""
        digits = 0
        for column in filled_columns:
            text = self._rows[index][column.index]
            value = column.parse(text) or 0.0
            values = [column.parse(self._rows[at][column.index]) for at in range(index) if at not in totals]
            numbers = [each for each in values if each is not None]
            if len(numbers) < 2 or abs(value - sum(numbers) / len(numbers)) > 0.51 * 10.0 ** -_count_decimals(text):
                return False
            digits += _count_significant_digits(value, _count_decimals(text))
        return label == "average" or digits >= _MIN_SUM_DIGITS + 1

    def _check_first_row(self, totals: Container[int]) -> str:
        """Return `total` if the first row is the sum of all below, and has a total's label or empty cells; else ""."""
        row, end = self._rows[0], len(self._rows)
        label, lacking = _find_row_label(row), self._count_missing_columns(0, totals)
        if end < 3 or not (label or lacking):
            return ""
        digits, agree = 0, 0
        for column in self._number_columns:
            value = column.parse(row[column.index])
            if value is None or column.is_share:
                continue
            if self._sums.sample_exceeds(column, 1, end, value):
                return ""
            whole, rows = self._sums.sum_span(column, 1, end)
            if not _is_sum(column, value, whole, rows):
                return ""
            agree += bool(value)
            digits += _count_significant_digits(value, column.decimals)
        return "total" if agree and (label == "total" or (lacking and digits >= _MIN_SUM_DIGITS)) else ""

    # ------------------------------------------------------------ words

    def _note_uncertain_row(self, index: int, what: str, remedy: str) -> None:
        self._uncertain_notes.append(
            f"line {self._lines[index]}{self._quote_first_cell(index)} {what} and is counted as data: {remedy}"
        )

    def _find_first_cell(self, index: int) -> str:
        return next((cell.strip() for cell in self._rows[index] if cell.strip()), "")

    def _quote_first_cell(self, index: int) -> str:
        text = self._find_first_cell(index)
        return f" ('{text[:40]}')" if _LETTERS.search(text) else ""


def _find_row_label(row: Row) -> str:
    return next((kind for cell in row if cell and (kind := find_label_kind(cell))), "")


def _find_blank_columns(row: Row) -> frozenset[int]:
    return frozenset(at for at, cell in enumerate(row) if not cell.strip())


def _is_sum(column: NumberColumn, value: float, total: float, rows: int) -> bool:
    """Return whether a number is a sum, except for rounding of the sum and of its parts."""
    rounding = min(0.5 * 10.0**-column.decimals * (rows + 1), 0.005 * abs(total))
    return abs(value - total) <= max(rounding, 1e-9 * max(abs(total), 1.0))


def _sample_cells(rows: Sequence[Row], at: int) -> list[str]:
    step = max(1, len(rows) // _MAX_SAMPLED_CELLS)
    cells = (row[at].strip() for row in rows[::step])
    return [cell for cell in cells if cell and cell.lower() not in column_types.EMPTY_WORDS][:_MAX_SAMPLED_CELLS]


def _count_significant_digits(value: float, decimals: int) -> int:
    """Count the significant digits of a sum, without zeros at its end, since all its parts may end in zeros."""
    return len(f"{abs(value):.{decimals}f}".replace(".", "").strip("0"))


def _count_decimals(text: str) -> int:
    match = re.search(r"[.,](\d+)\D*$", text.strip())
    return len(match[1]) if match and len(match[1]) != 3 else 0


def _format_count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")
