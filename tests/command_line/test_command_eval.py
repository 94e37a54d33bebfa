"""`leadhand eval`: the whole command, with a scripted model over a real wire."""

import asyncio
import json
import signal
from pathlib import Path

import pytest

from tests.command_line.command import CommandResult, Running, environment, leadhand, leadhand_inside
from tests.providers.rendering import Reply
from tests.providers.server import Brain, ProviderServer

CREW = """---
name: scribe
description: Writes short texts.
tools: []
model: fast
---
You are the scribe.
"""
ROUTING = "".join(f"- {{id: r{n}, input: 'text {n}', expect: scribe, tags: [en]}}\n" for n in range(1, 9))
PLAN = {
    "goal": "g",
    "subtasks": [
        {
            "id": "a",
            "title": "A text",
            "intent": "Write the text that was asked for in the channel.",
            "specialist": "scribe",
            "after": [],
            "done_when": "There is a text.",
        }
    ],
}


@pytest.fixture
def crew(tmp_path: Path) -> Path:
    folder = tmp_path / "desk"
    (folder / "evaluation").mkdir(parents=True)
    (folder / "scribe.md").write_text(CREW, encoding="utf-8")
    (folder / "evaluation" / "routing.yml").write_text(ROUTING, encoding="utf-8")
    return folder


def env_of(server: ProviderServer, tmp_path: Path) -> dict[str, str]:
    names = {f"LEADHAND_MODEL_{tier}": "m" for tier in ("FAST", "BALANCED", "DEEP")}
    return environment(tmp_path, OPENAI_BASE_URL=server.openai_url, OPENAI_API_KEY="k", **names)


def brain(naive: str) -> Brain:
    return lambda request: Reply(naive if request.answer_schema is None else json.dumps(PLAN))


async def run_evaluation(crew: Path, naive: str, *more: str | Path) -> CommandResult:
    async with ProviderServer(brain(naive)) as server:
        words = ["eval", "--crew", crew, "--sets", "routing", *more]
        return await asyncio.to_thread(leadhand, *words, env=env_of(server, crew.parent))


async def test_the_table_is_printed_and_the_run_is_kept(crew: Path, tmp_path: Path) -> None:
    kept = tmp_path / "run.json"
    ended = await run_evaluation(crew, "the writer", "--limit", "6", "--seed", "3", "--parallel", "2", "--json", kept)
    assert ended.code == 0, ended.err
    lines = [" ".join(line.split()) for line in ended.out.splitlines()]
    assert lines[0].startswith("set n right share 95 % errors tokens in/out dollars p50 s p")
    assert lines[1].startswith("routing 6 6 100 % 61 % to 100 % 0 ")
    assert lines[2].startswith("naive prompt 6 0 0 % 0 % to 39 % 0 ")
    assert lines[2].endswith(" 0.031")
    assert "6 cases of each set drawn with seed 3" in ended.err
    assert "12/12 " in ended.err
    assert "product" not in ended.err.splitlines()[0]
    run = json.loads(kept.read_text(encoding="utf-8"))
    assert (run["complete"], run["seed"], len(run["records"]), run["crew"]) == (True, 3, 12, "desk")
    rehearsed = environment(tmp_path, LEADHAND_MODEL="rehearsal")
    for words, said in (
        (["--resume", kept], "and this is rehearsal"),
        (
            ["--sets", "routing", "--json", kept],
            f"{kept} is there already: go on with --resume {kept}",
        ),
    ):
        refused = await asyncio.to_thread(leadhand, "eval", "--crew", crew, *words, env=rehearsed)
        assert (refused.code, said in refused.err) == (1, True), refused.err
    assert json.loads(kept.read_text(encoding="utf-8")) == run


async def test_an_interrupted_run_keeps_what_it_has_and_can_be_gone_on_with(crew: Path, tmp_path: Path) -> None:
    kept, never = tmp_path / "run.json", asyncio.Event()
    asked = 0

    async def until_the_sixth(_: object) -> Reply:
        nonlocal asked
        asked += 1
        if asked > 5:
            await never.wait()
        return Reply("scribe")

    words = ["eval", "--crew", str(crew), "--sets", "routing", "--parallel", "1", "--json", str(kept)]
    async with ProviderServer(until_the_sixth) as server:
        command = await Running.start(*words, env=env_of(server, tmp_path))
        await command.says("2/16 ")
        code = await command.stop(signal.SIGINT)
    assert code == 130
    assert f"go on with `leadhand eval --resume {kept}`" in command.out
    before = json.loads(kept.read_text(encoding="utf-8"))
    assert before["complete"] is False
    done = len(before["records"])
    assert 2 <= done < 16
    async with ProviderServer(brain("scribe")) as server:
        words = ["eval", "--crew", crew, "--resume", kept]  # it knows which sets
        ended = await asyncio.to_thread(leadhand, *words, env=env_of(server, tmp_path))
    assert ended.code == 0, ended.err
    assert f"{done + 1}/16 " in ended.err
    after = json.loads(kept.read_text(encoding="utf-8"))
    assert after["complete"] is True
    assert after["records"][:done] == before["records"]
    assert len(after["records"]) == 16


async def test_two_runs_are_compared(crew: Path, tmp_path: Path) -> None:
    one, two = tmp_path / "a.json", tmp_path / "b.json"
    await run_evaluation(crew, "the writer", "--json", one)
    await run_evaluation(crew, "scribe", "--json", two)
    ended = await asyncio.to_thread(leadhand, "eval", "--compare", one, two, env=environment(tmp_path))
    assert ended.code == 0, ended.err
    assert "routing naive: 0 of 8 right before, 8 after; better (p 0.008)" in ended.out
    assert "routing product: 8 of 8 right before, 8 after; no change beyond chance (p 1.000)" in ended.out


async def test_a_failed_call_shows_in_the_exit_code(crew: Path) -> None:
    async with ProviderServer(lambda _: Reply("scribe")) as server:
        env = env_of(server, crew.parent)
    ended = await asyncio.to_thread(  # nobody serves any more
        leadhand, "eval", "--crew", crew, "--sets", "routing", "--limit", "1", env=env
    )
    assert ended.code == 3, ended.err
    assert "1/2 ! routing r" in ended.err


@pytest.mark.parametrize(
    ("words", "expected_error"),
    [
        (["--sets", "poems"], "There is no set called 'poems'"),
        (["--crew", "/nowhere/at/all", "--sets", "routing"], "There is no set 'routing'"),
        (["--compare", "/nowhere/a", "/nowhere/b"], "/nowhere/a cannot be read"),
        (["--resume", "/nowhere/a"], "/nowhere/a cannot be read"),
        (["--sets", "figures", "--json", "/nowhere/a"], "/nowhere/a cannot be written"),
    ],
)
def test_what_cannot_be_run_is_refused_at_once(
    words: list[str], expected_error: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ended = leadhand_inside("eval", *words, env=environment(tmp_path, LEADHAND_MODEL="rehearsal"), capture=capsys)
    assert ended.code == 1
    assert expected_error in ended.err
