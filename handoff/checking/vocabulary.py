"""English words as `claims` reads them: words that say nothing, words that tell measures apart, and opposites."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _opposites(concept: str, plus: str, minus: str) -> dict[str, tuple[str, int]]:
    return dict.fromkeys(plus.split(), (concept, 1)) | dict.fromkeys(minus.split(), (concept, -1))


STOP = _words("""
    a an the this that these those it its they their them there here he she his her we our you your i is are was
    were be been being am do does did done has have had having will shall of in on at to for from by with within
    and or as than then so also about into over under out per via both all each any some such own same very just
    only still already now currently overall total totally about around roughly approximately nearly almost exactly
    least most more less fewer up down
""")
LIGHT = _words("""
    amount amounted reach reached hit stood stand come came go went get got become became remain remained stay
    stayed see saw seen find found show shown showed report reported state stated say said note noted measure
    measured record recorded count counted equal equals give given make made run ran sit total totalled totaled
    figure number value level result rate according data analysis file table source page site website document
    worth clearly indeed however therefore thus overall actually year end fact cause caused mean means
""")
"""Words that many statements carry and that say nothing of their subject."""
PREPOSITIONS = _words("""
    in for of among on at within per by from with during excluding including before after between under over
""")
DIRECTIONS = {
    **_opposites(
        "level",
        """rise rose risen rises rising increase increased increases grow grew grown grows growth gain gained climbed
        higher""",
        """fall fell fallen falls falling decrease decreased decreases drop dropped drops decline declined declines
        shrank shrunk lower reduced""",
    ),
    **_opposites("better", "improved improves better", "worsened worsens worse"),
    **_opposites(
        "able",
        """supports support supported available allow allows allowed permit permits permitted possible enabled
        compatible include includes included offer offers offered""",
        """lack lacks lacking unsupported unavailable forbids forbidden prohibited impossible disabled incompatible
        excludes excluded""",
    ),
    **_opposites("safe", "safe secure", "unsafe insecure vulnerable"),
    **_opposites("true", "true correct valid", "false incorrect invalid wrong"),
    **_opposites("must", "required mandatory compulsory", "optional"),
    **_opposites("passed", "passed passes succeeded succeeds", "failed fails"),
    **_opposites("open", "open", "closed"),
    **_opposites("profit", "profitable", "unprofitable"),
    **_opposites("legal", "legal lawful", "illegal unlawful"),
}
"""The concept that a word raises, affirms or allows, and with which sign."""


def stem(word: str) -> str:
    """Return a lower-case word without its English ending."""
    if any(sign.isdigit() for sign in word):
        return word
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    for ending in ("ing", "ed", "es", "s", "e"):
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            bare = word[: -len(ending)]
            doubled = ending in {"ing", "ed"} and bare[-1:] == bare[-2:-1] and bare[-1] not in "ls"
            return bare[:-1] if doubled else bare
    return word


def _synonyms(groups: dict[str, str]) -> dict[str, str]:
    return {stem(word): stem(concept) for concept, words in groups.items() for word in words.split()}


_SAME = _synonyms(
    {
        "customer": "client subscriber",
        "revenue": "sale turnover",
        "employee": "staff headcount worker employ",
        "cost": "fee price charge",
        "company": "firm business",
        "bug": "error defect fault",
        "churn": "attrition",
        "response": "respond reply",
        "share": "percentage proportion",
    }
)
_QUALIFIERS = frozenset(
    stem(word)
    for word in _words("""
        average mean median maximum minimum max min peak gross net monthly annual yearly quarterly weekly daily hourly
        first second third last next previous prior new old existing other another rest remaining before after early
        late initial final planned expected forecast target projected budgeted actual estimated adjusted free paid
        former current only except excluding including without besides
    """)
)

GENERIC = frozenset(
    stem(word)
    for word in _words("""
        summary overview conclusion answer result finding key main detail detailed method background introduction note
        recommendation next step question evidence source appendix number figure fact insight takeaway short brief
        metric measure item field name topic
    """)
)
"""Words of headings and columns that say nothing of what stands below them."""

REMEMBERED = 8_192
"""The number of words that are cached; an instance keeps reading new ones."""


@lru_cache(maxsize=REMEMBERED)
def subject_word(raw: str) -> str | None:
    """Return the word in the form in which subjects are compared; None if it says nothing about the subject."""
    word = unicodedata.normalize("NFKD", raw).encode("ascii", "ignore").decode().lower() or raw.lower()
    word = re.sub(r"['\u2019]s$|['\u2019]$", "", word)
    if word in STOP or word in LIGHT or word in DIRECTIONS:
        return None
    stemmed = stem(word)
    return _SAME.get(stemmed, stemmed)


@lru_cache(maxsize=REMEMBERED)
def is_qualifier(word: str) -> bool:
    """Return True if a stemmed word tells two measures of one subject apart, such as average and median, or a code."""
    return word in _QUALIFIERS or any(sign.isdigit() or sign.isupper() for sign in word)
