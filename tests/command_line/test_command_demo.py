"""`leadhand try --crew NAME --demo`: which demos there are, what is refused, and a demo from end to end."""

from __future__ import annotations

import argparse
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from bot.command_line import crew_demo
from bot.command_line.one_job import NOBODY_APPROVES_TEXT, run_one_job
from bot.models.rehearsal.demo_script import NO_DEMO, find_script
from bot.models.rehearsal.rehearsal import RehearsalModel
from bot.settings import Settings, SettingsError, read_settings
from bot.slack.views.answer_message import SCRIPTED_LABEL
from specialists.registry import load_crew
from specialists.tools.toolkit import ToolSettings
from tests.command_line.command import CommandResult, environment, leadhand_inside
from tests.own_tools import all_tools
from tests.system.scene import scene_on

GIT = shutil.which("git") or "/usr/bin/git"
PAGE = "---\nname: scout\ndescription: Reads.\ntools: [web_search]\nmodel: fast\n---\nYou are the scout.\n"
DEMO = """\
says: A scout searches.
ask: What does Acme charge?
files: [note.txt]
pages: pages
settings: {LEADHAND_DATA: "{demo}/shop"}
prepare: {shop: shop.bundle}
replies:
  plan: [{id: read, specialist: scout}]
  specialists: {scout: [{web_search: {query: acme}}, {return_result: {content: "Acme charges 12 dollars."}}]}
"""


@pytest.fixture
def crew(tmp_path: Path) -> Path:
    """A crew with a demo of everything: a file, a page, a repository."""
    demo = tmp_path / "crew" / "demo"
    (demo / "pages").mkdir(parents=True)
    (demo.parent / "scout.md").write_text(PAGE)
    (demo / "demo.yml").write_text(DEMO)
    (demo / "note.txt").write_text("A note.")
    (demo / "pages" / "acme.txt").write_text("Acme charges 12 dollars.")
    (demo / "pages" / "index.yml").write_text("- {url: 'https://acme.example/', file: acme.txt, title: Acme}\n")
    shop = tmp_path / "shop"
    for command in (["init", "-q", str(shop)], ["-C", str(shop), "commit", "-q", "--allow-empty", "-m", "one"]):
        subprocess.run([GIT, "-c", "user.name=a", "-c", "user.email=a@b.example", *command], check=True)
    subprocess.run([GIT, "-C", str(shop), "bundle", "create", "-q", str(demo / "shop.bundle"), "--all"], check=True)
    return demo.parent


def lies_there(path: Path) -> bool:
    return path.exists()


@pytest.fixture
def command_runner(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., CommandResult]:
    """`leadhand try` with these arguments, for what is said at once."""
    return lambda *arguments: leadhand_inside("try", *arguments, env=environment(tmp_path), capture=capsys)


def test_the_demos_are_listed_with_a_line_each(command_runner: Callable[..., CommandResult]) -> None:
    ended = command_runner("--demo")
    assert (ended.code, ended.err) == (0, "")
    listed = {line.split()[0]: line for line in ended.out.splitlines()}
    assert {"contract", "intelligence", "patient", "portfolio"} <= set(listed)
    assert "three cloud providers" in listed["portfolio"].lower()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--page",), "--page goes with --demo"),
        (("--demo", "--crew", "contract", "--ask", "Hello"), "--demo brings its own request and files"),
        (("--demo", "--crew", "{bare}"), "has no demo"),
        (("--demo", "ops"), "a demo is named by its crew, such as: leadhand try --crew ops --demo"),
    ],
)
def test_what_does_not_go_together_is_said(
    command_runner: Callable[..., CommandResult], tmp_path: Path, arguments: list[str], words: str
) -> None:
    (tmp_path / "bare").mkdir()
    (tmp_path / "bare" / "scout.md").write_text(PAGE)
    ended = command_runner(*(each.format(bare=tmp_path / "bare") for each in arguments))
    assert ended.code == 1
    assert words in ended.err


async def test_a_demo_is_made_ready_on_a_copy_of_its_material(crew: Path) -> None:
    async with crew_demo.stage_demo(Settings(env={}, crew=str(crew))) as demo:
        (file,) = demo.files
        assert file.read_text() == "A note."
        assert crew not in file.parents
        shop = Path(demo.settings.env["LEADHAND_DATA"])
        assert (shop / ".git").is_dir()
        assert Path(demo.settings.env["LEADHAND_RECORDED_PAGES"]) == shop.parent / "pages"
    assert not lies_there(shop)


