"""Guesses the encoding of bytes without a declared one, by how likely each decoding is as text of some language.

Each encoding is tried. A decoding is rated by the logarithm of its probability in the language that suits it best: by
the frequency of its letters there, and by their places in words. Capitals do not follow small letters, letters of two
scripts do not share a word, and signs do not stand between letters.
"""

from __future__ import annotations

import codecs
import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from specialists.formats import letter_orders as orders

_MAX_RATED_BYTES = 3_000
"""The most bytes beyond ASCII that are rated. More would not make the guess more certain."""
_MAX_LINE_BYTES = 2_000
_NON_ASCII = re.compile(rb"[\x80-\xff]")
_FIELD_SEPARATOR = re.compile(rb"[,;\t\n]")
"""The separators of fields. These bytes are never part of a longer character, in any of the encodings."""
_CERTAIN_LEAD = 7.0
"""The least lead of the best decoding over the next, in log-likelihood, with which a guess is certain."""
_UNDECODABLE_SCORE = -14.0
_STRAY_SCORE, _SIGN_SCORE = math.log(0.02 / 120), math.log(0.004 / 120)
_PUNCTUATION_SCORE = math.log(0.03 / 16)
_PUNCTUATION = frozenset("\u2018\u2019\u201a\u201c\u201d\u201e\u2013\u2014\u2026\xab\xbb\xa0\u20ac\xa7\u2116\xb0")
_WORD_INNER_CHARACTERS = frozenset("\u2019\xad\xb7\u02bc")
_RANK_OFFSET = 2.0
_FOREIGN_SHARE = 0.07
"""The share of letters from words of the encoding's other languages, mostly names."""
_MIX_DIVISOR = 8
"""A language's share in a mix is 1 divided by this number, so that German is equally likely in each mix."""
_CAPITAL_SHARE = 0.25


@dataclass(frozen=True, slots=True)
class EncodingGuess:
    """A guessed encoding, and in `other_encoding` another one that is nearly as likely; "" if none is.

    `word` and `other_word` are the first word that the two encodings decode differently.
    """

    encoding: str
    other_encoding: str = ""
    word: str = ""
    other_word: str = ""


@dataclass(frozen=True, slots=True)
class _EncodingCandidate:
    name: str
    languages: tuple[str, ...]
    prior: float = 0.0
    is_multibyte: bool = False


_WESTERN: tuple[str, ...] = ("German", "French", "Spanish", "Portuguese", "Italian", "Catalan", "Swedish", "Finnish")
_WESTERN += ("Danish and Norwegian", "Icelandic", "Dutch")
_CENTRAL_EUROPEAN = ("Polish", "Czech", "Slovak", "Hungarian", "Romanian", "Croatian", "Slovene", "German")
_BALTIC = ("Estonian", "Lithuanian", "Latvian")
_SLAVIC = ("Russian", "Bulgarian", "Ukrainian", "Serbian", "Belarusian")
_ENCODINGS = (
    _EncodingCandidate("cp1252", _WESTERN, 2),
    _EncodingCandidate("cp1250", _CENTRAL_EUROPEAN, -1),
    _EncodingCandidate("cp1251", _SLAVIC, -1),
    _EncodingCandidate("koi8-r", ("Russian", "Bulgarian"), -2),
    _EncodingCandidate("koi8-u", ("Ukrainian",), -3),
    _EncodingCandidate("cp1253", ("Greek",), -1),
    _EncodingCandidate("cp1254", ("Turkish",), -1),
    _EncodingCandidate("cp1255", ("Hebrew",), -1),
    _EncodingCandidate("cp1256", ("Arabic",), -1),
    _EncodingCandidate("cp1257", _BALTIC, -1),
    _EncodingCandidate("cp874", ("Thai",), -3),
    _EncodingCandidate("iso8859-2", _CENTRAL_EUROPEAN, -3),
    _EncodingCandidate("iso8859-5", ("Russian", "Bulgarian"), -4),
    _EncodingCandidate("iso8859-7", ("Greek",), -3),
    _EncodingCandidate("cp866", ("Russian", "Bulgarian"), -3),
    _EncodingCandidate("cp850", _WESTERN, -4),
    _EncodingCandidate("cp852", _CENTRAL_EUROPEAN, -5),
    _EncodingCandidate("mac_roman", _WESTERN, -4),
    _EncodingCandidate("gb18030", ("Simplified Chinese",), -1, is_multibyte=True),
    _EncodingCandidate("cp950", ("Traditional Chinese",), -1, is_multibyte=True),
    _EncodingCandidate("cp932", ("Japanese",), -1, is_multibyte=True),
    _EncodingCandidate("euc_jp", ("Japanese",), -2, is_multibyte=True),
    _EncodingCandidate("cp949", ("Korean",), -1, is_multibyte=True),
)
_EASTERN_LETTERS = {
    "Simplified Chinese": orders.SIMPLIFIED_CHINESE,
    "Traditional Chinese": orders.TRADITIONAL_CHINESE,
    "Japanese": orders.JAPANESE,
    "Korean": orders.KOREAN,
}


