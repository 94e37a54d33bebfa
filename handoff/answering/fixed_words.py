"""The fixed phrases that code puts into answers, in the language of the request, and the guess of that language. Pure.

A request in any other language, or in a language that cannot be guessed from its words, gets English.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Literal

Phrase = Literal[
    "less_sure", "more", "below", "contradict", "refuted", "unanswered", "nobody",
    "cut_off", "apart", "chosen", "without", "passages", "partly", "sources", "unread",
    "denied", "expired", "contact", "grave", "critical", "high", "omitted", "not_from_files", "read", "not_opened",
    "messages", "one_message", "filters", "queries", "done", "nothing_done", "not_done", "reused",
]  # fmt: skip
Language = Literal["en", "de", "fr", "es", "it", "pt", "nl", "pl", "ja", "zh"]

PHRASES: Mapping[Phrase, Mapping[Language, str]] = MappingProxyType(
    {
        "less_sure": {
            "en": "Less sure", "de": "Weniger sicher", "fr": "Moins sûr", "es": "Menos seguro", "it": "Meno certo",
            "pt": "Menos certo", "nl": "Minder zeker", "pl": "Mniej pewne", "ja": "確度が低い点", "zh": "不太确定",
        },
        "more": {
            "en": "and {n} more", "de": "und {n} weitere", "fr": "et {n} autres", "es": "y {n} más",
            "it": "e altri {n}", "pt": "e mais {n}", "nl": "en nog {n}", "pl": "i jeszcze {n}", "ja": "ほか{n}件",
            "zh": "另有{n}项",
        },
        "below": {
            "en": "{n} more that are less certain", "de": "{n} weitere, die weniger sicher sind",
            "fr": "{n} autres moins sûrs", "es": "{n} más, menos seguros", "it": "altri {n} meno certi",
            "pt": "mais {n} menos certos", "nl": "nog {n} die minder zeker zijn", "pl": "jeszcze {n} mniej pewnych",
            "ja": "確度の低いものがほかに{n}件", "zh": "另有{n}项不太确定",
        },
        "not_from_files": {
            "en": "Not from your files: {what}", "de": "Nicht aus euren Dateien: {what}",
            "fr": "Ne vient pas de vos fichiers : {what}", "es": "No sale de vuestros archivos: {what}",
            "it": "Non viene dai vostri file: {what}", "pt": "Não vem dos vossos ficheiros: {what}",
            "nl": "Niet uit jullie bestanden: {what}", "pl": "Nie z waszych plików: {what}",
            "ja": "資料にない内容: {what}", "zh": "并非来自您的文件: {what}",
        },
        "grave": {
            "en": "_Serious findings: {counts}._", "de": "_Schwere Befunde: {counts}._",
            "fr": "_Constats graves : {counts}._", "es": "_Hallazgos graves: {counts}._",
            "it": "_Rilievi gravi: {counts}._", "pt": "_Constatações graves: {counts}._",
            "nl": "_Ernstige bevindingen: {counts}._", "pl": "_Poważne ustalenia: {counts}._",
            "ja": "_重大な指摘: {counts}。_", "zh": "_严重问题: {counts}。_",
        },
        "critical": {
            "en": "{n} critical", "de": "{n} kritisch", "fr": "{n} critique", "es": "{n} crítico", "it": "{n} critico",
            "pt": "{n} crítico", "nl": "{n} kritiek", "pl": "{n} krytyczne", "ja": "致命的{n}件", "zh": "危急{n}项",
        },
        "high": {
            "en": "{n} high", "de": "{n} hoch", "fr": "{n} élevé", "es": "{n} alto", "it": "{n} alto", "pt": "{n} alto",
            "nl": "{n} hoog", "pl": "{n} wysokie", "ja": "高{n}件", "zh": "高{n}项",
        },
        "omitted": {
            "en": "**Also found:**", "de": "**Außerdem gefunden:**", "fr": "**Également constaté :**",
            "es": "**También se encontró:**", "it": "**Rilevato anche:**", "pt": "**Também encontrado:**",
            "nl": "**Ook gevonden:**", "pl": "**Stwierdzono też:**", "ja": "**ほかにわかったこと:**",
            "zh": "**另外发现:**",
        },
        "read": {
            "en": "Read: {what}", "de": "Gelesen: {what}", "fr": "Lu : {what}", "es": "Leído: {what}",
            "it": "Letto: {what}", "pt": "Lido: {what}", "nl": "Gelezen: {what}", "pl": "Przeczytano: {what}",
            "ja": "読んだもの: {what}", "zh": "已读: {what}",
        },
        "messages": {
            "en": "{what} ({n} messages)", "de": "{what} ({n} Nachrichten)", "fr": "{what} ({n} messages)",
            "es": "{what} ({n} mensajes)", "it": "{what} ({n} messaggi)", "pt": "{what} ({n} mensagens)",
            "nl": "{what} ({n} berichten)", "pl": "{what} ({n} wiadomości)", "ja": "{what} (メッセージ{n}件)",
            "zh": "{what} ({n}条消息)",
        },
        "one_message": {
            "en": "{what} ({n} message)", "de": "{what} ({n} Nachricht)", "fr": "{what} ({n} message)",
            "es": "{what} ({n} mensaje)", "it": "{what} ({n} messaggio)", "pt": "{what} ({n} mensagem)",
            "nl": "{what} ({n} bericht)", "pl": "{what} ({n} wiadomość)", "ja": "{what} (メッセージ{n}件)",
            "zh": "{what} ({n}条消息)",
        },
        "not_opened": {
            "en": "Not opened: {what}", "de": "Nicht geöffnet: {what}", "fr": "Non ouvert : {what}",
            "es": "Sin abrir: {what}", "it": "Non aperto: {what}", "pt": "Não aberto: {what}",
            "nl": "Niet geopend: {what}", "pl": "Nie otwarto: {what}", "ja": "開いていないもの: {what}",
            "zh": "未打开: {what}",
        },
        "filters": {
            "en": "Rows counted: {what}", "de": "Gezählte Zeilen: {what}", "fr": "Lignes comptées : {what}",
            "es": "Filas contadas: {what}", "it": "Righe contate: {what}", "pt": "Linhas contadas: {what}",
            "nl": "Getelde rijen: {what}", "pl": "Policzone wiersze: {what}", "ja": "集計した行: {what}",
            "zh": "统计的行: {what}",
        },
        "queries": {
            "en": "Queries: {n}", "de": "Abfragen: {n}", "fr": "Requêtes : {n}", "es": "Consultas: {n}",
            "it": "Query: {n}", "pt": "Consultas: {n}", "nl": "Zoekvragen: {n}", "pl": "Zapytania: {n}",
            "ja": "クエリ: {n}件", "zh": "查询: {n}次",
        },
        "done": {
            "en": "Done: {what}", "de": "Getan: {what}", "fr": "Fait : {what}", "es": "Hecho: {what}",
            "it": "Fatto: {what}", "pt": "Feito: {what}", "nl": "Gedaan: {what}", "pl": "Zrobiono: {what}",
            "ja": "実行したこと: {what}", "zh": "已执行: {what}",
        },
        "nothing_done": {
            "en": "Nothing was sent or changed", "de": "Nichts wurde gesendet oder geändert",
            "fr": "Rien n'a été envoyé ni modifié", "es": "No se envió ni se cambió nada",
            "it": "Nulla è stato inviato o modificato", "pt": "Nada foi enviado nem alterado",
            "nl": "Er is niets verzonden of gewijzigd", "pl": "Niczego nie wysłano ani nie zmieniono",
            "ja": "送信や変更は何も行っていません", "zh": "未发送或更改任何内容",
        },
        "not_done": {
            "en": "Not done: {what}", "de": "Nicht getan: {what}", "fr": "Non fait : {what}", "es": "No hecho: {what}",
            "it": "Non fatto: {what}", "pt": "Não feito: {what}", "nl": "Niet gedaan: {what}",
            "pl": "Nie zrobiono: {what}", "ja": "実行していないこと: {what}", "zh": "未执行: {what}",
        },
        "reused": {
            "en": "{what} (from the try before)", "de": "{what} (aus dem Versuch davor)",
            "fr": "{what} (de l'essai précédent)", "es": "{what} (del intento anterior)",
            "it": "{what} (dal tentativo precedente)", "pt": "{what} (da tentativa anterior)",
            "nl": "{what} (van de vorige poging)", "pl": "{what} (z poprzedniej próby)",
            "ja": "{what} (前回の実行分)", "zh": "{what} (来自上一次尝试)",
        },
        "contradict": {
            "en": "The sources contradict each other", "de": "Die Quellen widersprechen sich",
            "fr": "Les sources se contredisent", "es": "Las fuentes se contradicen",
            "it": "Le fonti si contraddicono", "pt": "As fontes contradizem-se",
            "nl": "De bronnen spreken elkaar tegen", "pl": "Źródła są sprzeczne", "ja": "資料どうしが矛盾しています",
            "zh": "资料相互矛盾",
        },
        "refuted": {
            "en": "What was read says otherwise", "de": "Das Gelesene sagt etwas anderes",
            "fr": "Les documents lus disent autre chose", "es": "Lo leído dice otra cosa",
            "it": "I documenti letti dicono altro", "pt": "O que foi lido diz outra coisa",
            "nl": "Wat gelezen is, zegt iets anders", "pl": "Przeczytane materiały mówią co innego",
            "ja": "資料の内容と食い違っています", "zh": "与所读资料不符",
        },
        "unanswered": {
            "en": "Not answered: “{what}”", "de": "Nicht beantwortet: „{what}“", "fr": "Sans réponse : « {what} »",
            "es": "Sin respuesta: «{what}»", "it": "Senza risposta: «{what}»", "pt": "Sem resposta: «{what}»",
            "nl": "Niet beantwoord: “{what}”", "pl": "Bez odpowiedzi: „{what}”", "ja": "未回答: 「{what}」",
            "zh": "未回答: “{what}”",
        },
        "nobody": {
            "en": "nobody in the crew can {what}", "de": "Das kann niemand im Team: {what}",
            "fr": "personne dans l'équipe ne peut le faire : {what}", "es": "nadie del equipo puede hacerlo: {what}",
            "it": "nessuno nel gruppo può farlo: {what}", "pt": "ninguém na equipa o pode fazer: {what}",
            "nl": "niemand in het team kan dit: {what}", "pl": "nikt w zespole tego nie potrafi: {what}",
            "ja": "対応できる担当者がいません: {what}", "zh": "团队中无人能做: {what}",
        },
        "cut_off": {
            "en": "cut off here: too long, or repeating itself",
            "de": "hier abgeschnitten: zu lang oder in Wiederholungen",
            "fr": "coupé ici : trop long, ou répétitif", "es": "cortado aquí: demasiado largo o repetitivo",
            "it": "tagliato qui: troppo lungo o ripetitivo", "pt": "cortado aqui: longo demais ou repetitivo",
            "nl": "hier afgekapt: te lang of in herhaling", "pl": "ucięte tutaj: za długie albo się powtarza",
            "ja": "ここで打ち切り: 長すぎるか、繰り返しのためです", "zh": "在此截断: 过长或不断重复",
        },
        "apart": {
            "en": "The parts could not be put together; here they are as they came.",
            "de": "Die Teile ließen sich nicht zusammenfügen; hier stehen sie, wie sie kamen.",
            "fr": "Les parties n'ont pas pu être réunies ; les voici telles quelles.",
            "es": "No se pudieron unir las partes; aquí están tal como llegaron.",
            "it": "Non è stato possibile unire le parti; eccole come sono arrivate.",
            "pt": "Não foi possível juntar as partes; aqui estão como chegaram.",
            "nl": "De delen konden niet worden samengevoegd; hier staan ze zoals ze kwamen.",
            "pl": "Nie udało się połączyć części; oto one w takiej postaci, w jakiej przyszły.",
            "ja": "まとめられなかったため、各結果をそのまま示します。", "zh": "无法合并各部分, 以下为原始结果。",
        },
        "chosen": {
            "en": "Chosen: {picked} over {others}: {why}", "de": "Gewählt: {picked} statt {others}: {why}",
            "fr": "Choisi : {picked} plutôt que {others} : {why}", "es": "Elegido: {picked} en vez de {others}: {why}",
            "it": "Scelto: {picked} anziché {others}: {why}", "pt": "Escolhido: {picked} em vez de {others}: {why}",
            "nl": "Gekozen: {picked} boven {others}: {why}", "pl": "Wybrano: {picked} zamiast {others}: {why}",
            "ja": "選択: {picked}(ほか: {others}): {why}", "zh": "选择: {picked}, 而非{others}: {why}",
        },
        "without": {
            "en": "{title}: done without {others}", "de": "{title}: erledigt ohne {others}",
            "fr": "{title} : fait sans {others}", "es": "{title}: hecho sin {others}",
            "it": "{title}: fatto senza {others}",
            "pt": "{title}: feito sem {others}", "nl": "{title}: gedaan zonder {others}",
            "pl": "{title}: zrobione bez {others}", "ja": "{title}: {others}なしで行いました",
            "zh": "{title}: 在缺少{others}的情况下完成",
        },
        "passages": {
            "en": "{n} passages of long results could not be read or kept in full",
            "de": "{n} Stellen langer Ergebnisse konnten nicht ganz gelesen oder behalten werden",
            "fr": "{n} passages de longs résultats n'ont pas pu être lus ou gardés en entier",
            "es": "{n} pasajes de resultados largos no se pudieron leer o conservar por completo",
            "it": "{n} passaggi di risultati lunghi non sono stati letti o conservati per intero",
            "pt": "{n} passagens de resultados longos não puderam ser lidas ou mantidas por inteiro",
            "nl": "{n} passages van lange resultaten konden niet volledig worden gelezen of bewaard",
            "pl": "{n} fragmentów długich wyników nie dało się w całości przeczytać lub zachować",
            "ja": "長い結果のうち{n}箇所は全文を扱えませんでした", "zh": "较长结果中有{n}处未能完整读取或保留",
        },
        "partly": {
            "en": "*Answered in part.* Missing:", "de": "*Zum Teil beantwortet.* Es fehlt:",
            "fr": "*Réponse partielle.* Il manque :", "es": "*Respuesta parcial.* Falta:",
            "it": "*Risposta parziale.* Manca:", "pt": "*Resposta parcial.* Falta:",
            "nl": "*Deels beantwoord.* Ontbreekt:", "pl": "*Odpowiedź częściowa.* Brakuje:",
            "ja": "*一部のみの回答です。* 不足:", "zh": "*部分回答。* 缺少:",
        },
        "unread": {
            "en": "{what} was not read: no part of the plan needed it",
            "de": "{what} wurde nicht gelesen: kein Teil des Plans brauchte es",
            "fr": "{what} n'a pas été lu : aucune partie du plan n'en avait besoin",
            "es": "{what} no se leyó: ninguna parte del plan lo necesitaba",
            "it": "{what} non è stato letto: nessuna parte del piano ne aveva bisogno",
            "pt": "{what} não foi lido: nenhuma parte do plano precisava dele",
            "nl": "{what} is niet gelezen: geen deel van het plan had het nodig",
            "pl": "{what}: nie przeczytano, żadna część planu tego nie potrzebowała",
            "ja": "{what}は読みませんでした: 計画のどの部分にも必要ありませんでした",
            "zh": "{what}未读取: 计划中没有部分需要它",
        },
        "denied": {
            "en": "not done, as a person denied it: {what}",
            "de": "nicht getan, da eine Person es abgelehnt hat: {what}",
            "fr": "non fait, car une personne l'a refusé : {what}",
            "es": "no se hizo, porque una persona lo rechazó: {what}",
            "it": "non fatto, perché una persona lo ha rifiutato: {what}",
            "pt": "não foi feito, porque uma pessoa o recusou: {what}",
            "nl": "niet gedaan, omdat iemand het afwees: {what}",
            "pl": "nie zrobiono, bo ktoś odmówił zgody: {what}",
            "ja": "承認が拒否されたため実行していません: {what}", "zh": "因有人拒绝批准, 未执行: {what}",
        },
        "expired": {
            "en": "not done, as nobody approved it in time: {what}",
            "de": "nicht getan, da es niemand rechtzeitig genehmigt hat: {what}",
            "fr": "non fait, car personne ne l'a approuvé à temps : {what}",
            "es": "no se hizo, porque nadie lo aprobó a tiempo: {what}",
            "it": "non fatto, perché nessuno lo ha approvato in tempo: {what}",
            "pt": "não foi feito, porque ninguém o aprovou a tempo: {what}",
            "nl": "niet gedaan, omdat niemand het op tijd goedkeurde: {what}",
            "pl": "nie zrobiono, bo nikt nie zatwierdził tego na czas: {what}",
            "ja": "期限内に承認されなかったため実行していません: {what}", "zh": "因无人及时批准, 未执行: {what}",
        },
        "contact": {
            "en": "For the rest, turn to {who}.", "de": "Für den Rest hilft {who} weiter.",
            "fr": "Pour le reste, adressez-vous à {who}.", "es": "Para lo demás, acude a {who}.",
            "it": "Per il resto, rivolgiti a {who}.", "pt": "Para o resto, fale com {who}.",
            "nl": "Voor de rest kun je terecht bij {who}.", "pl": "W sprawie reszty zwróć się do {who}.",
            "ja": "残りについては{who}にご相談ください。", "zh": "其余部分请联系{who}。",
        },
        "sources": {
            "en": "Sources:", "de": "Quellen:", "fr": "Sources :", "es": "Fuentes:", "it": "Fonti:", "pt": "Fontes:",
            "nl": "Bronnen:", "pl": "Źródła:", "ja": "出典:", "zh": "来源:",
        },
    }
)  # fmt: skip
"""Each phrase in each language, as a format string: `render_phrase` fills in the parts in braces."""


def _split_words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_LANGUAGE_WORDS: Mapping[Language, frozenset[str]] = MappingProxyType(
    {
        "en": _split_words("""
            the and of what which how is are was were to for in on with from please you we our this
            that who when where why many much does did can show make give tell by it at be
            do as no me an am a in not also or if has have had so they he she its i about into than
            then will would per
        """),
        "de": _split_words("""
            der die das und ist sind war wie was welche welcher wer wann wo warum bitte mit von für
            ein eine einen im am zum zur den dem des nicht wir uns unser auf aus bei wurde wurden
            auch kannst mir viele viel fasse zeige zusammen nach je
        """),
        "fr": _split_words("""
            le la les des du et est sont était quel quelle quels quelles qui quand où pourquoi
            combien avec pour dans une un sur nous notre vous s'il plaît ce cette au aux par mais il
            elle donne moi de en cette résume résumez montre vérifie
        """),
        "es": _split_words("""
            el los las del y es son era qué cuál cuáles quién cuándo dónde cuánto cuántos cuántas
            por con para una un en nuestro nuestra nosotros favor este esta cómo hay se lo al
            muestra dame de
        """),
        "it": _split_words("""
            il lo gli dei delle della del e è sono era quale quali chi quando dove perché quanto
            quanti con per una un nel nella nostro nostra favore questo questa come che mi di al
            alla riassumi
        """),
        "pt": _split_words("""
            o os as dos das do da e é são era qual quais quem quando onde porquê quanto quantos
            quantas com para uma um no na nosso nossa nós favor este esta como não mais em ao foi
            quero de em
        """),
        "nl": _split_words("""
            de het een en is zijn was wat kost welke wie wanneer waar waarom hoeveel met voor van op in ons
            onze wij alsjeblieft dit dat hoe niet ook naar bij werd geef mij maak
        """),
        "pl": _split_words("""
            i jest są był była jaki jaka jakie który która które kto kiedy gdzie dlaczego ile z ze
            dla na w we do nasz nasza proszę to ten ta nie jak oraz się od po mi
        """),
    }
)
"""Short words by which a language is recognised. Japanese and Chinese are recognised by their script."""

_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?")
_KANA = re.compile(r"[\u3040-\u30ff]")
_HAN = re.compile(r"[\u4e00-\u9fff]")
LOW_SCORE = 1
"""A language needs a higher score than this, unless it alone scores or its words are most of the request."""
_LONG_WORD_LETTERS = 5
"""The least number of letters of a word that counts twice if it is of one language only, such as `combien`."""
_MIN_WORD_LETTERS = 3
"""The least number of letters of a lower-case word that suffices if no other language scores, such as `nach`."""
_LANGUAGE_LETTERS: Mapping[Language, str] = MappingProxyType(
    {"de": "äöüß", "es": "ñ", "pt": "ãõ", "pl": "ąćęłńśźż", "fr": "œèêâ"}
)
"""Letters that hardly any other of the languages has. All of them in a request count as one word."""
_MAX_READ_CHARACTERS = 2_000
"""The number of characters at the start of a request that the guess reads."""


def _weigh_language_word(word: str) -> int:
    """Return the weight of a word that hints at a language: 2 for a long word of one language only, otherwise 1."""
    return (
        2
        if len(word) >= _LONG_WORD_LETTERS and sum(word in telling for telling in _LANGUAGE_WORDS.values()) == 1
        else 1
    )


@lru_cache(maxsize=256)
def guess_language(request: str) -> Language:
    """Guess the language of a request from its script and its short words; English if they do not suffice."""
    text = request[:_MAX_READ_CHARACTERS].casefold()
    if _KANA.search(text):
        return "ja"
    if _HAN.search(text):
        return "zh"
    words = _WORD.findall(text)
    others = "".join(word for word in words if not any(word in telling for telling in _LANGUAGE_WORDS.values()))
    scores: dict[Language, int] = {
        one: sum(_weigh_language_word(word) for word in words if word in telling)
        + any(sign in others for sign in _LANGUAGE_LETTERS.get(one, ""))
        for one, telling in _LANGUAGE_WORDS.items()
    }
    best = max(scores, key=lambda one: (scores[one], one == "en"))
    plain = {
        word
        for word in _WORD.findall(request[:_MAX_READ_CHARACTERS])
        if len(word) >= _MIN_WORD_LETTERS and word.islower()
    }
    is_sole = scores[best] == sum(scores.values()) and not plain.isdisjoint(_LANGUAGE_WORDS[best])
    return best if scores[best] > LOW_SCORE or is_sole or scores[best] * 2 > len(words) else "en"


def render_phrase(name: Phrase, request: str, **parts: object) -> str:
    """Return a phrase in the language of the text `request`, with its parts filled in."""
    return PHRASES[name][guess_language(request)].format(**parts)
