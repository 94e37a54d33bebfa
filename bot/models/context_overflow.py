"""Detects from servers' error messages that a call was too long for the model's context. Pure functions."""

from __future__ import annotations

import re

DEFAULT_FITTING_SHARE = 0.5
"""The share of a call that is assumed to fit if the server names no numbers."""
_FITTING_SHARE_BOUNDS = (0.1, 0.9)
_CODES = re.compile(
    r"context_?(?:length|window|size)|exceed_context|input_too_long|prompt_too_long|request_too_large", re.IGNORECASE
)
_STATUSES = frozenset({400, 413, 422})
_NUMBER = re.compile(r"(?<![A-Za-z0-9_.-])(?:\d{1,3}(?:[,.\u00a0\u202f' ]\d{3})+|\d{3,9})(?!\d)")
_CONTEXT = re.compile(
    r"(?:context|kontext|contexto|contexte|contesto|контекст\w*|\bctx|上下文|コンテキスト|컨텍스트)\W{0,3}(?:\w+\W+){0,2}?"
    r"(?:\w*length|\w*window|\w*size|\w*limit|\w*fenster|\w*länge|\w*lengte|\w*venster|长度|長度|窗口|長|ウィンドウ|길이)|"
    r"(?:longitud|ventana|longueur|fenêtre|lunghezza|finestra|длин\w+|окн\w+)\W+(?:de\W+|del\W+|di\W+)?(?:contex|contes|контекст)|"
    r"max(?:imum)? (?:model|prompt|input|sequence|context) length",
    re.IGNORECASE,
)
_EXCESS_WORDS = re.compile(
    r"exceed|too (?:long|large|big|many)|longer|larger|greater|more than|over the|reduce|shorte[nr]|\bonly\b|maxim|"
    r"at most|however|>|überschreit|übersteig|zu (?:lang|groß)|\bnur\b|dépass|trop long|n'en admet|supera|excede|"
    r"demasiado|超|过长|過長|초과|превыш",
    re.IGNORECASE,
)
_REQUEST_WORDS = re.compile(
    r"\b(?:prompt|inputs?|request(?:ed)?|messages?|conversation|sequence|tokenized|eingabe|anfrage|entrada|solicitud|"
    r"requête|richiesta|ввод\w*|запрос\w*)\b|输入|輸入|入力|請求|请求|プロンプト|입력",
    re.IGNORECASE,
)
_INPUT_TOO_LONG = re.compile(
    r"\b(?:prompt|inputs?|input tokens?|request|messages|conversation|sequence)\b[^.;]{0,60}?"
    r"(?:too long|too many tokens|exceeds?\b|longer than|length (?:should|must) be)|too many (?:input )?tokens|"
    r"\btokens? limit\b[^.;]{0,20}exceed|exceed[^.;]{0,40}?\btokens? limit|\btotal tokens\b[^.;]{0,20}(?:>|exceed)|"
    r"tokens in (?:the |your )?(?:request|prompt|input) (?:are )?more than|"
    r"reduce the length of (?:the|your) (?:messages|prompt|inputs?)",
    re.IGNORECASE,
)
_TOKENS = re.compile(r"tokens?\b|\bjetons\b|トークン|令牌|词元|토큰|токен", re.IGNORECASE)
_OTHER_LIMIT_WORDS = re.compile(
    r"per (?:minute|min|day|hour|second)|\btp[md]\b|rate.?limit|quota|credit|afford|billing|upgrade|your plan|"
    r"\b(?:pixels?|bytes|[kmg]b|megabytes|characters|chars)\b|\bfiles?\b|string too long|array too long|"
    r"in the queue|cache_control|blocks\b|top_logprobs|not found",
    re.IGNORECASE,
)
"""Words for limits of other things than the context: rates, quotas, bytes, pixels."""
_MAX_TOKENS = r"max_(?:completion_|output_|new_)?tokens"
_OUTPUT_LIMIT = re.compile(rf"{_MAX_TOKENS}|(?:completion|output)\W+(?:tokens|limit)|budget_tokens", re.IGNORECASE)
_NO_ROOM_LEFT = re.compile(rf"{_MAX_TOKENS}\b[^.;]{{0,60}}?(?<!\w)-\d", re.IGNORECASE)
"""A negative token limit in an error: the server subtracted the prompt from its context, and no tokens are left."""
_INPUT_WORDS = re.compile(r"\binputs?\b(?! should)|\bprompt\b|\bmessages\b", re.IGNORECASE)
_LIMIT_WORDS = re.compile(
    r"(?:maxim\w*|max|limit\w*|only|at most|window|length|fasst nur|\bn_ctx|<=|>)\D{0,40}?$", re.IGNORECASE
)
"""The words right before a number that is the limit."""


def is_context_overflow(status: int, code: str, message: str) -> bool:
    """Return True if an error says that a call is longer than the model's context.

    `status` is the HTTP status, or for an error inside a reply the status that fits `code`. The message of an overflow
    has words for an input or a context, and words for "too much" or two different numbers.
    """
    if status == 413 or (status != 429 and _CODES.search(code)):
        return True
    mentions_input_limit = re.search(r"exceed", message, re.IGNORECASE) or _INPUT_TOO_LONG.search(message)
    if status not in _STATUSES and not (status >= 500 and _CONTEXT.search(message) and mentions_input_limit):
        return False
    if _OTHER_LIMIT_WORDS.search(message):
        return False
    numbers = len(set(find_large_numbers(message)))
    if _CONTEXT.search(message) and (_EXCESS_WORDS.search(message) or numbers > 1):
        return True
    if _NO_ROOM_LEFT.search(message):
        return True
    if _OUTPUT_LIMIT.search(message) and not _INPUT_WORDS.search(message):
        return False
    if _INPUT_TOO_LONG.search(message):
        return True
    return bool(_TOKENS.search(message) and _REQUEST_WORDS.search(message) and numbers > 1)


def find_large_numbers(text: str) -> list[int]:
    """Return the numbers of three digits and more in a text, with any separator of thousands."""
    return [int(re.sub(r"\D", "", match[0])) for match in _NUMBER.finditer(text)]


def estimate_fitting_share(message: str) -> float:
    """Estimate from an error message the share of a call that fits, 0.1 to 0.9; 0.5 without two different numbers."""
    numbers = [
        (int(re.sub(r"\D", "", one[0])), bool(_LIMIT_WORDS.search(message[: one.start()])))
        for one in _NUMBER.finditer(message)
    ]
    if len({number for number, _ in numbers}) < 2:
        return DEFAULT_FITTING_SHARE
    requested_tokens = max(number for number, _ in numbers)
    below = [one for one in numbers if one[0] < requested_tokens]
    limit = max(number for number, is_limit in below if is_limit or not any(each for _, each in below))
    min_share, max_share = _FITTING_SHARE_BOUNDS
    return min(max(limit / requested_tokens, min_share), max_share)
