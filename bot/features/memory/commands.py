"""The commands to remember and to forget: after a mention, in a direct message, or as `/leadhand memory`.

Only a person's own message to the bot is a command. No tool writes memories, and text in a page, a file, a quotation or
a forwarded message is never a command.
"""

from __future__ import annotations

from collections.abc import Collection

from bot.features.memory.service import MemoriesService, MemoryEntry, NotKeptReason
from bot.features.memory.view import (
    MemoryRow,
    MemoryView,
    render_forget_choice,
    render_forgotten,
    render_known_already,
    render_memory_list,
    render_memory_window,
    render_remembered,
)
from bot.slack.receive.subcommand import CommandContext, SpokenReply
from bot.slack.show.notices import make_note, open_window, post_in_thread
from bot.slack.views.outgoing import Outgoing
from bot.slack.views.paging import select_page
from bot.store.values import MEMORIES_LIMIT
from handoff.contracts import Place
from handoff.conversation.memory import (
    MAX_MEMORY_LENGTH,
    MemoryWish,
    choose_memory_owner,
    find_matching_memories,
    is_certain_match,
    parse_memory_wish,
)

WINDOW_OPENED_TEXT = "The window shows what I remember here and about you."
NOT_OPENED_TEXT = "Slack did not open the window. Try `/leadhand memory` again."
ADD_USAGE_TEXT = "What shall I remember? `/leadhand memory add our fiscal year starts in April`"
NOT_KEPT_TEXTS: dict[NotKeptReason, str] = {
    "empty": "I only remember people's own words, and your message only quotes others. Say it yourself.",
    "too_long": (
        f"That is too long to remember as one thing ({MAX_MEMORY_LENGTH} characters). Say it shorter, or in parts."
    ),
    "full": f"I remember {MEMORIES_LIMIT} things here, the most that I can. Have me forget one first "
    "(`/leadhand memory`), then say this again.",
}
NOT_AUTHOR_TEXT = "Only the person who said it, or an admin, can have me forget it. I still remember it."
FORGET_CONFLICT_TEXT = (
    "Somebody changed that at the same moment, so nothing was forgotten. Look at it again: `/leadhand memory`."
)


def match_remember(text: str) -> str | None:
    """Return the thing that a message asks to remember; None if it asks for nothing of the kind."""
    return _match_wish(text, "remember")


def match_forget(text: str) -> str | None:
    """Return the thing that a message asks to forget; None if it asks for nothing of the kind."""
    return _match_wish(text, "forget")


def _match_wish(text: str, verb: str) -> str | None:
    wish = parse_memory_wish(text)
    return wish.text if wish is not None and wish.verb == verb else None


async def run_remember_command(ctx: CommandContext) -> SpokenReply:
    """Remember a message's text, and confirm that in the thread, or privately for a personal memory in a channel."""
    incoming, memories = ctx.message, ctx.find_service(MemoriesService)
    wish = parse_memory_wish(incoming.text) if incoming is not None else None
    if incoming is None or wish is None:
        return "no_command"
    outcome = await memories.remember(
        incoming.place,
        wish.text,
        user=ctx.user,
        about_person=wish.is_personal,
        mark=ctx.dedupe_key,
        message=incoming.ts,
    )
    if not isinstance(outcome, MemoryEntry):
        return make_note(NOT_KEPT_TEXTS[outcome])
    if outcome.is_repeat:
        return "told"
    message = _render_receipt(outcome, ctx)
    if not outcome.is_new or (outcome.place == ctx.user and not incoming.is_direct):
        return message
    ctx.background.start(post_in_thread(ctx.client, incoming.place, message), "say what is remembered")
    return "told"


def _render_receipt(entry: MemoryEntry, ctx: CommandContext) -> Outgoing:
    row = MemoryRow(entry.place, entry.name, entry.memory, may_change=True)
    return render_remembered(row, ctx.user) if entry.is_new else render_known_already(row)


