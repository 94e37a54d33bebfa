"""Finds the object that a request points at without naming it: “summarise this”, “what was decided here?”. Pure.

It knows pointing words of ten languages. A request that contains or names its object (a link, a #channel, a file, a
text after a colon) points at nothing. A word that is ambiguous between languages counts only if the words beside it fit
its own language.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import Literal

ReferenceKind = Literal["", "view", "thread", "channel", "canvas"]
"""The object that a request points at: nothing (empty), the open view of any kind (`view`), or one of one kind."""

MAX_WORDS = 30
"""The most words of a request that may point at something. A longer one is taken to name its object."""
MAX_WORDS_AFTER = 5
"""The most words after a clause that ends with “this” without a noun. More words are taken to describe the object."""


def _make_word_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


@dataclass(frozen=True, slots=True)
class ReferenceWords:
    """The pointing words of one language.

    - `determiners`: words before a noun, as in “this thread”.
    - `thread_nouns`, `channel_nouns`, `canvas_nouns`: nouns for one kind of view; `talk_nouns`: nouns for any
      conversation.
    - `pronouns`: words for the object without a noun. They count at the end of a clause, or before a word of
      `following_words`.
    - `ambiguous_pronouns`: the same for words with other meanings. They count only before a word of `following_words`.
      A pair of words, such as `podsumuj_to`, counts at the end of a clause as well.
    - `place_words`: words for the place. They count anywhere but at the beginning, and not beside a word of
      `excluding_words`.
    """

    determiners: frozenset[str]
    thread_nouns: frozenset[str]
    channel_nouns: frozenset[str]
    canvas_nouns: frozenset[str]
    talk_nouns: frozenset[str]
    following_words: frozenset[str]
    place_words: frozenset[str]
    pronouns: frozenset[str] = frozenset()
    ambiguous_pronouns: frozenset[str] = frozenset()
    excluding_words: frozenset[str] = frozenset()


_FRENCH_WORDS = "que qui quoi est été s'est ce c'est le la les du des je tu nous on a au avec qu'est-ce passé depuis"
"""Words that show that “hier” (yesterday) or “qui” (who) is French, and not German or Italian for “here”."""
SPACED_LANGUAGES: tuple[ReferenceWords, ...] = (
    ReferenceWords(  # English
        determiners=_make_word_set("this these"),
        thread_nouns=_make_word_set("thread message post reply"),
        channel_nouns=_make_word_set("channel"),
        canvas_nouns=_make_word_set("canvas doc document page notes"),
        talk_nouns=_make_word_set("conversation discussion chat exchange messages replies posts"),
        pronouns=_make_word_set("this these"),
        following_words=_make_word_set(
            "for in into as like to and please with about all by on up down over briefly quickly shortly"
        ),
        place_words=_make_word_set("here"),
        excluding_words=_make_word_set("new work am do post put paste send reply write answer tell"),
    ),
    ReferenceWords(  # German
        determiners=_make_word_set("dieser diese dieses diesen diesem"),
        thread_nouns=_make_word_set("thread threads nachricht beitrag"),
        channel_nouns=_make_word_set("channel channels kanal kanals"),
        canvas_nouns=_make_word_set("canvas dokument seite notizen"),
        talk_nouns=_make_word_set(
            "unterhaltung gespräch gesprächs diskussion chat chats verlauf austausch nachrichten"
        ),
        pronouns=_make_word_set("dies dieses"),
        ambiguous_pronouns=_make_word_set("das dies"),
        following_words=_make_word_set(
            "zusammen zusammenfassen hier für in ins als auf bitte mal kurz und mit nach übersetzen erklären erläutern"
        ),
        place_words=_make_word_set("hier"),
        excluding_words=_make_word_set(
            f"neu arbeite bin schreib schreibe poste antworte antworten sende {_FRENCH_WORDS}"
        ),
    ),
    ReferenceWords(  # French
        determiners=_make_word_set("ce cet cette ces"),
        thread_nouns=_make_word_set("fil message thread"),
        channel_nouns=_make_word_set("canal salon channel"),
        canvas_nouns=_make_word_set("canevas canvas document page"),
        talk_nouns=_make_word_set("discussion conversation échange chat messages"),
        pronouns=_make_word_set("ça ceci cela"),
        following_words=_make_word_set("en pour à au avec et sur par parle stp svp brièvement"),
        place_words=_make_word_set("ici"),
        excluding_words=_make_word_set("nouveau nouvelle travaille écris poste réponds envoie"),
    ),
    ReferenceWords(  # Spanish
        determiners=_make_word_set("este esta estos"),
        thread_nouns=_make_word_set("hilo mensaje"),
        channel_nouns=_make_word_set("canal"),
        canvas_nouns=_make_word_set("canvas lienzo documento página"),
        talk_nouns=_make_word_set("conversación discusión charla chat mensajes"),
        pronouns=_make_word_set("esto eso"),
        following_words=_make_word_set("en para a al con por y como brevemente"),
        place_words=_make_word_set("aquí acá"),
        excluding_words=_make_word_set("nuevo nueva trabajo escribe publica responde envía"),
    ),
    ReferenceWords(  # Italian
        determiners=_make_word_set("questo questa questi"),
        thread_nouns=_make_word_set("thread messaggio filo"),
        channel_nouns=_make_word_set("canale"),
        canvas_nouns=_make_word_set("canvas documento pagina"),
        talk_nouns=_make_word_set("conversazione discussione chat messaggi"),
        pronouns=_make_word_set("questo ciò"),
        following_words=_make_word_set("in per a al con e come brevemente"),
        place_words=_make_word_set("qui qua"),
        excluding_words=_make_word_set(f"nuovo nuova lavoro scrivi pubblica rispondi invia {_FRENCH_WORDS}")
        - _make_word_set("qui la le a"),
    ),
    ReferenceWords(  # Portuguese
        determiners=_make_word_set("este esta esse essa estas essas"),
        thread_nouns=_make_word_set("thread fio tópico mensagem"),
        channel_nouns=_make_word_set("canal"),
        canvas_nouns=_make_word_set("canvas documento página"),
        talk_nouns=_make_word_set("conversa discussão chat mensagens"),
        pronouns=_make_word_set("isto isso"),
        following_words=_make_word_set("em para a ao com por e como brevemente"),
        place_words=_make_word_set("aqui"),
        excluding_words=_make_word_set("novo nova trabalho escreve escreva publica responde responda envia"),
    ),
    ReferenceWords(  # Dutch
        determiners=_make_word_set("dit deze"),
        thread_nouns=_make_word_set("thread draad draadje bericht"),
        channel_nouns=_make_word_set("kanaal channel"),
        canvas_nouns=_make_word_set("canvas document pagina"),
        talk_nouns=_make_word_set("gesprek discussie chat berichten"),
        ambiguous_pronouns=_make_word_set("dit"),
        following_words=_make_word_set("samen samenvatten over in naar als uit voor kort vertalen uitleggen"),
        place_words=_make_word_set("hier"),
        excluding_words=_make_word_set(f"nieuw werk schrijf plaats antwoord stuur {_FRENCH_WORDS}"),
    ),
    ReferenceWords(  # Polish
        determiners=_make_word_set("ten tę ta tej tego tym te tych"),
        thread_nouns=_make_word_set("wątek wątku wiadomość"),
        channel_nouns=_make_word_set("kanał kanału kanale"),
        canvas_nouns=_make_word_set("dokument dokumentu dokumencie kanwę canvas"),
        talk_nouns=_make_word_set("rozmowę rozmowa rozmowy rozmowie dyskusję dyskusja dyskusji czat czatu wiadomości"),
        ambiguous_pronouns=_make_word_set("podsumuj_to streść_to wyjaśnij_to przetłumacz_to"),
        following_words=_make_word_set("po na dla w krótko proszę"),
        place_words=_make_word_set("tutaj"),
        excluding_words=_make_word_set("nowy nowa pracuję napisz odpowiedz wyślij"),
    ),
)
UNSPACED_PATTERNS: tuple[tuple[ReferenceKind, re.Pattern[str]], ...] = (
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
_NAMED_OBJECT = re.compile(r"://|\bwww\.|(?<!\w)#\w|\b[\w-]+\.(?:[a-z]{2,4}|[a-z]+\d)\b", re.IGNORECASE)
"""A web address, a channel, or the name of a file."""
_WORD = re.compile(r"[^\W_]+(?:['-][^\W_]+)*")
_CLAUSE_END = re.compile(r"\s*(?:[.?!,;)]|$)")
_TEXT_FOLLOWS = re.compile(r"[:\uff1a]\s*\S")


def find_implicit_reference(text: str) -> ReferenceKind:
    """Return the kind of object that a request points at without naming it; empty if it points at nothing."""
    normalized_text = unicodedata.normalize("NFKC", text.strip()).replace("\u2019", "'").casefold()
    if "\n" in normalized_text or "```" in normalized_text or _NAMED_OBJECT.search(normalized_text):
        return ""
    for pointer, pattern in UNSPACED_PATTERNS:
        if (match := pattern.search(normalized_text)) is not None:
            return "" if _TEXT_FOLLOWS.search(normalized_text, match.end()) else pointer
    words = list(_WORD.finditer(normalized_text))
    if len(words) > MAX_WORDS:
        return ""
    return next(
        (pointer for one in SPACED_LANGUAGES if (pointer := _classify_reference(normalized_text, words, one))), ""
    )


def _classify_reference(text: str, word_matches: list[re.Match[str]], language: ReferenceWords) -> ReferenceKind:
    words = [one[0] for one in word_matches]
    nouns: tuple[tuple[ReferenceKind, frozenset[str]], ...]
    nouns = (
        ("thread", language.thread_nouns),
        ("channel", language.channel_nouns),
        ("canvas", language.canvas_nouns),
        ("view", language.talk_nouns),
    )
    for place, word in enumerate(words):
        following = words[place + 1] if place + 1 < len(words) else ""
        if _TEXT_FOLLOWS.search(text, word_matches[place].end()):
            continue
        if word in language.determiners and not _ends_clause(text, word_matches[place]):
            for pointer, kind_nouns in nouns:
                if following in kind_nouns:
                    return pointer
        if _stands_alone(text, word_matches, place, language):
            return "view"
        if place and word in language.place_words and not language.excluding_words.intersection(words):
            return "view"
    return ""


def _stands_alone(text: str, word_matches: list[re.Match[str]], index: int, language: ReferenceWords) -> bool:
    """Return True if the word at `index` stands for the object by itself, without a noun.

    An ambiguous pronoun counts at the end of a clause only in a pair with the word before it, as in `podsumuj_to`.
    """
    word, more = word_matches[index][0], len(word_matches) - index - 1
    pair = f"{word_matches[index - 1][0]}_{word}" if index else ""
    if not {word, pair} & (language.pronouns | language.ambiguous_pronouns):
        return False
    if _ends_clause(text, word_matches[index]):
        return more <= MAX_WORDS_AFTER and (word in language.pronouns or pair in language.ambiguous_pronouns)
    return more > 0 and word_matches[index + 1][0] in language.following_words


def _ends_clause(text: str, word: re.Match[str]) -> bool:
    """Return True if a clause of the text ends after the word."""
    return _CLAUSE_END.match(text, word.end()) is not None
