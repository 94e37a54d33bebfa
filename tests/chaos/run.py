"""One run: everything started, errands and faults side by side for so many seconds, then quiet, then the check."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import time
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random

import aiohttp

from bot.store.redis.redis_store import Store
from bot.store.redis_server import Server
from bot.store.values import JobKey, StoreError
from bot.workspace.refusal import ActionFailed
from handoff import events as ev
from tests.chaos import faults
from tests.chaos.crossings import Crossings
from tests.chaos.errands import errands, write_errands_crew
from tests.chaos.far_side import FarSide
from tests.chaos.instances import RESTS, Instance
from tests.chaos.models import Models
from tests.chaos.moves import Moves
from tests.chaos.people import Visit
from tests.chaos.proxy import Proxy
from tests.chaos.server import RedisProcess
from tests.chaos.tap import Tap
from tests.chaos.teams import Team, open_one, open_several
from tests.chaos.toolkit import FAR_SIDE
from tests.chaos.watch import Watch
from tests.nursery.nursery import nursery
from tests.specialists.local_web import serving
from tests.store.kit import free_port
from tests.system.installing import Browser

LEASE = 3.0
SLOTS = 16
START_SECONDS = 300.0
ADMIN = "cleo"
ADMIN_LOOKS = 2.0
"""Seconds between two looks of the admin at what was set aside."""
AT_ONCE = 12
"""Calls that are made at once by all instances together: some have to wait for others."""
DEEP = 14
"""Calls a minute of the model of the tier `deep`: in a long run, some have to wait for their minute."""
BUDGET = 100_000
"""Tokens that a job may spend: only a costly errand spends more."""
SILENCE = 4.0
"""Seconds from a failover until all instances are with the new server: one call more than one that is given up."""
MIN_UP = 2
"""Instances that are connected when something happens to one: on a slow machine a start may take long."""


@dataclass(frozen=True)
class Options:
    """What to run. `rate` is new errands a second, `open` how many go on at a time, both at the most.

    `settle` is how many seconds they have to end once the faults are over; `calm` is a run without faults;
    `teams` is one with several teams, which install the app.
    """

    seed: int
    seconds: float
    rate: float = 2.2
    open: int = 24
    settle: float = 90.0
    calm: bool = False
    teams: bool = False


@dataclass
class Run:
    """A run under way, or over."""

    options: Options
    folder: Path
    teams: list[Team]
    redis: RedisProcess
    proxies: list[Proxy]
    front: Proxy
    """The way to the primary of what only looks on."""
    instances: list[Instance]
    models: Models
    far_side: FarSide
    store: Store
    watch: Watch
    visits: list[Visit]
    moves: Moves | None = None
    """What happens to several teams."""
    crossings: Crossings | None = None
    fault_counts: Counter[str] = field(default_factory=Counter)
    """Faults by kind, but for those that the parts count themselves."""
    outages: list[tuple[float, float]] = field(default_factory=list)
    """When the server was away, in seconds since the epoch."""
    took: float = 0.0
    settle_seconds: float = 0.0

    async def go(self) -> None:
        """Faults and errands for as long as the options say; then no more faults, until all has ended."""
        async with self._at_work():
            began = time.monotonic()
            tracks = [] if self.options.calm else [self._processes(), self._store(), self._slack()]
            tracks += [self.moves.run()] if self.moves is not None else []
            background = [asyncio.create_task(track) for track in tracks]
            open_now: set[asyncio.Task[None]] = set()
            try:
                await self._errands(open_now, began + self.options.seconds)
            finally:
                await _end(background)
            self._calm_down()
            self.took = time.monotonic() - began
            if open_now:
                await asyncio.wait(open_now, timeout=self.options.settle)
            await self._quiet()
            self.settle_seconds = time.monotonic() - began - self.took
            await _end(list(open_now))

    def faults(self) -> Counter[str]:
        """Faults that came about, by kind."""
        moved = self.moves.move_counts if self.moves is not None else Counter()
        counts = +(
            self.fault_counts
            + moved
            + Counter({f"model: {kind}": count for kind, count in self.models.fault_counts.items()})
        )
        for proxy in self.proxies:
            counts += Counter(proxy.loss_counts)
        return counts + Counter({"tool: answer lost": self.far_side.lost_answers})

    @contextlib.asynccontextmanager
    async def _at_work(self) -> AsyncIterator[None]:
        works = [asyncio.create_task(instance.run()) for instance in self.instances]
        works.append(asyncio.create_task(self.watch.run()))
        works.append(asyncio.create_task(self._administer()))
        if self.moves is not None:
            works.append(asyncio.create_task(self._give_up_unheard()))
        try:
            async with asyncio.timeout(START_SECONDS):
                while self._up() < len(self.instances):  # noqa: ASYNC110 - nothing tells of them
                    await asyncio.sleep(0.05)
                if self.moves is not None:
                    await self.moves.install_all()
            yield
        finally:
            await _end(works)

    def _up(self) -> int:
        return sum(instance.up for instance in self.instances)

    async def _errands(self, open_now: set[asyncio.Task[None]], until: float) -> None:
        """Begin errands; each in every team in turn, so that the same is asked in all of them."""
        pace = Random(f"{self.options.seed}/pace")
        for errand, team in itertools.product(errands(self.options.seed), self.teams):
            if time.monotonic() >= until:
                return
            if not team.is_installed:
                continue
            visit = Visit(
                replace(errand, mark=team.word),
                team,
                lambda record: self.far_side.entry_counts[record] > 0,
                self._kill_while_it_streams,
            )
            self.visits.append(visit)
            task = asyncio.create_task(visit.go())
            open_now.add(task)
            task.add_done_callback(open_now.discard)
            await asyncio.sleep(pace.uniform(0.5, 1.5) / self.options.rate)
            while len(open_now) >= self.options.open and time.monotonic() < until:
                await asyncio.wait(open_now, timeout=0.5, return_when=asyncio.FIRST_COMPLETED)

    async def _administer(self) -> None:
        """Release what was set aside, as an admin would: chance may kill three owners of one innocent job in a row."""
        admins = {team.id: team.workspace.person(ADMIN) for team in self.teams}
        while True:
            await asyncio.sleep(ADMIN_LOOKS)
            for key in sorted(self.watch.quarantined_jobs, key=lambda key: key.job):
                with contextlib.suppress(ActionFailed):  # nobody acknowledged it
                    await admins[key.team].command("#general", "/leadhand", f"release {key.job}")

    async def _give_up_unheard(self) -> None:
        """End the visits whose request came to nobody, as the app was out of the team just then."""
        while True:
            await asyncio.sleep(ADMIN_LOOKS)
            for visit in self.visits:
                if visit.is_unheard():
                    with contextlib.suppress(StoreError):
                        visit.unheard = not await self._is_recorded(visit.key, visit.request_timestamps[-1])

    async def _is_recorded(self, key: JobKey, request: str) -> bool:
        entries = [*await self.store.jobs.read_log(key), *await self.store.jobs.read_inbox(key)]
        events = [ev.load_event(entry.payload) for entry in entries]
        return any(isinstance(event, ev.RequestAdded) and event.request.id == request for event in events)

    # -- faults ----------------------------------------------------------------------------------

    async def _processes(self) -> None:
        async with asyncio.TaskGroup() as group:
            for fault in faults.process_faults(self.options.seed):
                await asyncio.sleep(fault.after)
                instance = self.instances[fault.instance]
                while self._up() < MIN_UP or not instance.up:  # noqa: ASYNC110 - nothing tells of it
                    await asyncio.sleep(0.05)
                self.fault_counts[fault.kind] += 1
                if fault.kind == "SIGKILL":
                    instance.kill()
                elif fault.kind == "SIGTERM":
                    group.create_task(instance.deploy())
                else:
                    group.create_task(instance.freeze(fault.leases * LEASE))
                await self.watch.look()

    async def _kill_while_it_streams(self, key: JobKey) -> None:
        """Kill the instance that has a job, if there are others to go on with it."""
        if self.options.calm or self._up() < MIN_UP:
            return
        with contextlib.suppress(StoreError):  # which is away, as happens here
            head = await self.store.jobs.read_head(key)
            name = head.owner.partition(".")[0] if head is not None else ""
            for instance in self.instances:
                if name and instance.is_named(name):
                    self.fault_counts["SIGKILL while it streams"] += 1
                    instance.kill()
                    await self.watch.look()

    async def _store(self) -> None:
        async with asyncio.TaskGroup() as group:
            for fault in faults.store_faults(self.options.seed):
                await asyncio.sleep(fault.after)
                proxy = self.proxies[fault.instance]
                if fault.kind == "server killed":
                    self.fault_counts[fault.kind] += 1
                    await self._server_away(fault.seconds)
                elif fault.kind in {"failover", "failover, frozen"}:
                    self.fault_counts[fault.kind] += 1
                    await self._fail_over(fault)
                elif fault.kind == "black hole":
                    self.fault_counts[fault.kind] += 1
                    group.create_task(self._black_hole(proxy))
                else:
                    for _ in range(fault.times):
                        proxy.lose("reply lost" if fault.kind == "reply lost" else "request lost")

    async def _server_away(self, seconds: float) -> None:
        began = time.time()
        await self.redis.kill()
        try:
            await asyncio.sleep(seconds)
        finally:
            await self.redis.start()
            self.outages.append((began, time.time()))

    async def _fail_over(self, fault: faults.StoreFault) -> None:
        """Let the other server take over. Connections that are open lead to the former one on.

        If the faults end meanwhile, the servers change places all the same, and the instances are led to the new one.
        """
        began = time.time()
        change = asyncio.create_task(self.redis.fail_over())
        try:
            await asyncio.shield(change)
        finally:
            await change
            for proxy in (*self.proxies, self.front):
                proxy.targets = (self.redis.port,)
        frozen = fault.kind == "failover, frozen"
        with self.redis.former_frozen() if frozen else contextlib.nullcontext():
            self.outages.append((began, time.time() + SILENCE))
            await asyncio.sleep(SILENCE + fault.seconds if frozen else 0.0)

    @staticmethod
    async def _black_hole(proxy: Proxy) -> None:
        proxy.shut()
        try:
            await asyncio.sleep(faults.BLACK_HOLE)
        finally:
            proxy.open()

    async def _slack(self) -> None:
        for fault, team in zip(faults.slack_faults(self.options.seed), itertools.cycle(self.teams), strict=False):
            await asyncio.sleep(fault.after)
            if fault.method == "the token":
                self.fault_counts["Slack: token refused"] += 1
                await self._refuse_token(team, fault.seconds)
                continue
            error = {"error": "invalid_auth"} if fault.kind == "error" else {}
            team.workspace.faults.add(fault.method, fault.kind, **error)
            self.fault_counts[f"Slack: {fault.kind}"] += 1
            if fault.then is not None:
                method, kind = fault.then
                team.workspace.faults.add(method, kind, times=2, seconds=5)
                self.fault_counts[f"Slack: {kind}"] += 1

    async def _refuse_token(self, team: Team, seconds: float) -> None:
        world = team.workspace._world
        world.token_error = "invalid_auth"
        try:
            await asyncio.sleep(seconds)
        finally:
            world.token_error = ""

    def _calm_down(self) -> None:
        for team in self.teams:
            waiting = team.workspace.faults
            for queue in (*waiting._calls.values(), *waiting._deliveries.values()):
                for fault in queue:  # these never met their call
                    self.fault_counts[f"Slack: {fault.kind}"] -= 1
            waiting.clear()
        self.models.calm = True
        for proxy in self.proxies:
            proxy.clear()

    async def _quiet(self) -> None:
        """Wait until nothing is due or owned: what follows an answer (the card, the session's status) is done too."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(60.0):
                while await self.store.jobs.read_next_due() is not None:  # noqa: ASYNC110 - the store has to be asked
                    await asyncio.sleep(0.2)
        await asyncio.sleep(1.0)


@contextlib.asynccontextmanager
async def start_run(options: Options, folder: Path) -> AsyncIterator[Run]:
    """A run with everything around the bots ready."""
    logging.getLogger("aiohttp.server").setLevel(logging.CRITICAL)  # it logs each caller that was killed in between
    async with contextlib.AsyncExitStack() as stack:
        redis = await stack.enter_async_context(RedisProcess(folder / "redis"))
        *proxies, front = [await stack.enter_async_context(Proxy(redis.port)) for _ in range(faults.INSTANCES + 1)]
        models = Models(options.seed, calm=options.calm)
        await stack.enter_async_context(models.server)
        far_side = FarSide(options.seed, calm=options.calm)
        book = await stack.enter_async_context(serving(far_side.enter))
        ports = [free_port() for _ in proxies]
        if options.teams:
            balancer = await stack.enter_async_context(Proxy(*ports))
            teams = await open_several(stack, folder, balancer.port)
        else:
            teams = await open_one(stack)
        store = Store(Server(f"redis://127.0.0.1:{front.port}", 3.0))
        stack.push_async_callback(store.close)
        visits: list[Visit] = []
        bots = await stack.enter_async_context(nursery(folder, "tests.chaos.bot"))
        instances = [Instance(number, bots, folder, {}) for number in range(faults.INSTANCES)]
        moves = crossings = None
        if options.teams:
            crossings = models.crossings = Crossings(teams)
            for team in teams:
                await stack.enter_async_context(Tap(team.workspace, crossings.hear))
            session = await stack.enter_async_context(aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()))
            browser = Browser(teams[0].workspace, balancer.port, session)
            moves = Moves(options.seed, options.seconds, teams, instances, store, browser, crossings)
        shared = _environment(teams, models, moves) | {
            "LEADHAND_CREW": str(write_errands_crew(folder / "crew")),
            FAR_SIDE: book.url(""),
        }
        for instance, proxy, port in zip(instances, proxies, ports, strict=True):
            instance.env |= {**shared, "REDIS_URL": f"redis://127.0.0.1:{proxy.port}", "LEADHAND_PORT": str(port)}
        watch = Watch(
            store,
            front.port,
            lambda: [each.key for each in visits if each.request_timestamps and not each.is_done],
            lambda: any(one.up and proxy.is_open for one, proxy in zip(instances, proxies, strict=True)),
        )
        stack.push_async_callback(watch.close)
        places = (redis, proxies, front, instances, models, far_side, store, watch)
        yield Run(options, folder, teams, *places, visits, moves, crossings)


