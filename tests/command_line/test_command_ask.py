"""`leadhand try --ask`: one job in the terminal, its files, its trace, and its exit code."""

import argparse
import asyncio
import json
import os
import re
from pathlib import Path

import pytest

from bot.command_line.one_job import run_one_job
from bot.slack.receive.attachments import MAX_FILE_BYTES
from bot.slack.views.home import USUAL_PROMPTS
from tests.command_line.command import CommandResult, environment, leadhand, leadhand_inside, processes_in, words
from tests.providers.faults import Fault
from tests.providers.server import ProviderServer
from tests.system.scene import scene_on

TOTALS = "What is the total revenue by month? Draft a short note to the board."


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("data")


@pytest.fixture(scope="module")
def answered_job(data: Path, table: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[CommandResult, Path]:
    """A job that is answered, and the folder of its files, which was not there before."""
    out = tmp_path_factory.mktemp("out") / "made" / "here"
    return leadhand("try", "--ask", TOTALS, "--file", table, "--out", out, env=environment(data), afresh=True), out


def test_a_job_is_shown_as_its_thread(answered_job: tuple[CommandResult, Path]) -> None:
    ended, _ = answered_job
    assert (ended.code, ended.err) == (0, "")
    lines = ended.out.splitlines()
    wanted = ["ana:", f"@leadhand {TOTALS}", "[file] sales.csv", "leadhand:"]
    assert words(ended.out, wanted) == []
    rows = [line.strip() for line in lines if "(analyst" in line or "(writer" in line]
    assert any(row.startswith("✓") and "(analyst" in row for row in rows), rows
    assert any(row.startswith("✓") and "(writer" in row for row in rows), rows


def test_the_answer_has_the_figures_and_its_context_line(answered_job: tuple[CommandResult, Path]) -> None:
    out = answered_job[0].out
    for figure in ("15", "35", "55"):  # North and South together, by month
        assert f"| {figure} |" in out, out
    (context,) = [line for line in out.splitlines() if line.startswith("rehearsal (no language model)")]
    assert re.fullmatch(r"rehearsal \(no language model\) · [\d.]+ s", context)
    assert re.search(r"Job J\w{10}$", out, re.MULTILINE), "the operator's figures stand below"


def test_made_files_are_on_disk_and_named(answered_job: tuple[CommandResult, Path]) -> None:
    ended, out = answered_job
    written = [Path(line.removeprefix("wrote ")) for line in ended.out.splitlines() if line.startswith("wrote ")]
    assert written
    assert sorted(written) == sorted(out.iterdir())
    charts = [path for path in written if path.suffix == ".png"]
    assert charts
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in charts)


def test_nothing_is_left_behind(answered_job: tuple[CommandResult, Path], data: Path) -> None:
    assert answered_job[0].code == 0
    assert processes_in(data) == []
    assert list(data.iterdir()) == [], "the job has a data folder of its own, which is gone"


def test_the_trace_alone_is_printed_as_json_and_no_file_is_overwritten(data: Path, table: Path, tmp_path: Path) -> None:
    mine = tmp_path / "total-revenue-by-month.png"
    mine.write_bytes(b"mine")
    ended = leadhand(
        "try", "--ask", TOTALS, "--file", table, "--json", "--out", tmp_path, env=environment(data), folder=tmp_path
    )
    trace = json.loads(ended.out)
    assert (ended.code, ended.err) == (0, "")
    assert trace["state"] == "completed"
    assert [event["seq"] for event in trace["events"]] == list(range(1, len(trace["events"]) + 1))
    kinds = {event["type"] for event in trace["events"]}
    assert {"RequestAdded", "PlanProposed", "ResultReturned", "AnswerWritten"} <= kinds, kinds
    assert mine.read_bytes() == b"mine"
    assert len(list(tmp_path.glob("*.png"))) == 2


def test_what_is_answered_in_part_says_what_is_missing(data: Path, table: Path, tmp_path: Path) -> None:
    text = tmp_path / "terms.txt"
    text.write_text("Support answers within a day.")
    files = ("--file", table, "--file", text)
    ended = leadhand("try", "--ask", "show total revenue by month", *files, "--out", tmp_path, env=environment(data))
    assert ended.code == 3
    assert "| 55 |" in ended.out
    assert "Answered in part" in ended.out
    assert ended.err.startswith("leadhand: answered in part, 1 gap: ")
    assert "read terms.txt beside a table without a language model" in ended.err
    assert list(tmp_path.glob("*.png"))


