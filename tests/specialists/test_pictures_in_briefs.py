"""Pictures of a handoff: loaded from the workbench for each attempt, counted, and never kept in the log."""

from __future__ import annotations

import io
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import pytest
from PIL import Image

from handoff import events as ev
from handoff.contracts import Artifact, Constraints, Escalation, Handoff, Result
from specialists.formats.picture_facts import MOST_TOKENS, picture_tokens, pixels, type_of
from specialists.model import ModelMessage, Picture
from specialists.runner import End, run
from specialists.turns.context_room import ContextRoom
from specialists.turns.pictures import MOST_BYTES
from tests.models.sample_pictures import picture, png
from tests.specialists.scripted_model import (
    EmptyBench,
    KeptLog,
    Looker,
    ScriptedModel,
    calling,
    returning,
    silence,
    specialist,
)

PLAN = png(3, 2)


def drawn(kind: str, size: tuple[int, int] = (320, 200), **options: object) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", size, "teal").save(out, kind, **options)
    return out.getvalue()


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (drawn("PNG"), "image/png"),
        (drawn("JPEG"), "image/jpeg"),
        (drawn("JPEG", progressive=True, exif=b"Exif\0\0" + b"x" * 900), "image/jpeg"),
        (drawn("GIF"), "image/gif"),
        (drawn("WEBP"), "image/webp"),
        (drawn("WEBP", lossless=True), "image/webp"),
        (drawn("WEBP", exif=b"Exif\0\0MM"), "image/webp"),
    ],
)
def test_the_first_bytes_tell_kind_and_size(data: bytes, kind: str) -> None:
    assert (type_of(data), pixels(data)) == (kind, (320, 200))
    for end in range(40):
        pixels(data[:end])  # a cut head raises nothing


def test_what_is_no_picture_has_no_size() -> None:
    for data in (b"", b"%PDF-1.7", b"<svg/>", b"\xff\xd8\xff", b"\xff\xd8\xff\xff\xff", png(0, 5)):
        assert pixels(data) is None


def test_tokens_are_estimated_from_above() -> None:
    assert picture_tokens(png(750, 100)) == 85 + 100
    assert picture_tokens(png(1_568, 1_568)) == picture_tokens(png(6_272, 6_272)) == MOST_TOKENS
    assert picture_tokens(b"?") == MOST_TOKENS


@dataclass
class Bench(EmptyBench):
    """Files in a folder, by artifact id; counts what was asked for."""

    folder: Path = Path()
    asked: list[str] = field(default_factory=list)

    async def path(self, artifact: Artifact) -> Path:
        self.asked.append(artifact.name)
        found = self.folder / artifact.id
        if not found.exists():
            raise KeyError(artifact.id)
        return found


def file(folder: Path, name: str, data: bytes, publish_as: Literal["nothing", "file"] = "nothing") -> Artifact:
    (folder / name).write_bytes(data)
    return Artifact(id=name, name=name, media_type="image/png", size=len(data), publish_as=publish_as)


async def attempt(
    bench: Bench, model: ScriptedModel, *files: Artifact, log: KeptLog | None = None, room: int = 32_000, **more: float
) -> End:
    task = Handoff(
        to_agent="scout",
        intent="Look.",
        artifacts=files,
        constraints=Constraints(context=room, timeout=more.get("t", 30.0)),
    )
    return await run(specialist(Looker().tool()), task, model=model, workbench=bench, log=log or KeptLog())


async def test_the_model_gets_what_people_attached_and_no_chart_of_ours(tmp_path: Path) -> None:
    chart = file(tmp_path, "chart.png", PLAN, "file")
    table = Artifact(id="t", name="t.csv", media_type="text/csv", size=5)
    model = ScriptedModel([returning()])
    outcome = await attempt(Bench(folder=tmp_path), model, file(tmp_path, "plan.png", PLAN), chart, table)
    assert model.calls[0].messages[0].pictures == (picture("plan.png", PLAN),)
    assert isinstance(outcome, Result)
    assert outcome.gaps == ()