def _environment(teams: list[Team], models: Models, moves: Moves | None) -> dict[str, str]:
    first = teams[0].workspace
    who, admin = first.identity, first.person(ADMIN).id
    tokens = {"SLACK_BOT_TOKEN": who.bot_token, "SLACK_APP_TOKEN": who.app_token}
    if moves is not None:
        tokens = {
            "SLACK_CLIENT_ID": who.client_id,
            "SLACK_CLIENT_SECRET": who.client_secret,
            "SLACK_SIGNING_SECRET": who.signing_secret,
            "LEADHAND_TOKEN_KEYS": ",".join(moves.keys),
        }
    return {
        **tokens,
        "SLACK_API_URL": first.api_url,
        "OPENAI_API_KEY": "chaos",
        "OPENAI_BASE_URL": models.server.openai_url,
        "LEADHAND_MODEL": "openai",
        "LEADHAND_MODEL_FAST": "fast",
        "LEADHAND_MODEL_BALANCED": "balanced",
        "LEADHAND_MODEL_DEEP": "deep",
        # None of them may take the DEEP calls a minute.
        "LEADHAND_ROLES": "planner balanced, replanner balanced, synthesizer balanced, verifier balanced",
        "LEADHAND_LEASE": str(LEASE),
        RESTS: str(LEASE),
        "LEADHAND_SLOTS": str(SLOTS),
        "LEADHAND_SLACK_UNLIMITED": "1",
        "LEADHAND_LOG": "json",
        "LEADHAND_AT_ONCE": str(AT_ONCE),
        "LEADHAND_RATES": f"deep: {DEEP} requests",
        "LEADHAND_BUDGET_JOB": f"{BUDGET} tokens",
        "LEADHAND_ADMINS": ", ".join(f"{team.id}:{admin}" for team in teams),
    }


async def _end(tasks: list[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    for outcome in await asyncio.gather(*tasks, return_exceptions=True):
        if isinstance(outcome, Exception):
            raise outcome