def test_a_question_that_nobody_is_there_to_answer(data: Path, table: Path, tmp_path: Path) -> None:
    other = tmp_path / "costs.csv"
    other.write_text(table.read_text(encoding="utf-8").replace("revenue", "cost"), encoding="utf-8")
    ended = leadhand("try", "--ask", "What is the average?", "--file", table, "--file", other, env=environment(data))
    assert ended.code == 1
    assert "Which of the files do you mean?" in ended.out
    assert "[ sales.csv ]  [ costs.csv ]" in ended.out
    assert ended.err.startswith("leadhand: the job asks, and there is nobody here to answer: Which of the files")


def test_an_empty_request_is_told_what_to_write(data: Path) -> None:
    ended = leadhand("try", "--ask", "  ", env=environment(data))
    assert ended.code == 1
    assert "without a request" in ended.err


def test_what_is_answered_without_a_job_is_printed_at_once_and_has_no_trace(data: Path) -> None:
    ended = leadhand("try", "--ask", "Help!", "--timeout", "20", env=environment(data))
    assert (ended.code, ended.err) == (0, "")
    assert "/leadhand trace JOB" in ended.out, ended.out
    ended = leadhand("try", "--ask", "help", "--json", "--timeout", "20", env=environment(data))
    assert (ended.code, ended.out) == (1, "")
    assert ended.err == "leadhand: that is answered without a job, so it has no trace\n"


@pytest.mark.parametrize("prompt", [*(text for _, text in USUAL_PROMPTS), "stop"])
async def test_a_suggested_prompt_works_as_it_stands(
    server_url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], prompt: str
) -> None:
    options = argparse.Namespace(ask=prompt, json=False, demo=False, out=tmp_path, timeout=20.0)
    async with scene_on(server_url) as scene, scene.bot() as app:
        code = await run_one_job(scene.workspace, app, options, [])
    told = capsys.readouterr()
    assert (code, told.err) == (0, "")
    assert prompt != "stop" or "There is nothing to stop" in told.out


def test_a_request_that_takes_too_long_is_given_up(data: Path) -> None:
    env = environment(data, LEADHAND_REHEARSAL_PACE="30")
    ended = leadhand("try", "--ask", "Write a note.", "--timeout", "1", env=env)
    assert (ended.code, ended.err) == (1, "leadhand: no answer within 1 s\n")


def test_a_file_that_cannot_be_attached(data: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    huge = tmp_path / "huge.csv"
    with huge.open("wb") as stream:
        stream.truncate(2 * MAX_FILE_BYTES + 1)
    for path, fault in (
        ("nothing.csv", "there is no such file"),
        (".", "this is not a file"),
        ("/dev/null", "this is not a file"),
        ("/proc/self/mem", "Input/output error"),
        (huge, "it is too large (65 MB); at most 32 MB are read.\n"),
    ):
        if os.path.exists(path) or path == "nothing.csv":  # noqa: PTH110 - Path.exists follows what it may not
            ended = leadhand_inside(
                "try", "--ask", "Profile it.", "--file", path, env=environment(data), capture=capsys
            )
            assert (ended.code, ended.out) == (1, "")
            assert ended.err.startswith(f"leadhand: --file {path}: ")
            assert fault in ended.err


def test_files_without_a_request_and_places_where_nothing_can_be_written(
    data: Path, capsys: pytest.CaptureFixture[str], table: Path
) -> None:
    ended = leadhand_inside("try", "--file", table, env=environment(data), capture=capsys)
    assert (ended.code, ended.err) == (1, "leadhand: --file and --json go with --ask.\n")
    out = table / "below"
    ended = leadhand_inside("try", "--ask", "Hello", "--out", out, env=environment(data), capture=capsys)
    assert (ended.code, ended.out) == (1, "")
    assert ended.err.startswith(f"leadhand: --out {table}/below: nothing can be written there")


def test_a_file_that_is_not_what_its_name_says(data: Path, tmp_path: Path) -> None:
    wrong = tmp_path / "sales.xlsx"
    wrong.write_bytes(b"\x00\x01 this is no workbook")
    ended = leadhand("try", "--ask", "What is the total revenue?", "--file", wrong, env=environment(data))
    assert ended.code in {1, 3}
    assert "sales.xlsx" in ended.err
    assert ended.err.count("\n") == 1


async def test_a_key_that_the_provider_refuses(data: Path) -> None:
    async with ProviderServer(lambda _: Fault("bad_key")) as server:
        env = environment(data, ANTHROPIC_API_KEY="sk-wrong", ANTHROPIC_BASE_URL=server.url)
        ended = await asyncio.to_thread(leadhand, "try", "--ask", "Write a note.", env=env)
    assert ended.code == 1
    assert "I could not answer this" in ended.out
    assert ended.err == "leadhand: Write a note.: Anthropic does not accept the API key. Check it.\n"
    assert "sk-wrong" not in ended.out + ended.err
