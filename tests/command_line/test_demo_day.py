"""`leadhand try --demo-day`: what its file may say, what a job has come to, and two scenes played by the real bot."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.command_line import demo_day
from bot.command_line.crew_demo import StagedDemos
from bot.command_line.day_file import DayFileError, DemoDay, read_day
from bot.command_line.demo_day import DayPlayer, find_scene_end
from bot.models.rehearsal.demo_script import DemoScript
from bot.models.rehearsal.rehearsal import RehearsalModel
from bot.settings import Settings
from bot.store.values import Head, JobKey
from specialists.loading import demo_file
from specialists.registry import CREWS_FOLDER
from tests.store.kit import read_head
from tests.system.scene import bot_in, scene_on

ALL = {"answered", "in part", "failed", "cancelled", "question", "approval", "working"}
DAY = """\
crews: [general]
scenes:
  - {ago: "2:00", title: Asked, who: ana, where: "#sales", say: total by product, files: [sales.csv], ends: question,
     then: [{press: customers, later: "0:05", ends: answered}, {react: "+1", later: "0:01"}, {press: Nothing}]}
  - {ago: "0:00", title: Stopped, who: ben, where: "#general", say: total customers, files: [sales.csv], held: true,
     ends: working, then: [{stop: true, ends: cancelled}]}
"""


def test_the_day_has_a_scene_in_every_state_and_its_files_are_there() -> None:
    day = read_day()
    assert {ends for one in day.scenes for ends in (one.ends, *(step.ends for step in one.then))} >= ALL
    for scene in day.scenes:
        assert all((demo_day.SAMPLES_FOLDER / name).is_file() for name in scene.files)
        assert not scene.demo or demo_file.read_demo(CREWS_FOLDER / scene.demo) is not None


@pytest.mark.parametrize(
    ("of", "to", "expected_error"),
    [
        ('ago: "2:00"', "ago: noon", "no time like 7:50"),
        ('ago: "2:00"', 'ago: "0:00"', None),
        ('ago: "0:00"', 'ago: "3:00"', "the clocks only go forward"),
        ("press: customers", "press: customers, react: x", "one of them"),
        ("ends: question", "ends: glory", "Input should be"),
        ("say: total by product", "says: total", "say"),
        ("crews: [general]", "crews: [", "cannot be read"),
    ],
)
def test_a_fault_in_the_file_is_named(tmp_path: Path, of: str, to: str, expected_error: str | None) -> None:
    path = tmp_path / "day.yml"
    path.write_text(DAY.replace(of, to, 1))
    if expected_error is None:
        assert isinstance(read_day(path), DemoDay)
        return
    with pytest.raises(DayFileError, match=expected_error):
        read_day(path)


@pytest.mark.parametrize(
    ("fields", "is_at"),
    [
        ({"state": "completed"}, "answered"),
        ({"state": "completed", "in_part": "1"}, "in part"),
        ({"state": "cancelled"}, "cancelled"),
        ({"state": "input_required", "questions": '[{"approval": true}]'}, "approval"),
        ({"state": "input_required", "questions": "[{}]"}, "question"),
        ({"state": "working", "questions": ""}, "working"),
        ({"state": "submitted"}, ""),
    ],
)
def test_what_a_job_has_come_to(fields: dict[str, str], is_at: str) -> None:
    assert find_scene_end(Head(JobKey("T", "J"), 1, 1, 1, None, "", 1.0, 0, False, fields)) == is_at


async def test_scenes_are_played_over_the_day(
    server_url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "day.yml"
    path.write_text(DAY)
    day = read_day(path)
    staged = StagedDemos(Settings(env={}), {}, (DemoScript("total customers", None, is_held=True),))
    model = RehearsalModel().with_scripts(*staged.scripts)
    async with scene_on(server_url) as scene:
        scene.workspace.clock.advance(-7200)
        async with bot_in(scene.workspace, scene.url, prefix=scene.prefix, model=model, later=-7200) as app:
            player = DayPlayer(scene.workspace, app, app.store, staged, seconds_behind=7200.0)  # type: ignore[arg-type]
            await player.play_day(day)
        asked, stopped = player.played_scenes
        assert (asked.end_state, stopped.end_state) == ("answered", "cancelled")
        assert "no button 'Nothing'" in asked.fault
        times = [float(played.place.thread_ts) for played in player.played_scenes]
        assert 6900 < times[1] - times[0] < 7300
        head = await read_head(scene.store, JobKey(asked.place.team, asked.place.job_id))
        assert abs(float(head.fields["asked"]) - times[0]) < 30  # the store's clock went with the workspace's
    demo_day.print_summary(player.played_scenes, 1.0)
    assert "1 answered, 1 cancelled" in capsys.readouterr().out