async def test_bytes_tell_the_kind_and_not_the_name(tmp_path: Path) -> None:
    model = ScriptedModel([returning()])
    outcome = await attempt(
        Bench(folder=tmp_path), model, file(tmp_path, "a.png", drawn("JPEG")), file(tmp_path, "b.png", b"<svg/>")
    )
    assert [each.media_type for each in model.calls[0].messages[0].pictures] == ["image/jpeg"]
    assert isinstance(outcome, Result)
    assert outcome.gaps == ("b.png: not shown to the model, as it is no PNG, JPEG, WebP or GIF; send one of these",)


async def test_pictures_without_room_are_named(tmp_path: Path) -> None:
    large = file(tmp_path, "large.png", png(1_400, 1_400))
    model = ScriptedModel([returning()])
    files = (large, file(tmp_path, "small.png", PLAN))
    outcome = await attempt(Bench(folder=tmp_path), model, *files, room=4_000)
    assert [each.name for each in model.calls[0].messages[0].pictures] == ["small.png"]
    assert isinstance(outcome, Result)
    assert outcome.gaps == ("large.png: not shown to the model, as there are more pictures than it has room for",)


async def test_a_picture_that_is_gone_or_huge_is_named(tmp_path: Path) -> None:
    gone = Artifact(id="gone", name="gone.png", media_type="image/png", size=9)
    huge = Artifact(id="huge", name="huge.png", media_type="image/png", size=MOST_BYTES + 1)
    bench = Bench(folder=tmp_path)
    outcome = await attempt(bench, ScriptedModel([returning()]), gone, huge)
    assert isinstance(outcome, Result)
    assert [gap.partition(":")[0] for gap in outcome.gaps] == ["gone.png", "huge.png"]
    assert bench.asked == ["gone.png"]


async def test_what_the_model_was_not_shown_is_a_gap_once(tmp_path: Path) -> None:
    line = "plan.png: not shown to this model, which reads text only"
    blind = [turn.model_copy(update={"unseen": (line,)}) for turn in (calling(("look", {"at": "sea"})), returning())]
    outcome = await attempt(Bench(folder=tmp_path), ScriptedModel([*blind]), file(tmp_path, "plan.png", PLAN))
    assert isinstance(outcome, Result)
    assert outcome.gaps == (line,)


async def test_whoever_takes_over_loads_the_pictures_again(tmp_path: Path) -> None:
    plan, log, line = file(tmp_path, "plan.png", PLAN), KeptLog(), "roof.png: not shown to this model, which is blind"
    looked = calling(("look", {"at": "sea"})).model_copy(update={"unseen": (line,)})
    first = ScriptedModel([looked, silence])
    assert isinstance(await attempt(Bench(folder=tmp_path), first, plan, log=log, t=0.5), Escalation)
    lines = [ev.dump(point) for point in log.history if isinstance(point, ev.TurnTaken | ev.ToolReturned)]
    assert len(lines) == 2
    assert not any("IHDR" in line or "plan.png" in line for line in lines)
    second = ScriptedModel([returning()])
    outcome = await attempt(Bench(folder=tmp_path), second, plan, log=log)
    assert second.calls[0].messages == first.calls[1].messages
    assert second.calls[0].messages[0].pictures[0].data == PLAN
    assert isinstance(outcome, Result)
    assert outcome.gaps == (line,)


def test_the_room_counts_pictures() -> None:
    plain, seeing = ContextRoom(32_000), ContextRoom(32_000)
    plain.add(ModelMessage(role="user", text="Look."))
    shown = Picture(name="a.png", media_type="image/png", data=png(750, 400))
    seeing.add(ModelMessage(role="user", text="Look.", pictures=(shown,)))
    assert seeing.tokens - plain.tokens == 485
