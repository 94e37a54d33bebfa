"""What a job has to work on, texts, a long PDF and pictures, reaches who needs it; addresses in it are links."""

from __future__ import annotations

import io
import json
import random
import re
import textwrap
from base64 import b64encode
from typing import Any

from PIL import Image

from bot.models.provider_model import ProviderModel
from handoff import events as ev
from handoff.briefs.handoff_builder import BRIEF_SHARE
from handoff.contracts import ContextLimits, ToolCall
from handoff.engine.answer import list_answer_gaps
from handoff.text.context_budget import MAX_FILL_SHARE, estimate_token_count
from tests.models.conftest import connect
from tests.providers.rendering import Reply
from tests.providers.scripts import first_text, purpose_of
from tests.providers.server import ProviderServer
from tests.providers.wire import WireRequest
from tests.reading.hostile_files import FILES, pdf, stream
from tests.system.brains import bot_with_provider, plan, provider, result, subtask, tool_call
from tests.system.scene import Scene, block_of, extract_shown_text

TERMS = "Terms of delivery\n\nThe supplier pays 5 % of the price for each week of delay.\n\nThe court is in Bergen.\n"


def texts(server: ProviderServer, purpose: str) -> list[str]:
    """The first messages of the calls of a purpose."""
    return [first_text(request) for request in server.requests if purpose_of(request) == purpose]


def with_needs(part: dict[str, Any], *needs: str) -> dict[str, Any]:
    return {**part, "needs": list(needs)}


async def test_an_attached_text_is_read_by_who_needs_it_and_seen_by_the_planner(scene: Scene) -> None:
    parts = (
        with_needs(subtask("risk", "reviewer", intent="Name the penalty for delay."), "terms.txt"),
        with_needs(subtask("note", "writer", ["risk"], intent="Write a note to the board on the penalty.")),
    )
    words = {"reviewer": result("5 % a week."), "writer": result("The penalty is 5 % a week.")}
    async with bot_with_provider(scene, api="anthropic", planner=plan(*parts), **words) as server:
        talk = await scene.ask("what is the penalty? note to the board", files=[("terms.txt", TERMS.encode())])
        job = await talk.over()
    (planner,), (reviewer,), (writer,) = (
        texts(server, purpose) for purpose in ("planner", "specialist:reviewer", "specialist:writer")
    )
    assert "- terms.txt (text/plain" in planner
    assert "The supplier pays 5 % of the price" in planner
    assert f"## terms.txt\n{TERMS.strip()}" in reviewer
    assert "Bergen" not in writer
    assert list_answer_gaps(job.latest_request, job.latest_request.run) == (), "and 5 % stands in a source"
    (gathered,) = await talk.of(ev.MaterialGathered)
    assert TERMS not in gathered.model_dump_json(), "the log has no text of it"


PAGES, WORDS, PLANTED_PAGE = 100, 275, 73
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
    return f"{filler[:700]}. {FACT} {filler[700:]}" if number == PLANTED_PAGE else filler


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
    async with bot_with_provider(scene, api="responses", planner=plan(task), writer=writer) as server:
        talk = await scene.ask("What does the depot in Bergen cost up front?", files=[("handbook.pdf", handbook())])
        job = await talk.over()
        answer = extract_shown_text(talk.words()[-1])

    assert job.latest_request.state == "completed"
    (material,) = job.latest_request.materials
    assert [section.name for section in material.outline][::99] == ["page 1", "page 100"]
    assert material.size > PAGES * WORDS * 5
    (start,) = await talk.of(ev.AttemptStarted)
    assert start.tier == "balanced"
    assert start.pack.budget == ContextLimits().balanced * BRIEF_SHARE
    assert 0.7 < start.pack.tokens / start.pack.budget <= MAX_FILL_SHARE, "as much of it as there is room for"
    assert start.pack.left_out[0].startswith("handbook.pdf: ")
    calls = [one for one in server.requests if purpose_of(one) == "specialist:writer"]
    assert len(calls) == 3
    for call in calls:
        assert estimate_token_count(json.dumps(call.body, ensure_ascii=False)) <= ContextLimits().balanced, (
            "prompt, tools and replies, too"
        )
    (planner,) = [first_text(one) for one in server.requests if purpose_of(one) == "planner"]
    assert len(planner) < 4_000, "the planner is shown its beginning"
    searched, read = (reply.text for message in calls[-1].messages for reply in message.replies)
    assert searched.startswith(f"[handbook.pdf, page {PLANTED_PAGE}]\n")
    assert read.startswith(f"[handbook.pdf, page {PLANTED_PAGE}]\n")
    assert len(searched) + len(read) < 16_000
    assert "48,250 euros" in answer
    assert f"Sources: handbook.pdf, page {PLANTED_PAGE}" in answer
    assert "in part" not in answer


