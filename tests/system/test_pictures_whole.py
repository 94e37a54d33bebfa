"""A picture that somebody attaches reaches a model that sees; to another it is named, and to people."""

from __future__ import annotations

import io
from base64 import b64encode
from pathlib import Path

import pytest
from PIL import Image

from bot.models.provider_model import ProviderModel
from handoff import events as ev
from specialists.reading.picture_file import LONGEST_SIDE
from tests.models.conftest import connect
from tests.models.sample_pictures import png
from tests.system.brains import plan, played, provider, result, subtask
from tests.system.scene import Scene, shown

TAKEN = (Path(__file__).parent.parent / "reading" / "files" / "photo-turned.jpg").read_bytes()


@pytest.fixture
def photo(tmp_path: Path) -> Path:
    """A picture of a camera: lying, with the mark how to turn it, the camera's name and a comment."""
    path = tmp_path / "whiteboard.jpg"
    path.write_bytes(TAKEN)
    return path


async def test_a_model_that_sees_is_shown_what_was_attached(scene: Scene, photo: Path) -> None:
    words = {"planner": lambda _: plan(subtask("a", "writer")), "specialist": lambda _: result("Three boxes.")}
    async with provider(**words) as server:
        model = connect("anthropic", server)
        seeing = ProviderModel(
            model.wire, model.tiers, provider=model.provider, sees={"fast": True, "balanced": True, "deep": True}
        )
        async with scene.bot(seeing):
            talk = await scene.ask("What does the whiteboard say?", files=[photo])
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
    assert "not shown" not in shown(answer)
    heads = [b64encode(data[:12]).decode() for data in (TAKEN, picture.data)]
    logged = [ev.dump(event) for event in await talk.events()]
    assert not any(head in event for head in heads for event in logged), "the log holds no picture"


async def test_people_are_told_what_a_model_was_not_shown(scene: Scene, photo: Path) -> None:
    async with played(
        scene, planner=lambda _: plan(subtask("a", "writer")), specialist=lambda _: result("It cannot be read.")
    ) as server:
        talk = await scene.ask("What does the whiteboard say?", files=[photo])
        await talk.over()
    line = "whiteboard.jpg: not shown to this model, which reads text only"
    assert any(line in message.text for request in server.requests for message in request.messages)
    assert not any(message.pictures for request in server.requests for message in request.messages)
    (answer,) = talk.words()
    assert "not shown to this model, which reads text only" in shown(answer)


async def test_a_photo_over_the_providers_limits_is_shown_scaled_and_only_a_broken_one_is_named(scene: Scene) -> None:
    files = [("photo.png", png(9_000, 60, padding=12_000_000)), ("torn.png", b"\x89PNG\r\n\x1a\n no more")]
    words = {"planner": lambda _: plan(subtask("a", "writer")), "specialist": lambda _: result("A wide wall.")}
    async with provider(**words) as server:
        model = connect("responses", server)
        seeing = ProviderModel(
            model.wire, model.tiers, provider=model.provider, sees={"fast": True, "balanced": True, "deep": True}
        )
        async with scene.bot(seeing):
            talk = await scene.ask("What is on the photo?", files=files)
            await talk.over()
    (message,) = [each for request in server.requests for each in request.messages if each.pictures]
    (photo,) = message.pictures
    assert photo.name == "photo.png"
    assert max(Image.open(io.BytesIO(photo.data)).size) == LONGEST_SIDE
    (answer,) = talk.words()
    assert "photo.png" not in shown(answer).partition("Read:")[0]
    assert "torn.png" in shown(answer)
