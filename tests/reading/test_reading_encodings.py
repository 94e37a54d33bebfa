"""Text of any encoding is read right, with or without a mark; what is doubtful is said."""

from __future__ import annotations

import pytest

from .conftest import ReadSample

_WESTERN = "Das größte Risiko: Ölpreis. Größe 5 €, naïve Übergröße in Köln \u2014 sagt François.\n"
_RUSSIAN = "\u0423\u0432\u0430\u0436\u0430\u0435\u043c\u044b\u0435 \u043a\u043e\u043b\u043b\u0435\u0433\u0438, "
_JAPANESE = "売上報告書：一月の売上は十パーセント増加しました。来週の会議でご確認ください。\n"  # noqa: RUF001


_GUESS_NOTE = "it does not name its encoding, so it was read as {}"


@pytest.mark.parametrize(
    ("name", "text", "notes"),
    [
        *[(f"western-{encoding}.txt", _WESTERN, None) for encoding in ("cp1252", "utf-16", "utf-16le", "utf-16be")],
        ("western-iso-8859-1.txt", _WESTERN.replace("€", "EUR").replace("\u2014", "-"), None),
        ("western-utf-8-mark.txt", "Größe 5 €\n", ()),
        *[(f"russian-{encoding}.txt", _RUSSIAN, None) for encoding in ("koi8-r", "cp1251", "utf-16")],
        ("japanese-utf-8.txt", _JAPANESE, ()),
        ("japanese-shift_jis.txt", _JAPANESE, (_GUESS_NOTE.format("Shift-JIS"),)),
        ("japanese-euc-jp.txt", _JAPANESE, (_GUESS_NOTE.format("EUC-JP"),)),
    ],
)
async def test_what_other_programs_wrote(
    read_sample: ReadSample, name: str, text: str, notes: tuple[str, ...] | None
) -> None:
    reading = await read_sample(name)
    assert reading.text.startswith(text)
    assert reading.gaps == ()
    assert notes is None or reading.notes == notes


@pytest.mark.parametrize("words", ["Größe", "prüfen", "Kündigung zum Jahresende", "déjà vu", "mañana", "5 € je Büro"])
async def test_a_short_western_text(read_sample: ReadSample, words: str) -> None:
    assert (await read_sample("note.txt", words.encode("cp1252"))).text == words


async def test_a_long_text_with_one_strange_letter_at_its_end(read_sample: ReadSample) -> None:
    text = "plain words and nothing else, line after line\n" * 2_000 + "Größe\n"
    assert (await read_sample("a.log", text.encode("cp1252"))).text == text
    assert (await read_sample("a.log", text.encode())).text == text


async def test_a_text_cut_off_in_a_letter_is_still_utf_8(read_sample: ReadSample) -> None:
    reading = await read_sample("cut.txt", ("Größe und Übergröße, " * 50 + "ö").encode()[:-1])
    assert reading.text.startswith("Größe und Übergröße, ")
    assert reading.gaps == ("1 broken characters stand as \ufffd",)


async def test_lines_end_in_one_way(read_sample: ReadSample) -> None:
    assert (await read_sample("dos.txt", b"a\r\nb\rc\n")).text == "a\nb\nc\n"


async def test_what_a_page_and_a_program_say_of_their_charset(read_sample: ReadSample) -> None:
    page = '<html><head><meta charset="koi8-r"></head><body>\u041f\u0440\u0438\u0432\u0435\u0442</body></html>'
    assert "\u041f\u0440\u0438\u0432\u0435\u0442" in (await read_sample("p.html", page.encode("koi8-r"))).text
    program = "# -*- coding: iso-8859-2 -*-\nname = 'Łódź'\n"
    assert "Łódź" in (await read_sample("p.py", program.encode("iso-8859-2"))).text


async def test_what_is_no_character_is_replaced_where_it_stands(read_sample: ReadSample) -> None:
    halves = "[" + ",".join(['"\\ud800 half"'] * 200) + "]"
    reading = await read_sample("halves.json", halves.encode())
    assert "\ufffd half" in reading.text
    reading.text.encode()


@pytest.mark.parametrize("encoding", ["utf-8", "cp1252"])
async def test_headers_of_mails_that_are_not_encoded(read_sample: ReadSample, encoding: str) -> None:
    mail = "From: Jürgen <j@example.org>\nDate: x\nSubject: Größe\n\nhello\n"
    reading = await read_sample("raw.eml", mail.encode(encoding))
    assert reading.text.startswith("From: Jürgen <j@example.org>\nDate: x\nSubject: Größe\n")


async def test_a_table_attached_to_a_mail_has_the_encoding_that_the_mail_says(read_sample: ReadSample) -> None:
    mail = (
        b"From: a@example.org\nSubject: x\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=b\n\n--b\n"
        b"Content-Type: text/csv; charset=iso-8859-5; name=a.csv\nContent-Disposition: attachment; filename=a.csv\n"
        b"Content-Transfer-Encoding: 8bit\n\n" + "имя,n\nЯна,1\n".encode("iso-8859-5") + b"\n--b--\n"  # noqa: RUF001
    )
    (inside,) = (await read_sample("m.eml", mail)).inner_files
    assert inside.data.decode().startswith("имя,n\nЯна,1")  # noqa: RUF001


async def test_a_long_text_of_one_line_is_decoded_in_time(read_sample: ReadSample) -> None:
    text = "plain words without an end, " * 100_000 + "Größe"
    assert (await read_sample("a.txt", text.encode("cp1252"))).text.endswith("Größe")
