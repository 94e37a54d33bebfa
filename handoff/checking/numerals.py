"""Parses the numbers of a text in the formats of any language: 1,234.5, 1.234,5, 1 234,5, 1'234, 12,34,567, 三百万.

Dates, times, links, versions, identifiers, labels and list numbers are no numbers: `blank_dates`, `blank_labels` and
`blank_code` remove them.
"""

from __future__ import annotations

import functools
import re
from typing import NamedTuple

MAX_SMALL_COUNT = 12
"""The greatest bare count that does not count as a figure: it may count words, steps or rows of the text itself."""
YEARS = range(1800, 2200)
"""The bare numbers that count as years."""
_MONTH = (
    r"(?:jan(?:uary|uar|vier|vier|uari|eiro)?|feb(?:ruary|ruar|brero|braio|ruari)?|f[ée]v(?:rier|ereiro)?|"
    r"m[aä]r(?:ch|z|s|zo|ço)?|maart|apr(?:il|ile)?|avr(?:il)?|abr(?:il)?|may|mai|mayo|mei|maggio|maio|jun[ei]?|juin|"
    r"junio|junho|giugno|jul[yi]?|juillet|julio|julho|luglio|aug(?:ust|ustus)?|août|agosto|sep(?:t|tember|tembre)?|"
    r"settembre|setembro|septiembre|o[ck]t(?:ober|obre)?|octubre|ottobre|outubro|nov(?:ember|embre|iembre|embro)?|"
    r"de[cz](?:ember|embro)?|déc(?:embre)?|diciembre|dicembre|enero|gennaio)\b"
)


@functools.cache
def _compile_dates() -> re.Pattern[str]:
    return re.compile(
        r"\d(?<![\d.]\d)(?:\d{3}-\d\d(?:-\d\d)?(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?Z?)?(?![\d-])"
        r"|\d?([./-])\d\d?\1(?:\d{4}|\d\d)(?!\d|,\d)|\d{3}([./])\d\d?\2\d\d?(?!\d)"
        r"|(?<=[mnsbr] \d)\d?\.(?:0?[1-9]|1[0-2])\.(?=\s|$)"
        r"|(?:(?<=1)9|(?<=2)0)\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])(?!\.?\d)"
        r"|\d?:\d\d(?::\d\d(?:\.\d+)?)?(?!\d)|\d?h\d\d\b|\d? ?(?:[ap]\.?m\b|Uhr\b)"
        rf"|\d?(?:\.|st|nd|rd|th|er|º)?(?: of| de)? {_MONTH}"
        r"|\d{0,3}(?:年度?|년)(?!間)|\d?(?:月|월)(?: ?\d\d?(?:日|일))?"
        r"|\d{3} ?[/\u2013-] ?\d\d(?:\d\d)?(?![\d%]))",
        re.IGNORECASE,
    )


_LINK = re.compile(r"https?://[^\s|)\]]+|[\w.+-]{1,64}@[\w.-]{1,64}\.\w+")
_CODE = re.compile(r"```(?!(?:csv|tsv|json|text|markdown|md)?\s)[\s\S]*?(?:```|\Z)|`[^`\n]+`")
_CURRENCY = r"EUR|USD|GBP|CHF|INR|Rs\.?|SAR|JPY|CNY|RMB|BRL|AUD|CAD|SEK|NOK|DKK|PLN|CZK|HUF|TRY|KRW|MXN|ZAR"
_LETTER = r"A-Za-z\u00c0-\u024f\u0370-\u052f_"
_LABEL_WORDS = (
    r"§+|#|sections?|sec\.|abschnitt|kapitel|chapters?|clauses?|articles?|art\.|artikel|ziffer|figures?|fig\.|tables?|"
    r"tabelle|abb\.|pages?|pp?\.|seiten?|página|steps?|schritt|étape|paso|lines?|zeilen?|versions?|python|numbers?|no\.?|"
    r"nr\.?|nummer|n[°º]|número|numéro|numero|numero|id|pep|rfc|iso|din|issue|ticket|room|raum|gate|day|tag|jour|día|"
    r"weeks?|woche|phase|level|option|item|part|teil|appendix|invoice|rechnung|facture|factura|order|bestellung|"
    r"commande|pedido|sku|slide|folie|question|frage|chap\.|番号"
)