async def run_forget_command(ctx: CommandContext) -> SpokenReply:
    """Forget the memory that a message means, or ask which one. Without a match, the message is no command."""
    incoming, memories = ctx.message, ctx.find_service(MemoriesService)
    wish = parse_memory_wish(incoming.text) if incoming is not None else None
    if incoming is None or wish is None:
        return "no_command"
    place = choose_memory_owner(ctx.channel, ctx.user, is_personal=wish.is_personal)
    entries = {one.name: one for one in await memories.list_entries(ctx.team, place)}
    matching_names = find_matching_memories({name: one.memory for name, one in entries.items()}, wish.text)
    if not matching_names:
        return "told" if memories.has_forgotten(ctx.dedupe_key) else "no_command"
    if not is_certain_match({name: one.memory for name, one in entries.items()}, matching_names, wish.text):
        return render_forget_choice(make_memory_rows(ctx.user, [entries[name] for name in matching_names], memories))
    return await _forget_entry(
        ctx,
        memories,
        entries[matching_names[0]],
        incoming.place,
        is_private=place == ctx.user and not incoming.is_direct,
    )


async def _forget_entry(
    ctx: CommandContext, memories: MemoriesService, entry: MemoryEntry, thread: Place, *, is_private: bool
) -> SpokenReply:
    verdict, memory = await memories.forget(ctx.team, entry.place, entry.name, user=ctx.user, mark=ctx.dedupe_key)
    if verdict != "done" or memory is None:
        return make_note(NOT_AUTHOR_TEXT if verdict == "not_yours" else FORGET_CONFLICT_TEXT)
    message = render_forgotten(memory, ctx.user)
    if is_private:
        return message
    ctx.background.start(post_in_thread(ctx.client, thread, message), "say what is forgotten")
    return "told"


async def run_memory_command(ctx: CommandContext) -> Outgoing:
    """Open the memory window, or render a list if none can be opened; `add TEXT` remembers a text."""
    memories, (word, _, rest) = ctx.find_service(MemoriesService), ctx.rest.partition(" ")
    if word.lower() == "add":
        return await _add_memory(ctx, memories, rest)
    view = MemoryView(ctx.channel, ctx.channel.startswith("D"), ctx.page)
    if ctx.command.trigger_id and ctx.page == 1:
        window = await build_memory_window(memories, ctx.team, ctx.user, view)
        return make_note(
            WINDOW_OPENED_TEXT if await open_window(ctx.client, ctx.command.trigger_id, window) else NOT_OPENED_TEXT
        )
    place = choose_memory_owner(ctx.channel, ctx.user)
    rows = make_memory_rows(ctx.user, await memories.list_entries(ctx.team, place), memories)
    return render_memory_list(select_page(rows, ctx.page), about_person=view.mine)


async def _add_memory(ctx: CommandContext, memories: MemoriesService, rest: str) -> Outgoing:
    wish = parse_memory_wish(f"remember {rest}") or MemoryWish("remember", rest)
    if not wish.text.strip():
        return make_note(ADD_USAGE_TEXT)
    place = Place(team=ctx.team, channel=ctx.channel, thread_ts="")
    outcome = await memories.remember(
        place, wish.text, user=ctx.user, about_person=wish.is_personal, mark=ctx.dedupe_key
    )
    if not isinstance(outcome, MemoryEntry):
        return make_note(NOT_KEPT_TEXTS[outcome])
    return _render_receipt(outcome, ctx)


def make_memory_rows(user: str, entries: Collection[MemoryEntry], memories: MemoriesService) -> list[MemoryRow]:
    """Return memories as rows for a person. Each row says whether that person may change the memory."""
    return [MemoryRow(one.place, one.name, one.memory, memories.may_change(one, user)) for one in entries]


async def build_memory_window(
    memories: MemoriesService, team: str, user: str, view: MemoryView, notice: str = ""
) -> dict[str, object]:
    """Build the memory window for a person. Personal memories are looked up by the user's id, not by window data."""
    own = make_memory_rows(user, await memories.list_entries(team, user), memories)
    here = (
        []
        if view.channel.startswith("D")
        else make_memory_rows(user, await memories.list_entries(team, view.channel), memories)
    )
    rows = own if view.mine else here
    return render_memory_window(view, select_page(rows, view.page), (len(here), len(own)), notice)
