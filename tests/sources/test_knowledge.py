"""Knowledge: what is found with which place and link, what is left out in which words, and who keeps the index new."""

from __future__ import annotations

import asyncio
import os
import shutil
from pathlib import Path

import pytest
from aiohttp import web

from specialists.registry import load_crew
from specialists.sandbox.child_process import ChildLimits
from specialists.tools.knowledge import knowledge_files, knowledge_reading, knowledge_tools
from specialists.tools.knowledge.knowledge_folder import KnowledgeFolder
from specialists.tools.knowledge.knowledge_index import list_spellings, list_words, make_match_query
from specialists.tools.knowledge.knowledge_pages import FetchedPages
from specialists.tools.tool import FolderWorkbench, Tool, ToolOutcome
from specialists.tools.toolkit import ToolSettings
from specialists.tools.web.fetch import FetchSettings
from tests.own_tools import all_tools
from tests.patience import patience
from tests.reading.hostile_files import blanks
from tests.specialists.local_web import serving

from .places import bench, shared_docs

VPN = """---
title: VPN guide
url: https://docs.example.com/vpn
---
# Using the VPN

The VPN takes you into the office network.

## Reset

Press the button for 12 seconds until the light turns amber. Then restart the client.

## Certificates

They expire after 397 days.
"""


async def use(tool: Tool, bench: FolderWorkbench, **arguments: str) -> ToolOutcome:
    outcome: ToolOutcome = await tool.run(tool.arguments.model_validate(arguments), bench)
    return outcome


async def search(knowledge: KnowledgeFolder, query: str) -> ToolOutcome:
    return await use(knowledge_tools.tools(knowledge)[0], bench(), query=query)


async def read(knowledge: KnowledgeFolder, document: str, place: str = "") -> ToolOutcome:
    return await use(knowledge_tools.tools(knowledge)[1], bench(), document=document, place=place)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    docs = tmp_path / "docs"
    (docs / "handbook").mkdir(parents=True)
    (docs / "handbook" / "vpn.md").write_text(VPN)
    return docs


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


# ---------------------------------------------------------------- words


@pytest.mark.parametrize(
    ("query_word", "stored_spelling"),
    [("Müller", "mueller"), ("mueller", "müller"), ("Straße", "strasse"), ("STRASSE", "straße"), ("Größe", "groesse")],
)
def test_a_word_is_looked_for_in_its_other_spellings(query_word: str, stored_spelling: str) -> None:
    assert stored_spelling in list_spellings(query_word.lower())


def test_no_sign_of_a_question_is_one_of_the_search_language() -> None:
    words = list_words('reset "a-b" OR NOT col:x* (NEAR')
    assert make_match_query(words, all_words=False).count('"') == 2 * sum(len(list_spellings(word)) for word in words)
    assert make_match_query([], all_words=True) == ""


# ---------------------------------------------------------------- what is found


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeFolder:
    """Documents of several kinds, and all kinds of things that are none; indexed once."""
    root = tmp_path_factory.mktemp("house")
    shared_docs(root / "docs", VPN)
    knowledge = KnowledgeFolder(root / "docs", root / "data")
    asyncio.run(knowledge.update_index())
    return knowledge


async def test_a_passage_comes_with_its_place_title_and_link(house: KnowledgeFolder) -> None:
    outcome = await search(house, "VPN light amber?")
    assert '1. [handbook/vpn.md, section "Reset"] VPN guide https://docs.example.com/vpn\n' in outcome.text
    assert outcome.text.startswith(knowledge_tools.UNTRUSTED_NOTICE)
    assert "12 seconds" in outcome.text
    assert outcome.sources[0] == 'handbook/vpn.md, section "Reset" (https://docs.example.com/vpn)'
    assert outcome.gaps == ()


@pytest.mark.parametrize(
    ("query", "place"),
    [
        ("Mueller Strassenverzeichnis", "haus/müller.txt"),
        ("müller straßenverzeichnis", "haus/müller.txt"),
        ("refund policies", 'refunds.html, section "Refunds"'),
        ("quarterly rocket", "report.docx"),
    ],
)
async def test_documents_of_many_kinds_are_found(house: KnowledgeFolder, query: str, place: str) -> None:
    assert f"1. [{place}" in (await search(house, query)).text


async def test_a_link_comes_from_a_file_beside_the_document_or_from_the_base(house: KnowledgeFolder) -> None:
    assert "https://example.com/refunds" in (await search(house, "refund")).text
    assert "https://wiki.example.com/haus/müller?raw" in (await search(house, "Strassenverzeichnis")).text


async def test_what_is_not_found_is_said_with_how_much_was_searched(house: KnowledgeFolder) -> None:
    outcome = await search(house, "zeppelin")
    assert outcome.text.startswith("None of the 5 documents holds these words.")


