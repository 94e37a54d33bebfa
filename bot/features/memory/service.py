"""The memory service: remembers, changes and forgets things for people, checks their rights, and keeps the audit."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from bot.jobs.memory_recall import read_memories, sort_newest_first
from bot.slack.views.outgoing import make_message_link
from bot.store.redis.redis_store import Store
from bot.store.values import JobKey, PayloadTooLarge
from handoff import events as ev
from handoff.access.audit_entry import AuditAction, AuditEntry, AuditRecorder, discard_entry
from handoff.contracts import Place
from handoff.conversation.memory import (
    MAX_MEMORY_LENGTH,
    Memory,
    choose_memory_owner,
    drop_quoted_lines,
    may_change_memory,
    parse_memory_wish,
)
from handoff.conversation.message_kinds import split_words
from handoff.materials.memory_text import MEMORY_ID_PREFIX

MAX_FORGET_COMMANDS = 200
"""Maximum number of recent forget commands whose marks are kept in memory, to recognise a second delivery."""
PLACES_CACHE_SECONDS = 2.0
"""Seconds for which the places with memories are cached. Changes made by this instance apply at once."""
NOT_AUTHOR_REASON = "neither said it nor an admin"


NotKeptReason = Literal["empty", "too_long", "full"]
"""Why a text is not remembered. `empty`: the message has no words of the person's own."""
ChangeOutcome = Literal["done", "not_yours", "gone", "changed", "empty", "too_long"]
"""The outcome of an edit or of forgetting. `gone`: already forgotten. `changed`: somebody changed it meanwhile."""


@dataclass(frozen=True, slots=True)
class MemoryEntry:
    """A memory with its place (the id of a channel or a person) and its name there.

    `is_new`: it was not remembered before. `is_repeat`: it was, from the very same message or command.
    """

    place: str
    name: str
    memory: Memory
    is_new: bool = True
    is_repeat: bool = False


