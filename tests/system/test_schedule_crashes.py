"""A run of a schedule is begun by whoever is there: at each call to the store somebody dies, before it or after it."""

from __future__ import annotations

from typing import Any

from bot.app import open_app
from bot.command_line.serve import open_slack_connection
from bot.features.schedules.schedule import Schedule, ScheduleRule
from bot.features.schedules.service import ScheduleService, make_run_place, start_run
from bot.models.rehearsal.rehearsal import RehearsalModel
from bot.settings import Settings
from bot.store.values import JobKey, StoreError
from handoff.contracts import Place
from tests.system.scene import Scene, eventually, extract_shown_text

POINTS = [
    (part, call, after)
    for part, call in (
        ("outbox", "record_intent"),
        ("outbox", "record_sent_message"),
        ("jobs", "ingest"),
        ("schedules", "compare_and_set"),
    )
    for after in (False, True)
]
"""The writes on the way from a run that is due to its request in a thread; each once before and once after."""


class Faulty:
    """A store at whose calls somebody dies: for each mark the first time that its call has it in what it is given."""

    def __init__(self, store: Any, deaths: dict[str, tuple[str, str, bool]]) -> None:
        self._store, self.deaths_left = store, deaths

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)
        return _Part(found, name, self.deaths_left) if name in {"outbox", "jobs", "schedules"} else found


class _Part:
    def __init__(self, part: Any, name: str, deaths_left: dict[str, tuple[str, str, bool]]) -> None:
        self._part, self._name, self._deaths_left = part, name, deaths_left

    def __getattr__(self, name: str) -> Any:
        real = getattr(self._part, name)

        async def call(*args: Any, **options: Any) -> Any:
            given = repr(args)
            here = [mark for mark, (part, each, _) in self._deaths_left.items() if (part, each) == (self._name, name)]
            mark = next((mark for mark in here if mark in given), None)
            after = self._deaths_left.pop(mark)[2] if mark is not None else False
            if mark is not None and not after:
                raise StoreError("somebody died")
            came = await real(*args, **options)
            if mark is not None:
                raise StoreError("somebody died")
            return came

        return call if name in {each for _, each, _ in POINTS} else real


async def test_whoever_dies_where_there_is_one_line_and_one_request(scene: Scene) -> None:
    team, channel = scene.workspace.team_id, scene.workspace.channel_id("#general")
    desk, due = ScheduleService(scene.store), scene.store.clock()
    deaths: dict[str, tuple[str, str, bool]] = {}
    every: list[Schedule] = []
    for number, (part, call, after) in enumerate(POINTS):
        of: dict[str, Any] = {"team": team, "channel": channel, "owner": scene.person().id, "state": "on"}
        one = await desk.create(Schedule(**of, asks=f"list room {number}", rule=ScheduleRule(cron="0 9 1 jan *")))
        assert isinstance(one, Schedule)
        every.append(one)
        mark = (
            make_run_place(one, due).job_id
            if part == "outbox"
            else f'"schedule":"{one.id}"'
            if call == "ingest"
            else one.id
        )
        deaths[mark] = (part, call, after)
        await start_run(scene.store, one, due)
    place = scene.workspace
    settings = Settings(env={}, bot_token=place.bot_token, app_token=place.app_token, slack_api_url=place.api_url)
    faulty = Faulty(scene.store, deaths)
    async with open_app(settings, faulty, RehearsalModel()) as app, open_slack_connection(app.bolt, settings):  # type: ignore[arg-type]

        async def all_died() -> bool:
            return not faulty.deaths_left

        await eventually(all_died)
    async with scene.bot(later=60.0):

        async def all_ran() -> bool:
            return all(one.last is not None and one.last.job for one in await desk.list_schedules(team))

        await eventually(all_ran)
        lines = [one for one in scene.workspace.messages(channel) if ", asked by <@" in extract_shown_text(one)]
        assert sorted(extract_shown_text(one).partition(": list ")[2][:6] for one in lines) == [
            f"room {n}" for n in range(len(POINTS))
        ]
        for line in lines:
            job = await scene.thread("#general", line["ts"]).over()
            assert len(job.requests) == 1
        for one in every:
            head = await scene.store.jobs.read_head(JobKey(team, make_run_place(one, due).job_id))
            assert head is not None
            assert head.fields["state"] == "completed"
        there = {Place(team=team, channel=channel, thread_ts=line["ts"]).job_id for line in lines}
        assert {one.last.job for one in await desk.list_schedules(team) if one.last is not None} == there
