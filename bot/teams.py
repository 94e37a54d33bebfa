"""The bots of all workspaces that installed the app: opened and closed as installations come and go.

Every instance reads the installations every few seconds, and at once for a payload or job of a workspace that it does
not know. When the app has left a workspace, its jobs are released and its bot is closed. No instance claims that
workspace's jobs until the app is installed again. The workspace's data is erased after the retention time.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence

from aiohttp import web

from bot.access.person_facts import HomeWorkspace
from bot.jobs.job_runner import Effects, JobRunner
from bot.settings import SettingsError
from bot.slack.connection import Bolt, BotAccount, MultiTeamApp
from bot.slack.installation.install_pages import OAuthStates, make_install_flow, make_install_routes
from bot.slack.installation.records import (
    BadKey,
    InstallationRecord,
    InstallationRecords,
    SlackInstallation,
    TokenCipher,
)
from bot.slack.installation.token_refresh import TokenRefresher
from bot.slack.receive.payload_reader import PayloadAddressee
from bot.slack.scopes import OPTIONAL_SCOPES, list_needed_scopes
from bot.slack.send.web_calls import close_client, make_client
from bot.store.values import Claim, StoreError
from bot.team_bot import SharedParts, TeamBot
from handoff import events as ev
from handoff.effects import Effect
from handoff.state.job_state import Job
from handoff.summaries.summary import QuarantineNotice, TrialNotice

log = logging.getLogger(__name__)

SYNC_SECONDS = 5.0
"""Seconds between two reads of the installations."""
CLOSE_SECONDS = 1.5
"""Seconds that running work gets to end after the app has left its workspace: Slack accepts no more calls."""
REMOVED_APP_ERRORS = frozenset({"account_inactive", "token_revoked"})
"""Slack's errors for the token of an app that has left a workspace. Other errors may be temporary."""
TICKETS_LIST_PREFIX = "list:"
"""Prefix of a `LEADHAND_TICKETS` that needs the optional scopes."""