@functools.cache
def _compile_labels() -> re.Pattern[str]:
    return re.compile(
        rf"(?:(?<![{_LETTER}\d])(?!(?:{_CURRENCY}|x)\d)[{_LETTER}][{_LETTER}\d]*[-_./#]?\d[{_LETTER}\d]*(?:[-_./]\d+)*"
        rf"|(?<![{_LETTER}])(?:{_LABEL_WORDS})(?: (?:is|was|will be|are|ist|war|est|es))?:? ?#?"
        r"\d+(?:\.\d+)*(?!\d| ?%|[.,]\d)"
        rf"|(?<![{_LETTER}]){_MONTH}\.? \d\d?(?:st|nd|rd|th)?(?![\d.,]\d|\d)"
        r"|\[\^?\d{1,3}\]|(?<!\d)\d+(?:st|nd|rd|th|er|ème|º|ª)\b|(?<!\d)\d+-[A-Z]\w*"
        r"|(?<![\d.])\d+\.(?:\d{1,2}\.\d+|\d+\.\d{1,2})(?![\d,])"
        r"|\+\d[\d\s()/.-]{6,}\d|\b[A-Z]{2} ?\d{2,3}(?: \d{3,4}){2,})"
        r"|(?<!\d)(?<!\d[.,])\d+ (?:words|characters|sentences|paragraphs|wörter|worte|zeichen|mots|palabras|parole)\b"
        r"|^[ \t]*(?:[-*>#]+[ \t]*)*(?:[^\W\d]+ \d+:|(?:\*\*)?\(?\d{1,3}(?:\.\d{1,2})*[.)](?=\s|\*\*))"
        r"|^#+[ \t]*\d+(?:\.\d+)*(?=\s)",
        re.IGNORECASE | re.MULTILINE,
    )