async def test_what_is_left_out_is_named_in_a_line_each(house: KnowledgeFolder) -> None:
    lines = await house.check_documents()
    assert lines == (
        "huge.txt: larger than 32 MB, so it is not read; split it, or take it out",
        "loop: the link leads nowhere, or in a circle; take it out",
        "out.md: the link leads out of the folder, so it is not followed; copy what it leads to",
        "round: the link leads to a folder that is already read; take it out",
        "noise.dat is a binary file of a kind that cannot be read here; provide its content as PDF, Word or plain text",
    )


async def test_a_document_is_read_on_by_section_and_by_character(house: KnowledgeFolder) -> None:
    part = await read(house, 'handbook/vpn.md, section "Reset"', 'section "Certificates"')
    assert part.text.endswith("## Certificates\n\nThey expire after 397 days.")
    assert part.sources == ('handbook/vpn.md, section "Certificates" (https://docs.example.com/vpn)',)
    long = await read(house, "long.md", "at 5990")
    assert "characters follow, from: at 11990]" in long.text
    assert "It has: Using the VPN" in (await read(house, "VPN guide", "nowhere")).text.replace('"', "")


async def test_a_wrong_name_is_told_the_near_ones(house: KnowledgeFolder) -> None:
    outcome = await read(house, "guides/vpn.pdf")
    assert outcome.failed
    assert "There is: handbook/vpn.md." in outcome.text


# ---------------------------------------------------------------- what changes


async def test_a_search_finds_what_changed_a_moment_ago(folder: Path, data: Path) -> None:
    knowledge = KnowledgeFolder(folder, data)
    assert "12 seconds" in (await search(knowledge, "reset amber")).text
    (folder / "handbook" / "vpn.md").write_text(VPN.replace("12 seconds", "20 seconds"))
    (folder / "new.md").write_text("# News\n\nThe amber light is green now.")
    knowledge._next_scan = 0.0  # as a few seconds later
    text = (await search(knowledge, "reset amber")).text
    assert "20 seconds" in text
    assert "12 seconds" not in text
    assert "[new.md" in text
    shutil.rmtree(folder / "handbook")
    await knowledge.update_index()
    assert "vpn.md" not in (await search(knowledge, "reset amber")).text


async def test_two_share_an_index_and_one_reads_for_both(folder: Path, data: Path) -> None:
    """The lock is one of open files, so two of one process stand for two processes."""
    one, other = KnowledgeFolder(folder, data), KnowledgeFolder(folder, data)
    async with one._hold_lock() as alone:
        assert alone
        early = await search(other, "amber")
        assert "nothing of it was ready" in early.text
        assert early.gaps
    await one.update_index()
    assert "12 seconds" in (await search(other, "amber")).text


