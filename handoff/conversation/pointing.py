"""Finds what a request points at without naming it: “summarise this”, “what was decided here?”. Pure.

It looks for words of ten languages, and for nothing else. A request that contains or names its object (a link, a
#channel, a file, a text after a colon) points at nothing. A word that means something else in another of the ten
languages counts only beside words of its own language.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import Literal

Pointer = Literal["", "view", "thread", "channel", "canvas"]
"""The object that a request points at: nothing, whatever view is open in Slack, or an open view of one kind."""

MOST_WORDS = 30
"""The most words of a request that may point at something; a longer one names its object itself."""
MOST_AFTER = 5
"""The most words after a clause that ends with a lone “this”; if there are more, they say what “this” is."""


def _split_words(text: str) -> frozenset[str]:
    return frozenset(text.split())


@dataclass(frozen=True, slots=True)
class PointingWords:
    """The pointing words of one language.

    - `this`: words before a noun, as in “this thread”.
    - `thread`, `channel`, `canvas`: nouns for one kind of view; `talk`: nouns for any conversation.
    - `alone`: words for the object without a noun. They count at the end of a clause, or before a word of `after`.
    - `held`: the same for words with other meanings. They count only before a word of `after`.
    - `here`: words for the place. They count anywhere but at the beginning, and not beside a word of `unless`.
    """

    this: frozenset[str]
    thread: frozenset[str]
    channel: frozenset[str]
    canvas: frozenset[str]
    talk: frozenset[str]
    after: frozenset[str]
    here: frozenset[str]
    alone: frozenset[str] = frozenset()
    held: frozenset[str] = frozenset()
    unless: frozenset[str] = frozenset()


_FRENCH = "que qui quoi est été s'est ce c'est le la les du des je tu nous on a au avec qu'est-ce passé depuis"
"""Words that show that “hier” (yesterday) or “qui” (who) is French, and not German or Italian for “here”."""
SPACED: tuple[PointingWords, ...] = (
    PointingWords(  # English
        this=_split_words("this these"),
        thread=_split_words("thread message post reply"),
        channel=_split_words("channel"),
        canvas=_split_words("canvas doc document page notes"),
        talk=_split_words("conversation discussion chat exchange messages replies posts"),
        alone=_split_words("this these"),
        after=_split_words(
            "for in into as like to and please with about all by on up down over briefly quickly shortly"
        ),
        here=_split_words("here"),
        unless=_split_words("new work am do post put paste send reply write answer tell"),
    ),
    PointingWords(  # German
        this=_split_words("dieser diese dieses diesen diesem"),
        thread=_split_words("thread threads nachricht beitrag"),
        channel=_split_words("channel channels kanal kanals"),
        canvas=_split_words("canvas dokument seite notizen"),
        talk=_split_words("unterhaltung gespräch gesprächs diskussion chat chats verlauf austausch nachrichten"),
        alone=_split_words("dies dieses"),
        held=_split_words("das dies"),
        after=_split_words(
            "zusammen zusammenfassen hier für in ins als auf bitte mal kurz und mit nach übersetzen erklären erläutern"
        ),
        here=_split_words("hier"),
        unless=_split_words(f"neu arbeite bin schreib schreibe poste antworte antworten sende {_FRENCH}"),
    ),
    PointingWords(  # French
        this=_split_words("ce cet cette ces"),
        thread=_split_words("fil message thread"),
        channel=_split_words("canal salon channel"),
        canvas=_split_words("canevas canvas document page"),
        talk=_split_words("discussion conversation échange chat messages"),
        alone=_split_words("ça ceci cela"),
        after=_split_words("en pour à au avec et sur par parle stp svp brièvement"),
        here=_split_words("ici"),
        unless=_split_words("nouveau nouvelle travaille écris poste réponds envoie"),
    ),
    PointingWords(  # Spanish
        this=_split_words("este esta estos"),
        thread=_split_words("hilo mensaje"),
        channel=_split_words("canal"),
        canvas=_split_words("canvas lienzo documento página"),
        talk=_split_words("conversación discusión charla chat mensajes"),
        alone=_split_words("esto eso"),
        after=_split_words("en para a al con por y como brevemente"),
        here=_split_words("aquí acá"),
        unless=_split_words("nuevo nueva trabajo escribe publica responde envía"),
    ),
    PointingWords(  # Italian
        this=_split_words("questo questa questi"),
        thread=_split_words("thread messaggio filo"),
        channel=_split_words("canale"),
        canvas=_split_words("canvas documento pagina"),
        talk=_split_words("conversazione discussione chat messaggi"),
        alone=_split_words("questo ciò"),
        after=_split_words("in per a al con e come brevemente"),
        here=_split_words("qui qua"),
        unless=_split_words(f"nuovo nuova lavoro scrivi pubblica rispondi invia {_FRENCH}")
        - _split_words("qui la le a"),
    ),
    PointingWords(  # Portuguese
        this=_split_words("este esta esse essa estas essas"),
        thread=_split_words("thread fio tópico mensagem"),
        channel=_split_words("canal"),
        canvas=_split_words("canvas documento página"),
        talk=_split_words("conversa discussão chat mensagens"),
        alone=_split_words("isto isso"),
        after=_split_words("em para a ao com por e como brevemente"),
        here=_split_words("aqui"),
        unless=_split_words("novo nova trabalho escreve escreva publica responde responda envia"),
    ),
    PointingWords(  # Dutch
        this=_split_words("dit deze"),
        thread=_split_words("thread draad draadje bericht"),
        channel=_split_words("kanaal channel"),
        canvas=_split_words("canvas document pagina"),
        talk=_split_words("gesprek discussie chat berichten"),
        held=_split_words("dit"),
        after=_split_words("samen samenvatten over in naar als uit voor kort vertalen uitleggen"),
        here=_split_words("hier"),
        unless=_split_words(f"nieuw werk schrijf plaats antwoord stuur {_FRENCH}"),
    ),
    PointingWords(  # Polish
        this=_split_words("ten tę ta tej tego tym te tych"),
        thread=_split_words("wątek wątku wiadomość"),
        channel=_split_words("kanał kanału kanale"),
        canvas=_split_words("dokument dokumentu dokumencie kanwę canvas"),
        talk=_split_words("rozmowę rozmowa rozmowy rozmowie dyskusję dyskusja dyskusji czat czatu wiadomości"),
        held=_split_words("podsumuj_to streść_to wyjaśnij_to przetłumacz_to"),
        after=_split_words("po na dla w krótko proszę"),
        here=_split_words("tutaj"),
        unless=_split_words("nowy nowa pracuję napisz odpowiedz wyślij"),
    ),
)
UNSPACED: tuple[tuple[Pointer, re.Pattern[str]], ...] = (
    (
        "thread",
        re.compile("このスレッド|このメッセージ|この投稿|这个消息列|这个帖子|这条消息|此消息|這則訊息|這個討論串"),
    ),
    ("channel", re.compile("このチャンネル|这个频道|此频道|本频道|這個頻道")),
    (
        "canvas",
        re.compile("このキャンバス|このドキュメント|この文書|このページ|这个画布|这个文档|这份文档|此文档|这个页面"),
    ),
    (
        "view",
        re.compile(
            "これを|これは何|これについて|この会話|この議論|このやり取り|ここで|ここの|ここまで|"
            "这个对话|这段对话|这个讨论|这些消息|这里|這裡|这是什么|"
            "(?:这个|這個|这些|这)(?=$|[。?!,])"
        ),
    ),
)
"""The pointing words of Japanese and Chinese, which are written without spaces."""
_NAMES = re.compile(r"://|\bwww\.|(?<!\w)#\w|\b[\w-]+\.(?:[a-z]{2,4}|[a-z]+\d)\b", re.IGNORECASE)
"""A web address, a channel, or the name of a file."""
_WORD = re.compile(r"[^\W_]+(?:['-][^\W_]+)*")
_CLAUSE_END = re.compile(r"\s*(?:[.?!,;)]|$)")
_TEXT_FOLLOWS = re.compile(r"[:\uff1a]\s*\S")


def find_pointer(text: str) -> Pointer:
    """Return the kind of object that a request points at without naming it; empty if it points at nothing."""
    said = unicodedata.normalize("NFKC", text.strip()).replace("\u2019", "'").casefold()
    if "\n" in said or "```" in said or _NAMES.search(said):
        return ""
    for pointer, pattern in UNSPACED:
        if (found := pattern.search(said)) is not None:
            return "" if _TEXT_FOLLOWS.search(said, found.end()) else pointer
    words = list(_WORD.finditer(said))
    if len(words) > MOST_WORDS:
        return ""
    return next((pointer for one in SPACED if (pointer := _classify_pointer(said, words, one))), "")


def _classify_pointer(said: str, found: list[re.Match[str]], of: PointingWords) -> Pointer:
    words = [one[0] for one in found]
    nouns: tuple[tuple[Pointer, frozenset[str]], ...]
    nouns = (("thread", of.thread), ("channel", of.channel), ("canvas", of.canvas), ("view", of.talk))
    for place, word in enumerate(words):
        following = words[place + 1] if place + 1 < len(words) else ""
        if _TEXT_FOLLOWS.search(said, found[place].end()):
            continue
        if word in of.this and not _ends_clause(said, found[place]):
            for pointer, named in nouns:
                if following in named:
                    return pointer
        if _stands_alone(said, found, place, of):
            return "view"
        if place and word in of.here and not of.unless.intersection(words):
            return "view"
    return ""


def _stands_alone(said: str, found: list[re.Match[str]], place: int, of: PointingWords) -> bool:
    """Return True if the word at index `place` stands for the object by itself: no noun belongs to it.

    A word of `held` counts at the end of a clause only as a pair with the word before it, as in `podsumuj_to`.
    """
    word, more = found[place][0], len(found) - place - 1
    pair = f"{found[place - 1][0]}_{word}" if place else ""
    if not {word, pair} & (of.alone | of.held):
        return False
    if _ends_clause(said, found[place]):
        return more <= MOST_AFTER and (word in of.alone or pair in of.held)
    return more > 0 and found[place + 1][0] in of.after


def _ends_clause(said: str, word: re.Match[str]) -> bool:
    """Return True if a clause of the text ends after the word."""
    return _CLAUSE_END.match(said, word.end()) is not None