_NUMBER = re.compile(
    r"\d(?<![A-Za-wyz\u00c0-\u024f\u0370-\u052f_\d]\d)(?<!\d[.,']\d)"
    r"(?:(?:\d{0,2}(?:,\d\d)*(?:,\d{3})+(?:\.\d+)?|\d{0,2}(?:\.\d{3})+(?:,\d+)?|\d{0,2}(?:'\d{3})+(?:[.,]\d+)?"
    r"|\d{0,2}(?:[\xa0 ]\d{3})+(?:[.,]\d+)?)(?![\d']|[.,]\d)|\d*(?:[.,]\d+)?)(?:[eE][+-]?\d\d?\b)?"
)
_CERTAIN_DECIMAL_MARK = re.compile(
    r"\d(?:([.,])(?=(?:\d\d?|\d{4,})(?![\d.,]{0,30}\d))|(?<![\d.,]0)(?<=0)([.,])(?=\d{3}(?!\d))|(?<=,\d{3})(\.)(?=\d))"
)
"""Matches a certain decimal mark, such as one that is not followed by three digits, or follows a single zero."""
_SCALES = {
    1e3: r"thousand|tausend|tsd\.?|mila|mille|mil|tys\.?|тыс\.?|千|k(?![\w])|k(?=[€$£])",
    1e5: r"lakhs?|lacs?",
    1e6: r"millions?|millionen|mio\.?|mln\.?|mn|millones|millón|milh(?:ões|ão)|milion[ei]|miljoen|млн\.?|百万|백만|"
    r"(?-i:M)(?![\w])|(?-i:M)(?=[€$£])|(?-i:m)(?=€)|mi(?![\w])",
    1e7: r"crores?|cr(?![\w])|千万",
    1e9: r"billions?(?!en)|bn|milliard(?:en?|s)?|mrd\.?|mds?(?=[ €])|mil millones|bilh(?:ões|ão)|bi(?![\w])|"
    r"miliard[oi]|mld\.?|miljard|млрд\.?|十亿|(?-i:B)(?![\w])",
    1e12: r"trillions?|tn|billionen|billones|trilh(?:ões|ão)|兆|万亿|조",
    1e4: r"万|萬|만",
    1e8: r"億|亿|억",
}
_SCALE_ORDER = (1e9, 1e12, 1e6, 1e7, 1e5, 1e3, 1e4, 1e8)
_SCALE_PATTERNS = {f"s{place}": (scale, _SCALES[scale]) for place, scale in enumerate(_SCALE_ORDER)}
_AMBIGUOUS_SCALES = {"mil", "mille"}
"""Words that mean "thousand" in one language, and something else, such as a mile, in another."""
_UNITS: dict[str, tuple[str, float, str]] = {
    "pp": (r"(?:percentage[ -])?points?\b|prozentpunkten?|points? de pourcentage|puntos? porcentuales|pp\b", 1.0, "%"),
    "bp": (r"basis points?|basispunkten?|points? de base|bps?\b", 0.01, "%"),
    "pc": (r"%|percent|per ?cent\b|prozent|pour ?cent|por ?ciento|por ?cento|per cento|pct\b|프로", 1.0, "%"),
    "ct": (r"cents?\b", 0.01, ""),
    "ms": (r"ms\b|milliseconds?", 1e-3, "time"),
    "sec": (r"s\b|secs?\b|seconds?|sekunden?|secondes?|segundos?", 1.0, "time"),
    "min": (r"mins?\b|minutes?|minuten?|minutos?", 60.0, "time"),
    "h": (r"h\b|hrs?\b|hours?|stunden?|heures?|horas?", 3600.0, "time"),
    "d": (r"days?\b|tagen?\b|tage\b|jours?|días", 86400.0, "time"),
    "mm": (r"mm\b", 1e-3, "length"),
    "cm": (r"cm\b", 1e-2, "length"),
    "km": (r"km\b(?![²³])|kilomet(?:er|re)s?", 1e3, "length"),
    "m": (r"(?-i:m)\b(?![²³])|met(?:er|re)s?\b", 1.0, "length"),
    "kg": (r"kg\b|kilograms?", 1.0, "mass"),
    "g": (r"(?-i:g)\b|grams?\b", 1e-3, "mass"),
    "t": (r"(?-i:t)\b|tonn?e?s?\b|tonnen", 1e3, "mass"),
}


@functools.cache
def _compile_scales_and_units() -> re.Pattern[str]:
    return re.compile(
        r"(?:[\s\xa0-]{0,2}(?:"
        + "|".join(f"(?P<{name}>{pattern})" for name, (_, pattern) in _SCALE_PATTERNS.items())
        + rf")(?![{_LETTER}]))?(?:[\s\xa0-]?(?:"
        + "|".join(f"(?P<{name}>{pattern})" for name, (pattern, _, _) in _UNITS.items())
        + "))?",
        re.IGNORECASE,
    )


_CURRENCY_BEFORE = re.compile(rf"(?:[€$£¥₹₩]|R\$|\b(?:{_CURRENCY}))[\s\xa0]?[-+]?$")
_CURRENCY_AFTER = re.compile(
    r"[\s\xa0]?(?:[kM]?[€$£¥₹₩]|円|元|원|(?:euros?|dollars?|francs?|pounds|EUR|USD|CHF|GBP)\b)"
)
_LONG_PERIODS = re.compile(r"(?:week|month|quarter|year)s?", re.IGNORECASE)
_CHINESE_NUMBER = re.compile(r"[一二三四五六七八九两\u3007零十百千]+[万萬億亿兆]|[一二三四五六七八九两十百千]{3,}")
_CHINESE_DIGITS = {**{sign: value for value, sign in enumerate("零一二三四五六七八九")}, "\u3007": 0, "两": 2}
_CHINESE_PLACES = {"十": 10, "百": 100, "千": 1000}
_CHINESE_SCALES = {"万": 1e4, "萬": 1e4, "億": 1e8, "亿": 1e8, "兆": 1e12}
_CHARACTERS_AFTER, _CHARACTERS_BEFORE = frozenset(("", *",;|\n)]}")), frozenset(("", *",;|\n([{"))
"""The characters after and before a whole number, as in tables, that show that it has no unit."""
_MAX_NUMBER_LENGTH = 30
"""The most characters of a number; a longer one is ignored."""
_PLAIN_SIGNS = {0x066C: "'", 0x066B: ".", 0x066A: "%", 0xFF05: "%", 0x2212: "-", 0xFF0D: "-", 0x2019: "'", 0xFF0E: "."}
_PLAIN_SIGNS |= dict.fromkeys((0x202F, 0x2009, 0x2007), "\xa0")
_ZEROS = (0x660, 0x6F0, 0x966, 0x9E6, 0xA66, 0xAE6, 0xBE6, 0xC66, 0xCE6, 0xD66, 0xE50, 0xED0, 0xFF10)
_PLAIN_CHARACTERS = _PLAIN_SIGNS | {zero + digit: str(digit) for zero in _ZEROS for digit in range(10)}