async def test_a_document_can_be_read_before_anybody_searched(
    folder: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = KnowledgeFolder(folder, data), KnowledgeFolder(folder, data)
    async with one._hold_lock():
        early = await read(other, "handbook/vpn.md")
        assert early.failed
        assert "nothing of it was ready" in early.text
    for seconds in ("SCAN_WAIT_SECONDS", "CHANGES_WAIT_SECONDS"):
        monkeypatch.setattr(f"specialists.tools.knowledge.knowledge_folder.{seconds}", patience())
    assert "12 seconds" in (await read(one, "handbook/vpn.md", "Reset")).text


async def test_during_the_first_index_a_search_says_how_much_was_searched(folder: Path, data: Path) -> None:
    knowledge = KnowledgeFolder(folder, data)
    await knowledge.update_index()
    knowledge._index.write_facts(wanted="10000")  # as while the others are being read
    outcome = await search(knowledge, "amber")
    said = "Only 1 of 10,000 documents of the knowledge were indexed when it was searched; the others may say more."
    assert outcome.text.endswith(said)
    assert outcome.gaps == (said,)


async def test_an_index_that_is_damaged_is_made_anew(folder: Path, data: Path) -> None:
    knowledge = KnowledgeFolder(folder, data)
    await knowledge.update_index()
    (file,) = (data / "knowledge").glob("*.sqlite")
    file.write_bytes(b"no database at all" * 1000)
    await knowledge.update_index()
    assert "12 seconds" in (await search(knowledge, "amber")).text


async def test_a_document_that_breaks_its_reader_costs_itself_alone(
    folder: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # So that it breaks sooner.
    monkeypatch.setattr(knowledge_reading, "_LIMITS", ChildLimits(memory_mb=200, cpu_seconds=10))
    (folder / "bomb.pdf").write_bytes(blanks())
    knowledge = KnowledgeFolder(folder, data)
    await knowledge.update_index()
    assert "12 seconds" in (await search(knowledge, "amber")).text
    (line,) = await knowledge.check_documents()
    assert line.startswith("bomb.pdf cannot be read: ")


# ---------------------------------------------------------------- where it comes from


async def test_a_crews_own_folder_comes_before_what_the_operator_named(folder: Path, tmp_path: Path) -> None:
    crew = tmp_path / "crew"
    (crew / "knowledge").mkdir(parents=True)
    (crew / "guide.md").write_text(
        "---\nname: guide\ndescription: Answers questions.\ntools: [search_knowledge]\nmodel: fast\n---\nAnswer."
    )
    settings = ToolSettings({"LEADHAND_KNOWLEDGE": str(folder)}, tmp_path / "data")
    named = load_crew(crew, all_tools(settings), settings)
    assert "12 seconds" in (await use(named.specialists["guide"].tools[0], bench(), query="amber")).text
    (crew / "knowledge" / "own.md").write_text("# Ours\n\nAmber is a stone.")
    own = load_crew(crew, all_tools(settings), settings)
    assert list(own.specialists) == ["guide"]
    assert "Amber is a stone" in (await use(own.specialists["guide"].tools[0], bench(), query="amber")).text


async def test_without_knowledge_the_tools_say_what_to_set_up() -> None:
    outcome = await use(all_tools()["search_knowledge"], bench(), query="amber")
    assert outcome.failed
    assert "LEADHAND_KNOWLEDGE" in outcome.text


async def test_a_folder_that_is_not_there_is_a_line_and_no_more(tmp_path: Path, data: Path) -> None:
    knowledge = KnowledgeFolder(tmp_path / "nowhere", data)
    (line,) = await knowledge.check_documents()
    assert "cannot be read (No such file or directory); check its path and rights" in line
    assert not (await search(knowledge, "amber")).failed


async def test_100_000_files_are_looked_at_in_bounds(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(knowledge_files, "MAX_FILES", 20)
    for number in range(50):
        (tmp_path / f"{number:02}.md").touch()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "a\nb.md").touch()
    os.close(os.open(os.fsencode(tmp_path) + b"/\xff.md", os.O_CREAT))
    found = knowledge_files.scan_folder(tmp_path)
    assert len(found.files) == 20
    assert "'a\\nb.md', '\\udcff.md': the name holds signs that cannot be shown; rename it" in found.faults
    assert found.faults[0].startswith("20.md, 21.md, 22.md and 27 more: only the first 20 documents are indexed")
    assert any(line.startswith("pipe: is no file") for line in found.faults)


async def test_a_page_that_fails_is_tried_again_after_pauses_that_grow(tmp_path: Path) -> None:
    now, states = [1e9], [503]

    async def answer(_request: web.Request) -> web.Response:
        return web.Response(text="<p>The desk opens.</p>", content_type="text/html", status=states[0])

    async with serving(answer) as site:
        limits = FetchSettings(allow_hosts=(site.host,))
        pages = FetchedPages([site.url("/hours")], tmp_path / "pages", limits, lambda: now[0])
        tries = []
        for _ in range(200):  # scanned each minute
            before = len(site.seen_paths)
            await pages.fetch_due_pages()
            tries += [(now[0] - 1e9) / 60] if len(site.seen_paths) > before else []
            assert pages.faults == (f"{site.url('/hours')}: The page answered 503 (Service Unavailable)",)
            now[0] += 60
        assert tries == [0, 2, 6, 14, 30, 62, 122, 182]
        states[0] = 200
        now[0] += 3600
        await pages.fetch_due_pages()
        assert pages.faults == ()


async def test_pages_beyond_the_limit_are_named(tmp_path: Path, data: Path) -> None:
    pages = FetchedPages([f"https://acme.example/{number}" for number in range(501)], tmp_path / "pages")
    (line,) = await KnowledgeFolder(pages.folder, data, pages).check_documents()
    assert line == (
        "501 pages are named; only the first 500 are fetched, so https://acme.example/500 and those after it are not "
        "searched"
    )


async def test_pages_are_fetched_once_a_day_and_kept_when_they_cannot_be(tmp_path: Path, data: Path) -> None:
    states = [200]

    async def answer(_request: web.Request) -> web.Response:
        html = "<h1>Opening hours</h1><p>The desk opens at nine.</p>"
        return web.Response(text=html, content_type="text/html", status=states[0])

    async with serving(answer) as site:
        limits = FetchSettings(allow_hosts=(site.host,))
        url = site.url("/hours")
        pages = FetchedPages([url], tmp_path / "pages", limits)
        knowledge = KnowledgeFolder(pages.folder, data, pages)
        for _ in range(2):
            await pages.fetch_due_pages()
        assert site.seen_paths == ["/hours"]
        assert f'section "Opening hours"] Opening hours {url}\n' in (await search(knowledge, "desk opens")).text
        states[0] = 503
        for file in pages.folder.glob("*.html"):
            os.utime(file, (0, 0))
        await pages.fetch_due_pages()
    said = f"{url}: The page answered 503 (Service Unavailable); what was fetched before is searched"
    assert await knowledge.check_documents() == (said,)
    assert "nine" in (await search(knowledge, "desk opens")).text
