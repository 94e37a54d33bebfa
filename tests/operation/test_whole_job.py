"""One whole job of a real `leadhand run`: counted right, and nothing of it in the log."""

import asyncio
import json
import signal
from pathlib import Path
from urllib.parse import urlsplit

from bot.operation.trace_export import ENDPOINT_VARIABLE
from bot.workspace.fault_injection import FaultKind
from bot.workspace.workspace_server import Workspace
from tests.command_line.command import ROOT, Running, environment
from tests.command_line.test_command_run import slack
from tests.operation.collector import Collector, attributes, collecting
from tests.operation.probe import ProbeAnswer, Samples, look, url_of
from tests.patience import eventually, patience
from tests.providers.faults import Fault
from tests.providers.rendering import Reply
from tests.providers.server import ProviderServer
from tests.store.kit import tcp_server
from tests.system.brains import in_turn, make_rehearsal_brain, plan, result, subtask, tool_call
from tests.system.scene import extract_shown_text

MARK = "Zanzibar"
"""In everything that people and models say."""
KEY, PASSWORD = "sk-proj-0123456789abcdefghij", "pa55word-of-the-store"
PLAN = plan(
    subtask("a", "analyst", intent=f"Find out what the attached table says about {MARK}."),
    subtask("b", "writer", ["a"]),
    goal=f"Tell of {MARK}",
)
WORDS = {
    "planner": in_turn(Reply(f"no plan about {MARK}"), PLAN),
    "analyst": in_turn(
        tool_call("calculate", code=f"{MARK} + 1"),
        tool_call(f"dig_up_{MARK}", where=MARK),
        tool_call("publish_nothing", **{MARK: MARK}),
        result(f"It is in {MARK}."),
    ),
    "writer": in_turn(
        tool_call("publish_document", title=f"About {MARK}", markdown=f"# {MARK}"), result(f"A note on {MARK}")
    ),
    "synthesizer": lambda _: Reply(f"All of it happened in {MARK}. " * 10),
}
FAULTS: tuple[tuple[str, FaultKind], ...] = (
    ("chat.postMessage", "server_error_after"),
    ("agents.sessions.setStatus", "rate_limited"),
    ("files.getUploadURLExternal", "server_error_before"),
    ("reactions.add", "server_error_before"),
)


