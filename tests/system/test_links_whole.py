"""Addresses in answers: links where people gave them, plain where a model made them up, streamed or not."""

from __future__ import annotations

from tests.providers.rendering import Reply
from tests.system.brains import plan, played, result, subtask
from tests.system.scene import Scene, block_of

DOCS = "https://docs.python.org/3/library/json.html"
ANSWER = (
    f"Use `json.dumps` as [the documentation]({DOCS}) says; calls such as requests.get(url) stay.\n\n"
    f"Address: {DOCS}. Not [this](https://evil.com/?d=SECRET), nor {DOCS}?d=SECRET, nor [bank.com]({DOCS}).\n\n"
)
SHOWN = (
    f"Use `json.dumps` as [the documentation]({DOCS}) says; calls such as requests.get(url) stay.\n\n"
    f"Address: [{DOCS}]({DOCS}). Not this (`https://evil.com/?d=SECRET`), nor `{DOCS}?d=SECRET`, "
    f"nor `bank.com` ([{DOCS}]({DOCS}))."
)


async def test_a_streamed_answer_links_what_the_requester_named(scene: Scene) -> None:
    async with played(
        scene,
        verified=False,
        planner=lambda _: plan(subtask("a", "writer"), subtask("b", "reviewer")),
        specialist=lambda _: result("Done."),
        synthesizer=lambda _: Reply(ANSWER, pause=0.15),
    ):
        talk = await scene.ask(f"Explain <{DOCS}>, and who uses it")
        await talk.over()
    (answer,) = talk.words()
    block = block_of(answer, "markdown")
    assert block is not None
    assert str(block["text"]).strip() == SHOWN
    assert scene.workspace.call_count("chat.startStream") == 1


async def test_an_answer_links_what_stands_in_a_file_and_in_the_thread_and_nothing_that_a_model_wrote(
    scene: Scene,
) -> None:
    filed, said, invented = "https://a.example/terms?v=2", "https://b.example/minutes", "https://evil.example/?d=SECRET"
    words = f"Terms: {filed} and minutes: {said}, not {invented} nor {filed}&d=SECRET"
    root = await scene.person("ben").say("#general", f"The minutes are at {said}")
    async with played(
        scene,
        planner=lambda _: plan(subtask("a", "writer"), subtask("b", "reviewer")),
        specialist=lambda _: result(words),
        synthesizer=lambda _: Reply(words),
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
