"""Classifies messages by rules without a model: thanks, a question, a message that addresses somebody. Pure.

The word lists are of several languages. A message with words that are in no list is left undecided, so that a model
classifies it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable


def _make_word_set(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"[^\s]+", text))


THANKS = _make_word_set(
    """
    thanks thank thx ty tysm thankyou cheers ta danke dankeschön merci gracias grazie obrigado obrigada bedankt dank
    dankjewel tack tak takk kiitos dziękuję dzięki děkuji díky ευχαριστώ спасибо дякую teşekkürler teşekkür sağol شكرا
    תודה धन्यवाद 谢谢 謝謝 谢谢你 多谢 感谢 ありがとう ありがとうございます 감사합니다 고마워요 고마워
    """
)
"""Words of thanks."""
PRAISE = _make_word_set(
    """
    great perfect nice good awesome excellent brilliant lovely cool wonderful amazing super toll prima klasse perfekt
    gut wunderbar spitze parfait génial bien excellent perfecto genial excelente perfetto ottimo benissimo perfeito
    ótimo geweldig top goed bra toppen flott
    """
)
"""Words of praise. A message of nothing else counts as thanks."""
FILLERS = _make_word_set(
    """
    you u so very much a lot many all everyone again for the this that your help it is looks look works work well done
    job one ok okay yes yeah that's and really just what i needed dir ihnen euch sehr viel vielen tausend schön dafür
    das ist ja für die hilfe sieht aus und beaucoup c'est mille pour ton votre aide très à toi vous tous muchas muy mil
    por tu su ayuda todo está molte per il tuo aiuto è molto va muito pela sua ajuda hartelijk je wel voor de hulp så
    mycket leadhand
    """
)
"""Words that may stand beside words of thanks or praise in a message that asks for nothing."""
QUESTION_WORDS = _make_word_set(
    """
    and what why how which when where can could would is are was were does do did should might so but or und
    was warum wieso wie welche welcher welches welchen wann wo kann kannst könntest könnten würdest ist sind hat haben
    gibt et que quoi pourquoi comment quel quelle quels quelles quand où peux pouvez pourrais pourriez est sont combien
    y qué por cómo cuál cuáles cuándo dónde cuánto cuántos puedes podrías pueden es son e che cosa perché come quale
    quali quando dove quanto puoi potresti può sono o como qual quais quanto pode poderia en wat waarom hoe welke
    wanneer waar kun kan kunt zou
    """
)
"""First words of a question that addresses nobody by name."""
GROUP_WORDS = _make_word_set(
    """
    who whose anyone anybody everyone everybody someone somebody all folks team guys y'all people we us jemand alle ihr
    euch leute wir uns wer wem wen quelqu'un qui tous tout monde équipe vous nous on alguien quién todos todas equipo
    nosotros vosotros qualcuno chi tutti ragazzi squadra noi voi alguém quem pessoal time nós vocês iemand wie iedereen
    jullie wij mensen
    """
)
"""Words that address or concern several people, so that the bot may not be meant."""
_GLAD_EMOJI_CODES = _make_word_set(
    "+1 thumbsup pray tada heart raised_hands clap ok_hand 100 star fire smile slightly_smiling_face"
)
_GLAD_EMOJI = frozenset("👍🙏🎉❤💙💚🙌👏👌💯⭐🔥😀😃😄😊🙂")
_EMOJI_CODE = re.compile(r":([a-z0-9_+'-]+)(?:::[a-z0-9-]+)?:")
_WORD = re.compile(r"[^\W_]+(?:['\u2019-][^\W_]+)*")
_QUESTION_MARKS = ("?", "\uff1f", "\u061f", "\u037e", "\u055e", "\u1367")
_NAME_AT_START = re.compile(
    r"^\s*@?(?P<name>[^\W\d_][\w.'\u2019-]*(?:\s+[^\W\d_][\w.'\u2019-]*)?)\s*[,:\u060c\u3001\uff0c\u2013\u2014]"
)
_NAME_AT_END = re.compile(r"[,\u060c\u3001\uff0c]\s*[^\W\d_][\w.'\u2019-]*(?:\s+[^\W\d_][\w.'\u2019-]*)?\s*\W*$")
_UNSPACED_LETTER = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
"""A letter of a script without spaces between words."""
MAX_STATEMENT_WORDS = 2
"""The most words of a short statement, which counts as an answer if a question is open."""
MAX_QUESTION_WORDS = 25
"""The most words of a question that the rules may classify."""


def split_words(text: str) -> list[str]:
    """Return the words of a text in order, in lower case and without emoji codes."""
    plain = unicodedata.normalize("NFKC", _EMOJI_CODE.sub(" ", text)).casefold().replace("\u2019", "'")
    return _WORD.findall(plain)


def is_thanks(text: str) -> bool:
    """Return True if a text consists of thanks or praise alone, in words of several languages or in emoji."""
    words = split_words(text)
    if not words:
        codes = set(_EMOJI_CODE.findall(text))
        signs = {sign for sign in text if not sign.isspace()} - {"\ufe0f", "\u200d"}
        return (bool(codes) and codes <= _GLAD_EMOJI_CODES) or (bool(signs) and not codes and signs <= _GLAD_EMOJI)
    if is_question(text) or len(words) > 12:
        return False
    thankful = [word for word in words if word in THANKS or word in PRAISE]
    return bool(thankful) and all(word in THANKS or word in PRAISE or word in FILLERS for word in words)


def is_question(text: str) -> bool:
    """Return True if a text ends with a question mark of any script."""
    return _EMOJI_CODE.sub("", text).rstrip(" \t\n)\"'”»!").endswith(_QUESTION_MARKS)


def is_plain_question(text: str) -> bool:
    """Return True for a question of at most `MAX_QUESTION_WORDS` words with a question word first, and no addressee."""
    words = split_words(text)
    if not is_question(text) or not words or len(words) > MAX_QUESTION_WORDS or words[0] not in QUESTION_WORDS:
        return False
    return not GROUP_WORDS & set(words) and not may_address_somebody(text)


def may_address_somebody(text: str) -> bool:
    """Return True if a text may call somebody by name: it begins or ends with one or two words set off by a comma."""
    return _NAME_AT_START.match(text) is not None or _NAME_AT_END.search(text) is not None


def is_addressed_to(text: str, names: Iterable[str]) -> bool:
    """Return True if a text addresses one of these people by first or full name.

    The name must stand at the beginning, or after a comma at the end.
    """
    normalized_text = " ".join(split_words(text))
    for name in names:
        whole = " ".join(split_words(name))
        for form in {whole, whole.partition(" ")[0]} - {""}:
            rest = normalized_text.removeprefix(form)
            at_start = rest != normalized_text and (
                not rest or rest[0] == " " or _UNSPACED_LETTER.match(rest) is not None
            )
            if at_start or _ends_with_name(text, form):
                return True
    return False


def _ends_with_name(text: str, name: str) -> bool:
    head, comma, tail = text.rpartition(",")
    return bool(comma) and bool(head.strip()) and " ".join(split_words(tail)) == name


def chooses_option(text: str, options: Iterable[str]) -> bool:
    """Return True if a text contains one of the options, or is the number of one, from 1."""
    padded_text = f" {' '.join(split_words(text))} "
    forms = [" ".join(split_words(option)) for option in options]
    if padded_text.strip().isdecimal() and 1 <= int(padded_text) <= len(forms):
        return True
    return any(form and f" {form} " in padded_text for form in forms)


def is_short_statement(text: str) -> bool:
    """Return True if a text has at most `MAX_STATEMENT_WORDS` words and is no question."""
    return not is_question(text) and len(split_words(text)) <= MAX_STATEMENT_WORDS and len(text) <= 40


def split_crew_name(text: str, crew_names: Iterable[str]) -> tuple[str, str]:
    """Return the name of the crew that a text begins with, as in “review: ...”, and the text after the colon.

    If the text begins with no crew's name or nothing follows, return an empty name and the whole text.
    """
    head, colon, rest = text.partition(":")
    folded_head = head.strip().casefold()
    name = next((one for one in crew_names if one.casefold() == folded_head), "") if colon and rest.strip() else ""
    return (name, rest.strip()) if name else ("", text)