class MemoriesService:
    """The memories of channels and people. Callers must have checked that the person may use the bot in the place.

    Each coroutine raises StoreError while the store is away.

    Args:
        store: The store of the memories.
        nudge: Wakes the runners of jobs that have to drop a copy of a memory.
        admins: Slack ids of people who may change and forget what others said in channels.
        workspace_url: The address of the workspace's pages, for links to messages; empty for no links.
        record_audit: Stores entries of the audit.
    """

    def __init__(
        self,
        store: Store,
        nudge: Callable[[JobKey], None],
        *,
        admins: frozenset[str],
        workspace_url: str = "",
        record_audit: AuditRecorder = discard_entry,
    ) -> None:
        self._store = store
        self._admins = admins
        self._workspace_url = workspace_url
        self._nudge = nudge
        self._record_audit = record_audit
        self._forget_marks: deque[str] = deque(maxlen=MAX_FORGET_COMMANDS)
        self._places_cache: dict[str, tuple[float, frozenset[str]]] = {}

    # -- for requests --------------------------------------------------------------------------------

    async def has_memories_for(self, place: Place, user: str) -> bool:
        """Return True if the place of a request has memories that apply to it. Raises StoreError."""
        return choose_memory_owner(place.channel, user) in await self._find_places(place.team)

    async def team_has_memories(self, place: Place) -> bool:
        """Return True if a place's workspace has any memories: then an edited message may have been remembered."""
        return bool(await self._find_places(place.team))

    async def _find_places(self, team: str) -> frozenset[str]:
        expires_at, places = self._places_cache.get(team, (0.0, frozenset[str]()))
        if time.monotonic() >= expires_at:
            places = await self._store.memories.read_places(team)
            self._places_cache[team] = (time.monotonic() + PLACES_CACHE_SECONDS, places)
        return places

    # -- for people ----------------------------------------------------------------------------------

    async def remember(
        self, place: Place, text: str, *, user: str, about_person: bool, mark: str, message: str = ""
    ) -> MemoryEntry | NotKeptReason:
        """Remember a text of a person. Returns the entry, an older one with the same words, or the reason why not.

        `mark` identifies the command, to recognise a repeat. `message` is the ts of the person's message.
        """
        words, where = drop_quoted_lines(text), choose_memory_owner(place.channel, user, is_personal=about_person)
        if not words:
            return "empty"
        if len(words) > MAX_MEMORY_LENGTH:
            return "too_long"
        memories = await read_memories(self._store, place.team, where)
        name = mark or f"{user}/{self._store.clock():.6f}"
        if name in memories:
            return MemoryEntry(where, name, memories[name], is_new=False, is_repeat=True)
        same = next((one for one in memories.items() if split_words(one[1].text) == split_words(words)), None)
        if same is not None:
            return MemoryEntry(where, *same, is_new=False)
        link = make_message_link(self._workspace_url, place.channel, message, place.thread_ts) if message else ""
        of = {"at": self._store.clock(), "link": link, "message": f"{place.channel}/{message}" if message else ""}
        memory = Memory.model_validate({"text": words, "user": user, **of})
        try:
            new = await self._store.memories.put(place.team, where, name, _dump_memory(memory))
        except PayloadTooLarge:
            return "full"
        self._places_cache.pop(place.team, None)
        if new:
            await self._audit_deed("remembered", place.team, where, name, user)
        return MemoryEntry(where, name, memory, is_new=new, is_repeat=not new)

    async def list_entries(self, team: str, place: str) -> list[MemoryEntry]:
        """List the memories of a place, newest first."""
        memories = await read_memories(self._store, team, place)
        return [MemoryEntry(place, name, one, is_new=False) for name, one in sort_newest_first(memories)]

    def may_change(self, entry: MemoryEntry, user: str) -> bool:
        """Return True if a person may edit and forget a memory: its author, or an admin.

        Only the person themselves may change a memory about a person.
        """
        if _is_person(entry.place):
            return entry.place == user
        return may_change_memory(entry.memory, user, admin=user in self._admins)

    async def edit(self, team: str, place: str, name: str, text: str, *, user: str, seen_text: str) -> ChangeOutcome:
        """Change the text of a memory, if it is still `seen_text`, the text that the person saw."""
        words = drop_quoted_lines(text)
        if not words or len(words) > MAX_MEMORY_LENGTH:
            return "too_long" if words else "empty"
        before = await self._read_changeable(team, place, name, user)
        if isinstance(before, str):
            return before
        if before.text != seen_text:
            return "changed"
        if words == before.text:
            return "done"
        changed_fields = {"text": words, "edited_by": user, "edited": self._store.clock()}
        after = before.model_copy(update=changed_fields)
        if not await self._store.memories.put(team, place, name, _dump_memory(after), old_payload=_dump_memory(before)):
            return "changed"
        await self._audit_deed("remembered", team, place, name, user, why="changed its words")
        return "done"

    async def forget(
        self, team: str, place: str, name: str, *, user: str, mark: str = ""
    ) -> tuple[ChangeOutcome, Memory | None]:
        """Erase one memory, and return it so that it can be named. `mark` identifies the command, if there is one.

        If two people forget it at the same time, both get the outcome `done`.
        """
        before = await self._read_changeable(team, place, name, user)
        if isinstance(before, str):
            return before, None
        outcome = await self._drop_memory(team, place, name, before, user)
        if mark and outcome == "done":
            self._forget_marks.append(mark)
        return outcome, before

    def has_forgotten(self, mark: str) -> bool:
        """Return True if the command `mark` has already forgotten something here, so that this is a second delivery.

        If another instance gets the second delivery, it takes the text as a request.
        """
        return mark in self._forget_marks

    async def _drop_memory(self, team: str, place: str, name: str, before: Memory, user: str) -> ChangeOutcome:
        if not await self._store.memories.put(team, place, name, "", old_payload=_dump_memory(before)):
            return "changed"
        self._places_cache.pop(team, None)
        await self._remove_copies(team, f"{MEMORY_ID_PREFIX}{name}")
        await self._audit_deed("forgot", team, place, name, user)
        return "done"

    async def _remove_copies(self, team: str, source: str) -> None:
        """Tell the jobs that read a memory to drop their copies, by a `FileDeleted` event."""
        for key in await self._store.blobs.list_jobs_that_read(team, source):
            event = ev.FileDeleted(at=self._store.clock(), file=source)
            await self._store.jobs.signal(key, ev.dump_event(event), dedupe=(f"file_deleted:{source}",))
            self._nudge(key)

    async def forget_person(self, team: str, person: str, *, by: str) -> int:
        """Forget all memories that a person wrote or that are about them. Returns their number. Raises StoreError."""
        forgotten_count = 0
        for place in sorted(await self._store.memories.read_places(team)):
            for name, one in (await read_memories(self._store, team, place)).items():
                if person in {one.user, one.edited_by} or place == person:
                    forgotten_count += await self._drop_memory(team, place, name, one, by) == "done"
        return forgotten_count

    async def count_person_memories(self, team: str, person: str) -> int:
        """Count the memories that `forget_person` would forget. Raises StoreError."""
        count = 0
        for place in await self._store.memories.read_places(team):
            memories = await read_memories(self._store, team, place)
            count += sum(person in {one.user, one.edited_by} or place == person for one in memories.values())
        return count

    async def apply_message_change(self, place: Place, message: str, text: str | None, *, user: str) -> Memory | None:
        """Apply the edit of a message, or its deletion if `text` is None, to the memory made from it.

        Returns the memory as it is now, with an empty text if it was forgotten; None if the message had no memory.
        """
        name = f"{place.channel}/{message}"
        for where in (user, place.channel):
            if where and where in await self._find_places(place.team):
                before = (await read_memories(self._store, place.team, where)).get(name)
                if before is not None:
                    return await self._rewrite_memory(place.team, where, name, before, text)
        return None

    async def _rewrite_memory(
        self, team: str, place: str, name: str, before: Memory, text: str | None
    ) -> Memory | None:
        wish = parse_memory_wish(text) if text is not None else None
        is_kept = wish is not None and wish.verb == "remember" and 0 < len(wish.text) <= MAX_MEMORY_LENGTH
        if not is_kept or wish is None:
            await self._drop_memory(team, place, name, before, before.user)
            return before.model_copy(update={"text": ""})
        if await self.edit(team, place, name, wish.text, user=before.user, seen_text=before.text) != "done":
            return None
        return before.model_copy(update={"text": wish.text})

    async def _read_changeable(self, team: str, place: str, name: str, user: str) -> Memory | ChangeOutcome:
        """Return a memory that this person may change, or the reason why they may not. A refusal goes to the audit."""
        memory = (await read_memories(self._store, team, place)).get(name)
        if memory is None:
            return "gone"
        if not self.may_change(MemoryEntry(place, name, memory), user):
            await self._audit_deed("forgot", team, place, name, user, outcome="refused", why=NOT_AUTHOR_REASON)
            return "not_yours"
        return memory

    async def _audit_deed(self, deed: AuditAction, team: str, place: str, name: str, user: str, **more: Any) -> None:
        of = {"at": self._store.clock(), "team": team, "user": user, "target": f"{place} {name}"}
        channel = "" if _is_person(place) else place
        await self._record_audit(AuditEntry.model_validate({"deed": deed, "channel": channel, **of, **more}))


def _is_person(place: str) -> bool:
    return place.startswith(("U", "W"))


def _dump_memory(memory: Memory) -> str:
    return memory.model_dump_json(exclude_defaults=True)
