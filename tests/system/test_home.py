"""The home: what it shows whom, that it is right soon after a change, and what is answered there."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AsyncExitStack

from bot.limits.limit_rules import LimitRules, SpendingBudget
from bot.slack.show import notices
from bot.store.redis.redis_store import Store
from bot.store.values import JobKey
from handoff import events as ev
from handoff.contracts import Place, Request
from handoff.summaries.summary import build_initial_summary
from tests.system.brains import connect, plan, provider, subtask
from tests.system.scene import Scene, extract_shown_text
from tests.system.test_questions import ask_first


def home(scene: Scene, who: str = "ana") -> str:
    view = scene.person(who).home()
    return extract_shown_text(view) if view else ""


async def right(scene: Scene, what: Callable[[], bool]) -> None:
    await scene.workspace.until(what)


async def test_a_question_is_answered_in_the_home_and_two_instances_keep_it_right(scene: Scene) -> None:
    words = {"planner": lambda _: plan(subtask("place", "writer")), "writer": ask_first}
    async with provider(**words) as server, AsyncExitStack() as stack:
        app, _ = [await stack.enter_async_context(scene.bot(connect("chat", server))) for _ in range(2)]
        ana, ben = scene.person(), scene.person("ben")
        await ana.open_home()
        await ben.open_home()
        await scene.workspace.until(lambda: "Nothing waits for you" in home(scene) and ben.home())
        talk = await scene.ask("Where shall we meet?")
        await talk.question()
        await right(scene, lambda: "Which city is it?" in home(scene))
        assert "waiting for you" in home(scene), "it is under way, too"
        assert "place · _writer_" in home(scene), "with the rows of its card"
        assert f"/archives/{talk.channel}/p{talk.ts.replace('.', '')}|In the thread" in home(scene)
        assert "Which city" not in home(scene, "ben"), "who is not asked is shown nothing of it"
        view = ana.home()
        assert view is not None
        await ana.click_in_view(view["id"], "answer:0")
        await talk.over()
        await right(scene, lambda: "Nothing waits for you" in home(scene) and "· done ·" in home(scene))
        await right(scene, lambda: "on 1 request." in home(scene))  # counted within a second of its end
        await app.bolt.client.views_publish(user_id=ana.id, view={"type": "home", "blocks": view["blocks"]})
        old = ana.home()
        assert old is not None
        await ana.click_in_view(old["id"], "answer:1")  # in a home that is not drawn anew yet
        (window,) = await scene.workspace.until(ana.views)

    assert extract_shown_text(window) == notices.CLOSED_QUESTION
    assert "Chosen: Oslo" in talk.join_bot_texts()
    assert [event.text for event in await talk.of(ev.QuestionAnswered)] == ["Oslo"]


async def test_lists_and_the_home_read_heads_alone_and_are_there_in_time(scene: Scene) -> None:
    ana, team = scene.person(), scene.workspace.team_id
    for number in range(45):
        place = Place(team=team, channel="C0000000A", thread_ts=f"17000{number:05}.000100")
        await keep_job(scene.store, place, ana.id, f"request {number}", over=number % 3 > 0)
    strange = Place(team="T0THER000", channel="C0000000A", thread_ts="1700000000.000100")
    await keep_job(scene.store, strange, ana.id, "of another team", over=True)
    async with scene.bot(slots=1, admins=frozenset({ana.id})):
        first = extract_shown_text(await scene.command("jobs"))
        assert "1 to 10 of 45" in first
        assert "request 44" in first
        message = ana.ephemerals("#general")[-1]
        await ana.click("#general", message["ts"], "turn_page_on")
        await scene.workspace.until(lambda: "11 to 20 of 45" in extract_shown_text(ana.ephemerals("#general")[-1]))
        await ana.click("#general", message["ts"], "turn_page_on")
        await scene.workspace.until(lambda: "21 to 30 of 45" in extract_shown_text(ana.ephemerals("#general")[-1]))
        assert "is no state of jobs" in extract_shown_text(await scene.command("jobs nonsense"))
        assert "I do not know that job" in extract_shown_text(await scene.command(f"status {strange.job_id}"))
        reply = "p1700009999000100?thread_ts=1700000000.000100&cid=C0000000A"
        link = f"https://x.slack.com/archives/{strange.channel}/{reply}"
        assert "request 0" in extract_shown_text(await scene.command(f"status {link}")), (
            "a link names the job of our own team"
        )
        await ana.open_home()
        await scene.workspace.until(lambda: "Instances" in home(scene))
        assert "1 to 10 of 15" in home(scene), "those that are not over"
        assert "1 to 10 of 30" in home(scene)


async def test_commands_tell_who_works_here_who_would_get_it_and_what_was_spent(scene: Scene) -> None:
    cleo = scene.person("cleo")
    async with scene.bot(
        admins=frozenset({cleo.id}), rules=LimitRules(budgets={"person": SpendingBudget(tokens=50_000)})
    ):
        crew = extract_shown_text(await scene.command("crew"))
        assert "*analyst* · balanced" in crew
        assert "Cannot: browse the web, write documents" in crew
        assert "There is no crew “pirates”" in extract_shown_text(await scene.command("crew pirates"))
        helped = extract_shown_text(await scene.command("help"))
        assert "third quarter? Draft a note to the board” with a file such as `churn.csv`" in helped
        assert helped.partition("For example, here")[2].count("• “") == 3
        talk = await scene.ask("what can you do?")
        await talk.over()
        ana = scene.person()
        await scene.command("route search the web for prices of tea")
        await scene.workspace.until(lambda: "researcher gets it as it stands" in str(ana.ephemerals("#general")))
        mine, theirs = (
            extract_shown_text(await scene.command("budget")),
            extract_shown_text(await scene.command("budget", who="cleo")),
        )
        assert "on 1 request." in mine
        assert "Your budget today" in mine
        assert "The workspace" not in mine
        assert "nothing spent yet" in theirs
        assert "The workspace" in theirs
        assert "Only an admin may list everybody's jobs" in extract_shown_text(await scene.command("jobs all"))
        assert "No job is under way" in extract_shown_text(await scene.command("jobs all", who="cleo"))
        assert "Did you mean `/leadhand budget`? Nothing was started." in extract_shown_text(
            await scene.command("budgte")
        )


async def keep_job(store: Store, place: Place, user: str, text: str, *, over: bool) -> None:
    """A job as its log and head are kept, so far in the future that nobody begins to work on it."""
    key = JobKey(place.team, place.job_id)
    request = Request(id=place.thread_ts, user=user, text=text, at=store.clock())
    fields = build_initial_summary(place, request) | ({"state": "completed"} if over else {})
    event = ev.RequestAdded(at=request.at, place=place, request=request)
    await store.jobs.ingest(key, ev.dump_event(event), dedupe=(), user=user, fields=fields)
    claim = await store.jobs.claim("seed", lease=60, schema=99, preferred_job=key)
    assert claim is not None
    assert claim.key == key
    taken = [entry.seq for entry in await store.jobs.read_inbox(key)]
    await store.jobs.commit(claim, "1", 0, [ev.dump_event(event)], taken_entries=taken, schema=1, starts_expiry=over)
    await store.jobs.release(claim, due=None)