def guess_encoding(data: bytes, *, usual_encoding: str = "") -> EncodingGuess:
    """Guess the encoding of bytes that are text, but neither UTF-8 nor all ASCII.

    `usual_encoding` is the encoding that such bytes mostly have; "" if none.
    """
    fields = _FIELD_SEPARATOR.split(b"\n".join(_yield_non_ascii_lines(data)))
    sample = b"\n".join(dict.fromkeys(fields))  # repeated fields are no further evidence
    candidates = (*_ENCODINGS, _EncodingCandidate(usual_encoding, _WESTERN)) if usual_encoding else _ENCODINGS
    readings = [(*_rate_encoding(sample, one), one.name) for one in candidates]
    readings.sort(key=lambda each: -each[0])
    best, text, name = readings[0]
    for likelihood, other_text, other in readings[1:]:
        if likelihood < best - _CERTAIN_LEAD:
            break
        if other_text != text:
            word, other_word = _find_difference(text, other_text)
            return EncodingGuess(name, other, word, other_word)
    return EncodingGuess(name)


def _yield_non_ascii_lines(data: bytes) -> Iterator[bytes]:
    """Yield the lines with bytes beyond ASCII, until they have `_MAX_RATED_BYTES` such bytes."""
    byte_count = at = 0
    while byte_count < _MAX_RATED_BYTES and (match := _NON_ASCII.search(data, at)):
        start = max(data.rfind(b"\n", at, match.start()) + 1, at)
        if match.start() - start > _MAX_LINE_BYTES:
            start = match.start()
        end = data.find(b"\n", match.start(), start + _MAX_LINE_BYTES)
        at = end + 1 if end >= 0 else start + _MAX_LINE_BYTES
        line = data[start:at].rstrip(b"\r\n")
        yield line
        byte_count += len(_NON_ASCII.findall(line))


def _find_difference(text: str, other: str) -> tuple[str, str]:
    """Return the first word that differs between two decodings of the same bytes, as a pair; ("", "") if none does."""
    for line, other_line in zip(text.split("\n"), other.split("\n"), strict=False):
        if line == other_line:
            continue
        ours, theirs = re.split(r"[\s,;|\t]+", line), re.split(r"[\s,;|\t]+", other_line)
        if len(ours) == len(theirs):
            return next((mine[:30], its[:30]) for mine, its in zip(ours, theirs, strict=True) if mine != its)
        return line[:30], other_line[:30]
    return "", ""


def _rate_encoding(sample: bytes, candidate: _EncodingCandidate) -> tuple[float, str]:
    """Return (log-likelihood of the sample in an encoding, its decoded text)."""
    text = codecs.getincrementaldecoder(candidate.name)("replace").decode(sample)
    letters: Counter[str] = Counter()
    log_likelihood = candidate.prior
    for at, letter in enumerate(text):
        if letter > "\x7f":
            letters[letter] += 1
            log_likelihood += _rate_letter_place(text, at, letter, is_eastern=candidate.is_multibyte)
    best = max(
        sum(times * model(letter) for letter, times in letters.items()) for model in _make_models(candidate.languages)
    )
    return log_likelihood + best, text


@cache
def _make_models(languages: tuple[str, ...]) -> tuple[_LetterModel, ...]:
    """Make the models of an encoding: one for each language with some words of the others, and one for all mixed."""
    language_models = [_make_model(language) for language in languages]
    if len(language_models) == 1:
        return tuple(language_models)
    mixed_model = _mix_models(language_models, [1 / _MIX_DIVISOR] * len(language_models))
    return (
        *(_mix_models([one, mixed_model], [1 - _FOREIGN_SHARE, _FOREIGN_SHARE]) for one in language_models),
        mixed_model,
    )