@pytest.mark.parametrize(
    ("file", "text", "words"),
    [
        ("shop.bundle", "no bundle", "shop.bundle cannot be unpacked"),
        ("pages/index.yml", "- {url: acme, file: acme.txt}", "pages/index.yml:1: url is 'acme'"),
        ("demo.yml", DEMO.replace("web_search:", "web_serch:"), "demo.yml:9: scout has no tool web_serch"),
    ],
)
async def test_a_demo_that_cannot_be_played_is_refused_in_a_line(crew: Path, file: str, text: str, words: str) -> None:
    (crew / "demo" / file).write_text(text)
    with pytest.raises(SettingsError) as refused:
        async with crew_demo.stage_demo(Settings(env={}, crew=str(crew))):
            pass
    assert words in str(refused.value)
    assert "\n" not in str(refused.value)


async def test_a_demo_is_played_with_its_real_tools_and_says_that_no_model_read_it(
    crew: Path, server_url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with crew_demo.stage_demo(Settings(env={}, crew=str(crew))) as demo, scene_on(server_url) as scene:
        told = argparse.Namespace(ask=demo.demo.ask, json=False, demo=True, out=tmp_path, timeout=30.0)
        model = demo.prepare_model(RehearsalModel())
        tools = all_tools(ToolSettings(demo.settings.env))
        async with scene.bot(model, crew=load_crew(crew, tools)) as app:
            demo.print_introduction(str(crew), model)
            code = await run_one_job(scene.workspace, app, told, demo.files)
    said = capsys.readouterr().out
    assert code == 0, said
    assert "Web:    recorded pages alone; no network is used" in said
    assert SCRIPTED_LABEL in said
    assert "Acme charges 12 dollars." in said


@pytest.mark.parametrize(
    ("env", "labels"),
    [
        ({}, ["Watch a review", "Watch a support case"]),
        ({"LEADHAND_CREW": "general"}, []),  # the others are not there
        ({"LEADHAND_KNOWLEDGE": "/srv/handbook"}, []),  # a demo's handbook must not stand in for one's own
    ],
)
async def test_the_first_page_offers_two_demos_where_nothing_stands_against_it(
    env: dict[str, str], labels: list[str]
) -> None:
    settings = read_settings(env)
    async with crew_demo.stage_offered_demos(settings) as shown:
        assert [draft.label for draft in shown.drafts] == labels
        assert (shown.settings.crew, shown.settings.more_crews) == (settings.crew, settings.more_crews)
        for draft in shown.drafts:
            assert find_script(shown.scripts, draft.text) is not NO_DEMO


WRITES = '''
from specialists.tools.toolkit import writes


@writes
def pin_note(text: str) -> str:
    """Pin a note to the board."""
    raise AssertionError("nobody said yes")
'''


async def test_a_step_that_writes_is_shown_and_not_done_where_nobody_sits_at_the_terminal(
    crew: Path, server_url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (crew / "toolkits").mkdir()
    (crew / "toolkits" / "board.py").write_text(WRITES)
    (crew / "scout.md").write_text(PAGE.replace("[web_search]", "[web_search, pin_note]"))
    steps = "[{web_search: {query: acme}}, {pin_note: {text: 'Acme charges.'}}, "
    (crew / "demo" / "demo.yml").write_text(DEMO.replace("[{web_search: {query: acme}}, ", steps))
    async with crew_demo.stage_demo(Settings(env={}, crew=str(crew))) as demo, scene_on(server_url) as scene:
        told = argparse.Namespace(ask=demo.demo.ask, json=False, demo=True, out=tmp_path, timeout=30.0)
        settings = ToolSettings(demo.settings.env)
        made = load_crew(crew, all_tools(settings), settings)
        async with scene.bot(demo.prepare_model(RehearsalModel()), crew=made) as app:
            code = await run_one_job(scene.workspace, app, told, demo.files)
    ended = capsys.readouterr()
    said = ended.out
    assert code == 3, said
    assert "*Answered in part.*" in said, "the exit code says what the thread says"
    assert ended.err.startswith("leadhand: answered in part, 1 gap: not done, as nobody approved it in time: ")
    assert "*Tool:* `pin_note`" in said, "the card"
    assert NOBODY_APPROVES_TEXT in said
    assert "`pin_note` was shown, and nobody decided in time: nothing was done." in said
    assert "denied" not in said, "nobody was there to deny it"
    assert "Acme charges 12 dollars." not in said, "words for another course are not said"
