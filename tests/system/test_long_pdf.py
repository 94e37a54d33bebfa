"""A real PDF of 100 pages: what a call is given of it, and how the rest is found, read and cited by its page."""

from __future__ import annotations

import json
import random
import re
import textwrap

from handoff import events as ev
from handoff.briefs.context import BRIEF
from handoff.contracts import Context, ToolCall
from handoff.text.context_budget import FULL, tokens
from tests.providers.rendering import Reply
from tests.providers.scripts import first_text, purpose_of
from tests.providers.wire import WireRequest
from tests.reading.hostile_files import pdf, stream
from tests.system.brains import plan, played, result, subtask, tool_call
from tests.system.scene import Scene, shown

PAGES, WORDS, PLANTED = 100, 275, 73
FACT = "The deposit for the Bergen depot is 48,250 euros, due on signature."
VOCABULARY = re.findall(
    r"\w+",
    "the of and a to in is each part is checked weekly by crews who report delays noise rust paint seals valves pumps "
    "doors lifts rails lamps cables filters tanks ramps before winter after storms during night shifts with tools from "
    "stock under rules that inspectors wrote for harbours yards stations workshops",
)


def page_text(number: int, words: random.Random) -> str:
    """The words of a page, without its number, and on one page the fact between them."""
    filler = " ".join(words.choices(VOCABULARY, k=WORDS))
    return f"{filler[:700]}. {FACT} {filler[700:]}" if number == PLANTED else filler


def handbook() -> bytes:
    """A PDF whose pages hold text, line by line, and nothing else."""
    words = random.Random(7)
    pages, contents = [], []
    for number in range(1, PAGES + 1):
        lines = textwrap.wrap(page_text(number, words), 90)
        drawn = b"".join(b"(%s) Tj T*\n" % line.encode() for line in lines)
        contents.append(stream(b"BT /F 11 Tf 14 TL 50 780 Td\n" + drawn + b"ET"))
        here = b"/MediaBox [0 0 600 840] /Contents %d 0 R /Resources << /Font << /F 3 0 R >> >>" % (3 + PAGES + number)
        pages.append(b"<< /Type /Page /Parent 2 0 R %s >>" % here)
    kids = b" ".join(b"%d 0 R" % number for number in range(4, 4 + PAGES))
    tree = b"<< /Type /Pages /Kids [%s] /Count %d >>" % (kids, PAGES)
    font = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"
    return pdf(b"<< /Type /Catalog /Pages 2 0 R >>", tree, font, *pages, *contents)


def writer(request: WireRequest) -> Reply:
    """Searches, reads the page that the search names, and hands in what stands there, with that page as its source."""
    replies = [reply.text for message in request.messages for reply in message.replies]
    if not replies:
        return tool_call("search_material", words="deposit Bergen depot")
    where = re.search(r"\[handbook\.pdf, (page \d+)\]", replies[0])
    assert where is not None, replies[0]
    if len(replies) == 1:
        wanted = {"name": "handbook.pdf", "part": where[1]}
        return Reply(calls=(ToolCall(id="read", name="read_material", arguments=wanted),), stop="tool_use")
    figure = re.search(r"deposit for the\s+Bergen\s+depot\s+is\s+([\d,]+ euros)", replies[1])
    assert figure is not None, replies[1]
    found = {"message": f"The deposit is {figure[1]}", "source": f"handbook.pdf, {where[1]}", "confidence": 95}
    return result(f"The deposit is {figure[1]} (handbook.pdf, {where[1]}).", findings=[found])


async def test_a_fact_in_a_pdf_of_a_hundred_pages_is_found_and_cited_by_its_page(scene: Scene) -> None:
    task = {**subtask("look", "writer", intent="Answer from the handbook."), "needs": ["handbook.pdf"]}
    async with played(scene, api="responses", planner=lambda _: plan(task), writer=writer) as server:
        talk = await scene.ask("What does the depot in Bergen cost up front?", files=[("handbook.pdf", handbook())])
        job = await talk.over()
        answer = shown(talk.words()[-1])

    assert job.latest.state == "completed"
    (material,) = job.latest.materials
    assert [section.name for section in material.outline][::99] == ["page 1", "page 100"]
    assert material.size > PAGES * WORDS * 5
    (start,) = await talk.of(ev.AttemptStarted)
    assert start.tier == "balanced"
    assert start.pack.budget == Context().balanced * BRIEF
    assert 0.7 < start.pack.tokens / start.pack.budget <= FULL, "as much of it as there is room for"
    assert start.pack.left_out[0].startswith("handbook.pdf: ")
    calls = [one for one in server.requests if purpose_of(one) == "specialist:writer"]
    assert len(calls) == 3
    for call in calls:
        assert tokens(json.dumps(call.body, ensure_ascii=False)) <= Context().balanced, "prompt, tools and replies, too"
    (planner,) = [first_text(one) for one in server.requests if purpose_of(one) == "planner"]
    assert len(planner) < 4_000, "the planner is shown its beginning"
    searched, read = (reply.text for message in calls[-1].messages for reply in message.replies)
    assert searched.startswith(f"[handbook.pdf, page {PLANTED}]\n")
    assert read.startswith(f"[handbook.pdf, page {PLANTED}]\n")
    assert len(searched) + len(read) < 16_000
    assert "48,250 euros" in answer
    assert f"Sources: handbook.pdf, page {PLANTED}" in answer
    assert "in part" not in answer