class _LetterModel:
    """A language's model: called with a letter beyond ASCII, it returns the letter's log-likelihood."""

    def __init__(self, shares: dict[str, float], unlisted_score: float) -> None:
        self.shares, self.rest = shares, unlisted_score

    def __call__(self, letter: str) -> float:
        return self.shares.get(letter) or _rate_unlisted_letter(letter, self.rest)


def _mix_models(models: list[_LetterModel], weights: list[float]) -> _LetterModel:
    """Return a model with the sums of the models' probabilities, weighted by `weights`."""
    letters = {letter for model in models for letter in model.shares}
    shares = {
        letter: math.log(
            sum(
                part * math.exp(model.shares.get(letter, _STRAY_SCORE))
                for model, part in zip(models, weights, strict=True)
            )
        )
        for letter in letters
    }
    return _LetterModel(shares, _STRAY_SCORE)


@cache
def _make_model(language: str) -> _LetterModel:
    eastern = _EASTERN_LETTERS.get(language, "")
    letters = eastern or {**orders.LATIN, **orders.CYRILLIC, **orders.OTHER_SCRIPTS}[language]
    # Two in three Eastern letters are frequent ones, so their ranks say less.
    rank, power, whole = (60.0, 1.0, 0.7) if eastern else (_RANK_OFFSET, 1.4, 0.9)
    weights = {letter: (place + rank) ** -power for place, letter in enumerate(letters)}
    for letter, weight in list(weights.items()):
        capital = letter.upper()
        if capital != letter and len(capital) == 1 and capital > "\x7f":
            weights[capital] = max(weights.get(capital, 0.0), _CAPITAL_SHARE * weight)
    total = sum(weights.values())
    shares = {letter: math.log(whole * weight / total) for letter, weight in weights.items()}
    return _LetterModel(shares, math.log(0.25 / 6_000) if eastern else _STRAY_SCORE)


def _rate_unlisted_letter(letter: str, rest: float) -> float:
    """Return the log-likelihood of a letter that a language's model does not list: punctuation, signs, controls."""
    if letter == "\ufffd" or "\x80" <= letter <= "\x9f" or "\ue000" <= letter <= "\uf8ff":
        return _UNDECODABLE_SCORE
    if letter in _PUNCTUATION or "\u3000" <= letter <= "\u3011" or "\uff01" <= letter <= "\uff1f":
        return _PUNCTUATION_SCORE
    if "\uff61" <= letter <= "\uff9f":  # half-width Katakana, one byte each
        return math.log(0.02 / 63)
    if letter.isalpha():
        common = "\u4e00" <= letter <= "\u9fff" or "\uac00" <= letter <= "\ud7a3" or "\u3041" <= letter <= "\u30fe"
        return rest if common or rest is _STRAY_SCORE else rest - 4
    return _SIGN_SCORE


def _rate_letter_place(text: str, index: int, letter: str, *, is_eastern: bool) -> float:
    """Return the log-likelihood of a letter at its place in a word; 0 if nothing speaks against it."""
    before = text[index - 1] if index else " "
    after = text[index + 1] if index + 1 < len(text) else " "
    if not letter.isalpha():
        if letter in _WORD_INNER_CHARACTERS or letter in _PUNCTUATION:
            return -3.0 if before.isalpha() and after.isalpha() and letter not in _WORD_INNER_CHARACTERS else 0.0
        return -3.0 * before.isalpha() - 3.0 * after.isalpha()
    if is_eastern:
        return -1.5 * (_is_ascii_letter(before) + _is_ascii_letter(after))
    log_likelihood = 0.0
    if letter > "\u036f":  # Greek, Cyrillic and later scripts do not mix with plain letters
        log_likelihood -= 4.0 * (_is_ascii_letter(before) + _is_ascii_letter(after))
    elif before > "\x7f" and before.isalpha():
        log_likelihood -= 1.0  # two accents side by side
    if letter.isupper():
        log_likelihood -= 4.0 * (before.isalpha() and before.islower())
    elif letter.islower():
        log_likelihood -= 4.0 * (after.isalpha() and after.isupper())
        log_likelihood -= 2.0 * (before.isalpha() and before.isupper() and index > 1 and text[index - 2].isalpha())
    return log_likelihood


def _is_ascii_letter(letter: str) -> bool:
    return letter.isascii() and letter.isalpha()