async def test_a_whole_job_is_counted_and_nothing_of_it_is_logged(tmp_path: Path) -> None:
    place = await Workspace.start(ROOT / "manifest.yml")
    with tcp_server(tmp_path / "redis", "--appendonly", "yes", "--requirepass", PASSWORD) as port:
        async with ProviderServer(make_rehearsal_brain(**WORDS)) as server, collecting() as collector:
            models = {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": server.openai_url}
            tiers = {f"LEADHAND_MODEL_{tier}": "gpt-6.1-terra" for tier in ("FAST", "BALANCED", "DEEP")}
            here = {"LEADHAND_OPERATION": "127.0.0.1:0", "LEADHAND_LOG": "json", ENDPOINT_VARIABLE: collector.url}
            store = {"REDIS_URL": f"redis://default:{PASSWORD}@127.0.0.1:{port}"}
            env = environment(tmp_path / "data", **slack(place, **models, **tiers, **here, **store))
            server.fail_next(Fault("overloaded", retry_after="0"))
            running = await Running.start("run", "-v", env=env)
            try:
                url = await url_of(running)
                for method, kind in FAULTS:
                    place.faults.add(method, kind)
                seen = await ask_for_reply(place)
                page = await eventually(lambda: fetch_final_metrics(url))
                counts = Samples(page.text)
                async with asyncio.timeout(patience()):
                    await collector.took.wait()
            finally:
                code = await running.stop(signal.SIGTERM)
            calls, tokens = server.stats.calls, sum(request.prompt_tokens for request in server.requests[1:])
        await place.stop()

    assert code == 0
    assert MARK in seen, seen
    assert page.content_type.startswith("text/plain; version=")
    check_counts(counts, calls, tokens, urlsplit(server.openai_url).netloc)
    check_trace(collector, counts)
    check_log(running.out, (MARK, KEY, PASSWORD, place.bot_token, place.app_token, place.signing_secret))
    for token in (MARK, KEY, PASSWORD, place.bot_token, place.app_token):
        assert token not in page.text


async def fetch_final_metrics(url: str) -> ProbeAnswer | None:
    """The metrics, once the end of the request is counted: that follows what the thread shows."""
    page = await look(url, "/metrics")
    return page if Samples(page.text).of("requests_ended_total") else None


async def ask_for_reply(place: Workspace) -> str:
    """Mention the bot, with a file, and wait for the end of it. Gives what it said at last."""
    person = place.person("ana")
    table = (f"{MARK}.csv", f"place,visits\n{MARK},3\n{MARK} East,4\n".encode())
    ts = await person.say("#general", f"@leadhand tell me about {MARK}", files=[table])
    channel = place.channel_id("#general")

    def find_last_reply() -> str:
        replies = [extract_shown_text(message) for message in place.thread(channel, ts)[1:] if not message.get("files")]
        over = place.session(channel, ts)["status"] == "active"
        return replies[-1] if over and len(replies) > 1 else ""

    return str(await place.until(find_last_reply, timeout=patience()))


def check_counts(counts: Samples, calls: int, tokens: int, provider_name: str) -> None:
    assert counts.of("jobs_claimed_total") >= 1
    assert counts.of("commits_total", outcome="ok") > 3
    assert counts.of("commits_total") == counts.of("commits_total", outcome="ok")
    assert counts.of("claim_to_first_commit_seconds_count") == counts.of("jobs_claimed_total")
    assert counts.of("slots") == 20
    assert counts.of("requests_ended_total", end="completed") == counts.of("requests_ended_total") == 1
    assert 0 < counts.of("request_seconds_sum", end="completed") < 40
    provider = {"provider": provider_name, "model": "gpt-6.1-terra"}
    assert counts.of("model_calls_total", **provider, outcome="ok") == calls - 1, "one was tried again"
    assert counts.of("model_tokens_total", **provider, direction="in") >= tokens > 0
    assert counts.of("tool_calls_total", tool="calculate", outcome="failed") == 1
    assert counts.of("tool_calls_total", tool="publish_document", outcome="ok") == 1
    assert counts.of("tool_calls_total", outcome="broke") == 0
    status = "agents.sessions.setStatus"
    for method, outcome in (("chat.postMessage", "failed"), (status, "limited"), (status, "ok"), ("chat.update", "ok")):
        assert counts.of("slack_calls_total", method=method, outcome=outcome) >= 1
    assert counts.of("slack_rate_limited_total", method=status) == 1
    assert counts.of("posts_reconciled_total") >= 1
    assert counts.of("store_errors_total") == 0
    assert counts.of("store_memory_bytes") > 100_000
    assert counts.of("store_memory_limit_bytes") == 0


def check_trace(collector: Collector, counts: Samples) -> None:
    """The collector got the whole of it, with every token, and nothing that anybody said."""
    found = [attributes(span) for span in collector.spans]
    kinds = [one.get("gen_ai.operation.name", "") for one in found]
    assert kinds.count("invoke_workflow") == 1
    assert kinds.count("plan") == 3, "to the first responder, and two of the planner, of which one was rejected"
    assert {one["gen_ai.tool.name"] for one in found if "gen_ai.tool.name" in one} == {
        "calculate",
        "publish_document",
        "other",
    }
    used = sum(one.get("gen_ai.usage.input_tokens", 0) for one in found)
    assert used == counts.of("model_tokens_total", direction="in")
    assert {span.trace_id for span in collector.spans} == {collector.spans[0].trace_id}
    told = [(span.name, one) for span, one in zip(collector.spans, found, strict=True) if MARK in f"{span.name} {one}"]
    assert told == []
    for secret in (MARK, KEY, PASSWORD):
        assert secret.encode() not in b"".join(collector.bodies)


def check_log(out: str, secret: tuple[str, ...]) -> None:
    lines = [line for line in out.splitlines() if line]
    (start,) = (line for line in lines if not line.startswith("{"))
    assert start.startswith("Leadhand is listening")
    records = [json.loads(line) for line in lines if line is not start]
    # What processes of other tests left behind is swept away as the bot starts.
    records = [record for record in records if record["logger"] != "bot.operation.leftovers"]
    assert [record for record in records if record["level"] == "error"] == []
    assert {"info", "warning"} <= {record["level"] for record in records}
    assert any(record.get("event") == "reconciled" and record["job"].startswith("J") for record in records)
    (instance,) = {record["instance"] for record in records if "instance" in record}
    assert len([record for record in records if "instance" not in record]) == 1, "only the last line is nobody's"
    assert len(instance) == 12
    for token in secret:
        assert token not in out
        assert token.lower() not in out.lower()
