"""Tables in the encodings of all languages are read right, or the doubt is said; texts are decoded by the same rule."""
# ruff: noqa: RUF001 - letters of other alphabets look like Latin ones

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specialists.formats.encodings import decode_name, decode_text
from specialists.tools.tables.delimited import read_delimited_sheets

from .conftest import Bench
from .test_table_files import ask, profile

pytestmark = pytest.mark.usefixtures("children_here")

PEOPLE = {
    "cp1250": "Łukasz Wiśniewski;Kraków|Małgorzata Wójcik;Łódź|Paweł Żółć;Gdańsk|"
    "Jiří Dvořák;Plzeň|Tomáš Růžička;Děčín|Ágnes Kőszegi;Győr",
    "cp1251": "Иван Петров;Москва|Мария Смирнова;Казань|Сергей Кузнецов;Тверь|Олена Шевченко;Київ|Георги Иванов;София",
    "koi8-r": "Иван Петров;Москва|Мария Смирнова;Казань|Сергей Кузнецов;Тверь|Юлия Попова;Омск",
    "cp1252": "Jürgen Müller;Köln|Zoë Lefèvre;Orléans|José Muñoz;Málaga|Søren Kjær;Århus|João Conceição;São Paulo",
    "cp1253": "Γιώργος Παπαδόπουλος;Αθήνα|Μαρία Ιωάννου;Θεσσαλονίκη|Νίκος Γεωργίου;Πάτρα",
    "cp1254": "Ayşe Yıldız;İstanbul|Mehmet Öztürk;Diyarbakır|Işık Çağlar;Iğdır|Gülşen Şahin;Eskişehir",
    "cp1255": "דוד כהן;תל אביב|שרה לוי;ירושלים|יוסף מזרחי;חיפה",
    "cp1256": "محمد أحمد;القاهرة|فاطمة علي;بغداد|خالد حسن;الرياض",
    "gb18030": "王伟;北京|李娜;上海|张敏;广州|陈静;成都|刘洋;深圳|赵磊;武汉",
    "big5": "陳怡君;臺北|林志明;高雄|黃淑芬;臺中|張雅婷;新竹",
    "shift_jis": "佐藤健一;東京|鈴木花子;大阪|高橋太郎;名古屋|タナカ ユキ;さいたま",
    "euc-jp": "佐藤健一;東京|鈴木花子;大阪|高橋太郎;名古屋|タナカ ユキ;さいたま",
    "euc-kr": "김민준;서울|이서연;부산|박지훈;대구|최수빈;인천",
    "utf-8-sig": "Łukasz;Kraków|王伟;北京",
    "utf-16": "Łukasz;Kraków|王伟;北京",
    "utf-16-le": "Łukasz;Kraków|王伟;北京",
    "utf-16-be": "Łukasz;Kraków|Zoë;Orléans",
    "utf-32": "Łukasz;Kraków|王伟;北京",
    "utf-32-le": "Łukasz;Kraków|王伟;北京",
}


def rows_of(encoding: str) -> list[list[str]]:
    return [[str(number), *one.split(";"), "12.5"] for number, one in enumerate(PEOPLE[encoding].split("|"), start=1)]


def csv_of(rows: list[list[str]], encoding: str) -> bytes:
    return "\r\n".join([",".join(row) for row in (["id", "name", "city", "amount"], *rows)]).encode(encoding)


@pytest.mark.parametrize("encoding", PEOPLE)
def test_names_and_cities_are_read_right_and_nothing_is_in_doubt(encoding: str) -> None:
    rows = rows_of(encoding)
    (sheet,) = read_delimited_sheets(csv_of(rows, encoding), ".csv")
    assert (sheet.rows, sheet.faults) == (rows, [])
    if encoding.startswith("utf"):
        assert sheet.notes == []
    else:
        (note,) = sheet.notes
        assert note.startswith("it does not name its encoding, so it was read as ")


@settings(deadline=None, max_examples=70)
@given(st.sampled_from([one for one in PEOPLE if not one.startswith("utf")]), st.randoms(use_true_random=False))
def test_a_table_of_few_names_is_right_or_the_doubt_is_said(encoding: str, rng: random.Random) -> None:
    people = rows_of(encoding)
    rows = [rng.choice(people) for _ in range(rng.randint(1, 3))]
    data = csv_of(rows, encoding)
    (sheet,) = read_delimited_sheets(data, ".csv")
    assert sheet.rows == rows or any(
        fault.startswith("it does not name its encoding, so it was read as ") for fault in sheet.faults
    )
    read = decode_text(data)
    assert [line.split(",") for line in read.text.split("\n")[1:]] == sheet.rows, "a text is decoded as a table is"


def test_a_name_that_stands_there_three_times_makes_no_guess_surer() -> None:
    rows = [[str(number), "タナカ ユキ", "さいたま", "12.5"] for number in range(1, 4)]
    assert "“正瓜市”" in decode_text(csv_of(rows, "euc-jp")).doubt


async def test_a_guess_is_said_in_the_profile_and_in_what_a_query_gives(bench: Bench) -> None:
    workbench = bench({"clients.csv": csv_of(rows_of("gb18030"), "gb18030")})
    said = "clients.csv: it does not name its encoding, so it was read as GB 18030"
    told = await profile(workbench, "clients.csv")
    assert "it was read as GB 18030" in told.text
    assert (told.notes, told.gaps) == ((said,), ())
    found = await ask(workbench, "SELECT id FROM clients WHERE city = '北京'")
    assert "1 row" in found.text
    assert found.notes == (said,)


def test_a_doubt_shows_both_readings() -> None:
    read = decode_text("id,name\n1,Jiří\n".encode("cp1250"))
    assert all(told in read.doubt for told in ("“Jiří”", "“Jiøí”", "Windows-1250", "Windows-1252"))


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ('<html><head><meta charset="iso-8859-2"></head><p>Łódź', "iso-8859-2"),
        ('<?xml version="1.0" encoding="windows-1253"?><a>Γιώργος</a>', "cp1253"),
        ('<meta http-equiv="Content-Type" content="text/html; charset=gb2312">王伟', "gbk"),
    ],
)
def test_what_a_file_says_of_its_encoding_counts(text: str, encoding: str) -> None:
    read = decode_text(text.encode(encoding))
    assert (read.text, read.note, read.doubt) == (text, "", "")


def test_what_a_mail_says_counts_unless_it_cannot_be_true() -> None:
    assert decode_text("Łódź".encode("iso-8859-2"), charset="ISO-8859-2").text == "Łódź"
    said = "Уважаемые коллеги, отчёт готов."
    assert decode_text(said.encode("koi8-r"), charset="us-ascii").text == said
    assert decode_text("東京".encode("iso2022_jp")).text == "東京"


@pytest.mark.parametrize(
    ("name", "encoding"),
    [
        ("Büro.csv", "latin-1"),
        ("Büro.csv", "cp437"),
        ("Отчёт.csv", "cp866"),
        ("報告書.csv", "cp932"),
        ("Größe.txt", "utf-8"),
    ],
)
def test_names_in_archives(name: str, encoding: str) -> None:
    assert decode_name(name.encode(encoding), "cp437") == name