class Numeral(NamedTuple):
    """A number in a text, from `start` to `end`."""

    start: int
    end: int
    readings: tuple[tuple[float, float], ...]
    """The possible values, each with the size of its last digit: 1.234 is (1234, 1) or (1.234, 0.001)."""
    kind: str = ""
    """The kind of its unit: `%`, `time` (in seconds), `length` (metres), `mass` (kilograms), `money`; empty: none."""
    sign: str = ""
    """`+`, `-` or empty."""
    factor: float = 1.0
    """The number of base units in its written unit, such as 60 for minutes."""
    integer: int | None = None
    """The value of a bare integer, without separators, scale, per cent or money; None for any other number."""
    is_points: bool = False
    """True for percentage points and basis points."""


def is_unit_or_scale(word: str) -> bool:
    """Return True if a word is a unit or a scale, such as `month`, `kg`, `euros` or `million`."""
    return any(
        unit.fullmatch(word.strip()) for unit in (_compile_scales_and_units(), _CURRENCY_AFTER, _LONG_PERIODS)
    ) and bool(word)


def normalize_digits(text: str) -> str:
    """Replace the digits and signs of all scripts by ASCII characters. All positions stay the same."""
    return text if text.isascii() else text.translate(_PLAIN_CHARACTERS)


def blank_code(text: str) -> str:
    """Replace code and links by spaces."""
    return _CODE.sub(_blank_match, _blank_links(text))


def blank_labels(text: str) -> str:
    """Replace identifiers, labels, ordinals and list numbers by spaces."""
    return _compile_labels().sub(_blank_match, text)


def blank_dates(text: str) -> str:
    """Replace dates, times and links by spaces."""
    return _compile_dates().sub(_blank_match, _blank_links(text))


def _blank_links(text: str) -> str:
    return _LINK.sub(_blank_match, text) if "://" in text or "@" in text else text


def _blank_match(match: re.Match[str]) -> str:
    return " " * len(match[0])


def parse_numerals(text: str) -> list[Numeral]:
    """Return the numbers of a text, those in Chinese characters last.

    The text must have gone through `normalize_digits`, and through `blank_dates` if dates may occur in it.
    """
    numerals: list[Numeral] = []
    marks = _find_decimal_marks(text)
    for match in _NUMBER.finditer(text):
        if match.end() - match.start() > _MAX_NUMBER_LENGTH:
            continue
        numeral = _parse_numeral(text, match, marks)
        last = numerals[-1] if numerals else None
        if last is not None and last.end == numeral.start and text[last.end - 1] in _CHINESE_SCALES:
            numerals[-1] = _join_numerals(last, numeral)  # 8兆1395億
        else:
            numerals.append(numeral)
    if not text.isascii():
        numerals += [
            Numeral(one.start(), one.end(), ((_parse_chinese(one[0]), 1.0),)) for one in _CHINESE_NUMBER.finditer(text)
        ]
    return numerals


