"""Requests that point at something without naming it, in ten languages, and those that do not."""

from __future__ import annotations

import pytest

from handoff.conversation.pointing import MOST_WORDS, Pointer, find_pointer

POINTS: list[tuple[str, Pointer]] = [
    ("Summarise this", "view"),
    ("What's this about?", "view"),
    ("What was decided here?", "view"),
    ("Turn this into a doc", "view"),
    ("Sum this up, please", "view"),
    ("Summarise this thread in three bullets. Name who decided what, and when.", "thread"),
    ("List the decisions and open questions in this channel", "channel"),
    ("What does this canvas say about churn?", "canvas"),
    ("review: summarise this conversation", "view"),
    ("Fasse das zusammen", "view"),
    ("Kannst du das kurz zusammenfassen?", "view"),
    ("Was wurde hier beschlossen?", "view"),
    ("Wer muss in diesem Thread noch antworten?", "thread"),
    ("Fasse diesen Kanal zusammen", "channel"),
    ("Résume ça", "view"),
    ("Qu\u2019est-ce qui a été décidé ici ?", "view"),
    ("Résume ce fil", "thread"),
    ("Resúmeme esto en español", "view"),
    ("¿Qué se decidió aquí?", "view"),
    ("¿Qué queda pendiente en este canal?", "channel"),
    ("Riassumi questo", "view"),
    ("Cosa è stato deciso qui?", "view"),
    ("Riassumi questo messaggio", "thread"),
    ("Resuma isto", "view"),
    ("Resuma este documento", "canvas"),
    ("O que foi decidido aqui?", "view"),
    ("Vat dit samen", "view"),
    ("Wat is hier besloten?", "view"),
    ("Vat dit kanaal samen", "channel"),
    ("Podsumuj to", "view"),
    ("Podsumuj ten wątek", "thread"),
    ("Co tutaj ustalono?", "view"),
    ("これを要約して", "view"),
    ("このスレッドを要約して", "thread"),
    ("このチャンネルの未解決の質問は?", "channel"),
    ("总结一下这个", "view"),
    ("这里决定了什么?", "view"),
    ("总结这条消息", "thread"),
]
POINTS_AT_NOTHING = [
    "What can you do?",
    "How does this work?",
    "What happened this week?",
    "Is this a good idea: build a shed",
    "Summarise this: we sold ten chairs",
    "Summarise this. We sold ten chairs to Nordwind and two to Acme.",
    "Summarise this\nWe sold ten chairs.",
    'Translate this "hello world"',
    "Summarise #sales here",
    "Summarise this https://example.com/a",
    "Summarise this report.pdf",
    "Here is my text",
    "I am new here, what can you do?",
    "Write an answer here",
    "Who should I talk to?",
    "Wie geht das?",
    "Fasse das Dokument von Ben zusammen",
    "Hier ist mein Text",
    "Il l'a dit.",
    "Résume ce qui s'est passé hier",
    "Qu'est-ce que tu sais faire ?",
    "C'est qui ?",
    "Quoi de neuf cette semaine ?",
    "Esta semana vendimos mucho, ¿qué hacemos?",
    "Questa settimana cosa facciamo?",
    "Quem é este?",
    "Wat doe je deze week?",
    "Co to jest API?",
    "これを翻訳して\uff1aこんにちは",
    "这个月的计划是什么?",
    f"Summarise this {'and that ' * MOST_WORDS}",
    "",
]


@pytest.mark.parametrize(("text", "pointer"), POINTS)
def test_a_request_that_points(text: str, pointer: Pointer) -> None:
    assert find_pointer(text) == pointer
    assert find_pointer(text.upper()) == pointer


@pytest.mark.parametrize("text", POINTS_AT_NOTHING)
def test_a_request_that_names_its_matter_or_needs_none(text: str) -> None:
    assert find_pointer(text) == ""