PHOTO_BYTES = (FILES / "photo-turned.jpg").read_bytes()
"""A picture of a camera: lying, with the mark how to turn it, the camera's name and a comment."""


async def test_a_model_that_sees_is_shown_what_was_attached(scene: Scene) -> None:
    words = {"planner": plan(subtask("a", "writer")), "specialist": result("Three boxes.")}
    async with provider(**words) as server:
        model = connect("anthropic", server)
        seeing = ProviderModel(
            model.wire,
            model.tiers,
            provider=model.provider,
            picture_settings={"fast": True, "balanced": True, "deep": True},
        )
        async with scene.bot(seeing):
            talk = await scene.ask("What does the whiteboard say?", files=[("whiteboard.jpg", PHOTO_BYTES)])
            await talk.over()
    (shown_to_it,) = [each for request in server.requests for each in request.messages if each.pictures]
    (picture,) = shown_to_it.pictures  # once, however many ways lead to it
    image = Image.open(io.BytesIO(picture.data))
    assert (picture.name, picture.media_type) == ("whiteboard.jpg", image.get_format_mimetype())
    assert image.size == (200, 400), "turned as the camera was held: the file has it lying, with a mark"
    assert not image.getexif()
    assert b"SecretCam" not in picture.data
    assert b"private comment" not in picture.data
    (answer,) = talk.words()
    assert "not shown" not in extract_shown_text(answer)
    heads = [b64encode(data[:12]).decode() for data in (PHOTO_BYTES, picture.data)]
    logged = [ev.dump_event(event) for event in await talk.events()]
    assert not any(head in event for head in heads for event in logged), "the log holds no picture"


async def test_an_answer_links_what_stands_in_a_file_and_in_the_thread_and_nothing_that_a_model_wrote(
    scene: Scene,
) -> None:
    filed, said, invented = "https://a.example/terms?v=2", "https://b.example/minutes", "https://evil.example/?d=SECRET"
    words = f"Terms: {filed} and minutes: {said}, not {invented} nor {filed}&d=SECRET"
    root = await scene.person("ben").say("#general", f"The minutes are at {said}")
    async with bot_with_provider(
        scene,
        planner=plan(subtask("a", "writer"), subtask("b", "reviewer")),
        specialist=result(words),
        synthesizer=Reply(words),
    ):
        talk = scene.thread("#general", root)
        notes = ("notes.md", f"# Terms\n\nThey are at <{filed}>.\n".encode())
        await talk.say("@leadhand where are the terms and the minutes?", files=[notes])
        await talk.over()
        await talk.say("@leadhand and once more, please")  # its material holds the answer before, a model's words
        await talk.over(2)
    shown = f"Terms: [{filed}]({filed}) and minutes: [{said}]({said}), not `{invented}` nor `{filed}&d=SECRET`"
    for answer in talk.words():
        block = block_of(answer, "markdown")
        assert block is not None
        assert str(block["text"]).strip() == shown
    assert len(talk.words()) == 2