class InstalledTeams:
    """The bots of an instance, by workspace.

    Args:
        shared_parts: The parts that the bots share.
        records: The installations.
        release_team: Makes the instance release all jobs of a workspace.
    """

    def __init__(
        self,
        shared_parts: SharedParts,
        records: InstallationRecords,
        release_team: Callable[[str], Awaitable[None]],
    ) -> None:
        self._shared_parts = shared_parts
        self._records = records
        self._release_team = release_team
        self._bots: dict[str, TeamBot] = {}
        self._names: dict[str, str] = {}
        """The name of the record whose installation a workspace's bot uses, by workspace."""
        self._leaving: set[str] = set()
        self._sync_lock = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()
        settings = shared_parts.settings
        self._client = make_client("", settings.slack_api_url)
        credentials = settings.client_id, settings.client_secret
        self._refresh = TokenRefresher(records, self._client, credentials)
        self.bolt: Bolt = MultiTeamApp(self._client, self._find_app, signing_secret=settings.signing_secret)
        self.effects: Effects = _TeamEffects(self._bots)
        tickets = settings.env.get("LEADHAND_TICKETS", "").startswith(TICKETS_LIST_PREFIX)
        flow = make_install_flow(
            self._client,
            records,
            OAuthStates(shared_parts.store.installations),
            credentials=credentials,
            scopes=list_needed_scopes() | (OPTIONAL_SCOPES if tickets else frozenset()),
            allowed_ids=settings.teams,
        )
        self.pages: Sequence[web.RouteDef] = make_install_routes(flow, self.sync_bots)

    @classmethod
    def from_settings(cls, shared_parts: SharedParts, release_team: Callable[[str], Awaitable[None]]) -> InstalledTeams:
        """Make it from the settings of `shared_parts`. Raises SettingsError for an invalid LEADHAND_TOKEN_KEYS."""
        settings, store = shared_parts.settings, shared_parts.store
        try:
            cipher = TokenCipher(settings.token_keys)
        except BadKey as error:
            raise SettingsError(f"LEADHAND_TOKEN_KEYS: {error}.") from None
        records = InstallationRecords(store.installations, cipher, store.clock)
        return cls(shared_parts, records, release_team)

    @property
    def token_fault(self) -> str:
        """Always empty: a refused token affects only its own workspace."""
        return ""

    @property
    def has_several_teams(self) -> bool:
        """True if this instance has bots of more than one workspace."""
        return len(self._bots) > 1

    def start_background_tasks(self) -> None:
        """Start the background task that syncs the bots with the installations."""
        self._start_task(self._sync_repeatedly())

    async def open_all_bots(self) -> None:
        """Encrypt all installations with the first key, then open their bots. Raises StoreError."""
        if reencrypted_count := await self._records.reencrypt_all():
            log.info("%d installations were encrypted with the first key", reencrypted_count)
        await self.sync_bots()

    async def is_team_reachable(self, team: str) -> bool:
        """Return True if a workspace's jobs can go on: the app is installed there, and Slack accepts its token."""
        if team in self._leaving:
            return False
        try:
            bot = self._bots.get(team) or await self._open_if_installed(team)
        except (StoreError, BadKey):
            return False
        return bot is not None and not bot.proof.fault

    async def end_background_tasks(self) -> None:
        """Cancel the background tasks of all bots, and wait until they have ended."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.gather(*(bot.end_background_tasks() for bot in self._bots.values()))

    async def close(self, seconds: float) -> None:
        """Close all bots. Their jobs must have been released before."""
        await self._refresh.close()
        await asyncio.gather(*(bot.close(seconds) for bot in self._bots.values()))
        await close_client(self._client)

    # The bot that a payload is for ----------------------------------------------------------------------

    async def _find_app(self, payload: PayloadAddressee) -> Bolt | None:
        """Return the Bolt app of the bot that a payload is for; None if there is none. Raises StoreError, BadKey."""
        team = self._find_team(payload)
        bot = self._bots.get(team) if team not in self._leaving else None
        if bot is None and team:
            bot = await self._open_if_installed(team)
            if bot is None and payload.organisation:
                bot = await self._open_through_organisation(team, payload.organisation)
        return bot.bolt if bot is not None else None

    def _find_team(self, payload: PayloadAddressee) -> str:
        """Return the workspace whose bot wrote the clicked message, or else the workspace that the payload names.

        As the workspaces of an organisation share one bot user, the payload's own workspace is preferred among them.
        """
        of_author = [team for team, bot in self._bots.items() if payload.author and bot.account.user == payload.author]
        return payload.team if payload.team in of_author else next(iter(of_author), payload.team)

    async def _open_if_installed(self, team: str) -> TeamBot | None:
        """Open the bot of a workspace if the app is installed there, maybe just now by another instance; else None.

        Raises StoreError, or BadKey if the record cannot be read: another instance may know the key.
        """
        record, row = await self._records.read(team)
        if record is None and row:
            raise BadKey(f"the installation of {team} cannot be read")
        if record is None or record.left:
            return None
        await self.sync_bots()
        return self._bots.get(team)

    async def _open_through_organisation(self, team: str, organisation: str) -> TeamBot | None:
        """Open the bot of a workspace by its organisation's installation, at the app's first use; None without one."""
        record, _ = await self._records.read(organisation)
        if record is None or record.installation is None:
            return None
        await self._records.link_to_organisation(team, organisation)
        await self.sync_bots()
        return self._bots.get(team)

    # What is installed ----------------------------------------------------------------------------------

    async def _sync_repeatedly(self) -> None:
        while True:
            await asyncio.sleep(SYNC_SECONDS)
            try:
                await self.sync_bots()
            except StoreError as error:
                log.info("the installations are looked at when the store is back: %s", error)
            except Exception:
                log.exception("the installations could not be looked at")

    async def sync_bots(self) -> None:
        """Open, update and close bots to match the installations, and erase data that is due. Raises StoreError."""
        async with self._sync_lock:
            records = await self._records.read_all()
            installed_teams = _find_installed_teams(records)
            for team in [team for team in self._bots if team not in installed_teams]:
                await self._close_bot(team)
            for team, (name, installation) in installed_teams.items():
                await self._sync_team(team, name, installation)
            for name, record in records.items():
                self._refresh.start_refresh(name, record)
            await self._erase_departed_teams(records)

    async def _sync_team(self, team: str, name: str, installation: SlackInstallation) -> None:
        bot = self._bots.get(team)
        if bot is not None and bot.account.user != installation.bot_user_id:
            await self._close_bot(team)
            bot = None
        self._names[team] = name
        if bot is None:
            await self._open_bot(team, installation)
        elif bot.client.token != installation.bot_token:
            bot.client.token = installation.bot_token
            bot.proof.request_check()

    async def _open_bot(self, team: str, installation: SlackInstallation) -> None:
        wide, shared_parts = installation.is_enterprise_install, self._shared_parts
        client = make_client(
            installation.bot_token or "", shared_parts.settings.slack_api_url, team=team if wide else ""
        )
        account = BotAccount(
            user=installation.bot_user_id or "",
            name=str(installation.custom_values.get("bot", "")),
            team_name=installation.team_name or installation.enterprise_name or "",
            scopes=frozenset(installation.bot_scopes or ()),
            home=HomeWorkspace(team, installation.enterprise_id or "", is_org_wide=wide),
            url=str(installation.custom_values.get("url", "")),
            bot_id=installation.bot_id or "",
        )
        try:
            bot = TeamBot(shared_parts, client, account, await shared_parts.channels.read_groups(team))
        except BaseException:
            await close_client(client)
            raise
        bot.proof.on_refused = lambda code, token: self._record_leave_if_removed(team, code, token)
        self._bots[team] = bot
        bot.start_background_tasks()
        log.info("the app is installed in %s", team)

    async def _close_bot(self, team: str) -> None:
        """Release a workspace's jobs, then close its bot."""
        self._leaving.add(team)
        try:
            await self._release_team(team)
            bot = self._bots.pop(team)
            await bot.close(CLOSE_SECONDS)
        finally:
            self._leaving.discard(team)
        log.warning("the app has left %s: its jobs rest", team)

    def _record_leave_if_removed(self, team: str, code: str, token: str) -> None:
        """Start to record that the app has left a workspace, if Slack's error `code` for its token means that."""
        if code in REMOVED_APP_ERRORS and team in self._names:
            self._start_task(self._record_leave(team, self._names[team], token))

    async def _record_leave(self, team: str, name: str, token: str) -> None:
        try:
            record, _ = await self._records.read(name)
            # During a refresh Slack may revoke the old token before the new one is stored.
            if record is not None and record.refreshing <= self._records.clock():
                await self._records.mark_removed(name, token)
            await self.sync_bots()
        except StoreError as error:
            log.warning("that the app has left %s is noted at the next proof of its token: %s", team, error)

    async def _erase_departed_teams(self, records: Mapping[str, InstallationRecord]) -> None:
        """Erase the data of workspaces that the app left longer ago than jobs are kept."""
        store, retention_seconds = self._shared_parts.store, self._shared_parts.settings.retention.jobs
        for name in sorted(records, reverse=True):  # workspaces (T) before their organisation (E)
            left_at = _find_leave_time(records, name)
            if not left_at or store.clock() - left_at < retention_seconds:
                continue
            current_record, row = await self._records.read(name)
            if current_record != records[name] or any(
                one.organisation == name for one in (await self._records.read_all()).values()
            ):
                continue  # it was installed again, or its workspaces come first
            erased_count = await store.forget_team(name)
            await self._records.delete(name, former_row=row)
            log.info("what was kept for %s was erased (%d keys): the app left it", name, erased_count)

    def _start_task(self, work: Awaitable[None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _find_installed_teams(records: Mapping[str, InstallationRecord]) -> dict[str, tuple[str, SlackInstallation]]:
    """Return pairs by workspace: the name of the record whose installation it uses, and that installation."""
    installed_teams: dict[str, tuple[str, SlackInstallation]] = {}
    for team, record in records.items():
        name = record.organisation or team
        holder = records.get(name)
        installation = holder.installation if holder is not None and not record.left else None
        if installation is not None and (record.organisation or not installation.is_enterprise_install):
            installed_teams[team] = name, installation
    return installed_teams


def _find_leave_time(records: Mapping[str, InstallationRecord], name: str) -> float:
    """Return when the app left a workspace or organisation (s since the epoch); 0 if it has not, or if unknown."""
    record = records[name]
    holder = records.get(record.organisation) if record.organisation else record
    return record.left or (holder.left if holder is not None else 0.0)


class _TeamEffects:
    """`Effects` that pass each call on to the bot of the job's workspace."""

    def __init__(self, bots: Mapping[str, TeamBot]) -> None:
        self._bots = bots

    def _find_effects(self, claim: Claim) -> Effects:
        return self._bots[claim.key.team].effects

    async def run(self, effect: Effect, runner: JobRunner) -> ev.Event | None:
        """Have the bot of the job's workspace run the effect."""
        return await self._find_effects(runner.claim).run(effect, runner)

    def show_job_change(self, runner: JobRunner, before: Job, after: Job) -> None:
        """Have the bot of the job's workspace show the change."""
        self._find_effects(runner.claim).show_job_change(runner, before, after)

    async def stop_showing_job(self, runner: JobRunner) -> bool:
        """Have the bot of the job's workspace stop showing the job, and return its result."""
        return await self._find_effects(runner.claim).stop_showing_job(runner)

    async def announce_trial(self, claim: Claim, notice: TrialNotice) -> None:
        """Have the bot of the job's workspace announce the trial."""
        await self._find_effects(claim).announce_trial(claim, notice)

    async def announce_quarantine(self, claim: Claim, notice: QuarantineNotice) -> None:
        """Have the bot of the job's workspace announce the quarantine."""
        await self._find_effects(claim).announce_quarantine(claim, notice)