def _parse_numeral(text: str, match: re.Match[str], marks: str) -> Numeral:
    number_text, start, end = match[0], match.start(), match.end()
    if (
        number_text.isdigit()
        and text[end : end + 1] in _CHARACTERS_AFTER
        and text[max(0, start - 1) : start] in _CHARACTERS_BEFORE
    ):
        return Numeral(start, end, ((float(number_text), 1.0),), integer=int(number_text))
    scale, factor, kind, points = 1.0, 1.0, "", False
    after = text[end : end + 1]
    if after not in _CHARACTERS_AFTER:
        unit_match = _compile_scales_and_units().match(text, end)
        if unit_match is not None and unit_match.lastgroup:
            groups = {name: value for name, value in unit_match.groupdict().items() if value}
            scale = next((_SCALE_PATTERNS[name][0] for name in groups if name in _SCALE_PATTERNS), 1.0)
            unit = next((name for name in groups if name in _UNITS), "")
            if unit:
                _, factor, kind = _UNITS[unit]
                points = unit in {"pp", "bp"}
            end = unit_match.end()
    before = text[max(0, start - 6) : start]
    if not kind and (_CURRENCY_BEFORE.search(before) or _CURRENCY_AFTER.match(text, end)):
        kind = "money"
    if kind == "length" and _CURRENCY_BEFORE.search(before):
        scale, kind = 1e6, "money"  # $812.6m
    sign = before[-1:] if before[-1:] in {"+", "-"} and not before[-2:-1].isalnum() else ""
    scales = (scale, 1.0) if text[match.end() : end].strip().lower() in _AMBIGUOUS_SCALES else (scale,)
    readings = tuple(
        (value * each * factor, step * each * factor)
        for value, step in _list_readings(number_text, marks)
        for each in scales
    )
    whole = int(number_text) if number_text.isdigit() and scale == 1.0 and kind not in {"%", "money"} else None
    return Numeral(start, end, readings, kind, sign, factor, whole, points)


def _find_decimal_marks(text: str) -> str:
    """Return the decimal marks of a text as a string: `.`, `,`, both, or empty if no number shows one for certain.

    If it is empty, a comma counts as a thousands separator, and a point may be either.
    """
    return "".join(sorted({match[1] or match[2] or match[3] for match in _CERTAIN_DECIMAL_MARK.finditer(text)}))


def _list_readings(number_text: str, marks: str) -> list[tuple[float, float]]:
    """Return the possible values of a written number, each with the size of its last digit."""
    if number_text.isdigit():
        return [(float(number_text), 1.0)]
    if "e" in number_text.lower():
        return (
            [(float(number_text.replace(",", ".")), 1e-9)]
            if number_text.count(",") + number_text.count(".") < 2
            else []
        )
    digits = re.sub(r"[\xa0' ]", "", number_text)
    signs = re.findall(r"[.,]", digits)
    if not signs:
        return [(float(digits), 1.0)]
    last = max(digits.rfind("."), digits.rfind(","))
    decimals = len(digits) - last - 1
    whole, part = re.sub(r"[.,]", "", digits), re.sub(r"[.,]", "", digits[:last]) + "." + digits[last + 1 :]
    as_whole, as_part = (float(whole), 1.0), (float(part), 10.0**-decimals)
    if len(set(signs)) == 2 or decimals != 3 or digits[0] == "0" or (digits != number_text and len(signs) == 1):
        return [as_part]
    if len(signs) > 1:
        return [as_whole]
    if marks == ".,"[signs[0] == ","]:
        return [as_part]
    if marks in {".", ","} or (not marks and signs[0] == ","):
        return [as_whole]
    return [as_whole, as_part]


def _join_numerals(first: Numeral, other: Numeral) -> Numeral:
    (value, _), (more, step) = first.readings[0], other.readings[0]
    return Numeral(first.start, other.end, ((value + more, step),), other.kind or first.kind, first.sign)


def _parse_chinese(number_text: str) -> float:
    """Return the value of a number in Chinese characters."""
    total, section, digit = 0.0, 0.0, 0.0
    for sign in number_text:
        if sign in _CHINESE_DIGITS:
            digit = _CHINESE_DIGITS[sign]
        elif sign in _CHINESE_PLACES:
            section, digit = section + (digit or 1) * _CHINESE_PLACES[sign], 0.0
        else:
            total, section, digit = total + (section + digit) * _CHINESE_SCALES[sign], 0.0, 0.0
    return total + section + digit
