"""Renders schedules for people: a proposal, the list, and the first line of a run's thread. No I/O."""

from __future__ import annotations

from collections.abc import Sequence

from bot.features.schedules.rule_times import next_times
from bot.features.schedules.rule_words import capitalize, describe_schedule_time, time_words, zone_words
from bot.features.schedules.schedule import Missed, Schedule
from bot.slack.text.cleaning import clean, mention, plain
from bot.slack.views.outgoing import Block, Outgoing, actions, button, context, section
from bot.slack.views.paging import HomePart, ListPage, page_buttons, take_page
from handoff.text.counts import format_count

SAVE, DISCARD, CHANGE, NOW = "schedule_save", "schedule_discard", "schedule_change", "schedule_now"
PAUSE, RESUME, RUN = "schedule_pause", "schedule_resume", "schedule_run"
EDIT, REMOVE, NEW = "schedule_edit", "schedule_remove", "schedule_new"
"""The action_ids of the buttons."""
MISSED: dict[Missed, str] = {
    "once": "one run makes up for all that were missed while I was off",
    "all": "each run that was missed while I was off is made up for, the last ten at most",
    "skip": "runs that were missed while I was off are skipped",
}
SHOWN = 1_200
LINE_SHOWN = 1_000
"""Maximum characters of the task in a run's first line; its thread has the whole task."""
NONE_AT_HOME = "You have none. Mention me with one, such as “every Monday at 9 summarise #sales”."


def show_time(at: float, zone: str) -> str:
    """Render a time in the reader's own zone, or in the zone of the schedule where Slack cannot."""
    return f"<!date^{int(at)}^{{date_long}} at {{time}}|{time_words(at, zone)} {zone_words(zone)}>"


def render_proposal(one: Schedule, now: float) -> Outgoing:
    """Render a schedule in words with its next times, for its owner to save."""
    buttons = [button("Save", SAVE, one.id, style="primary"), button("Change", CHANGE, one.id)]
    buttons += [button("Do it now instead, once", NOW, one.id)] if one.said else []
    blocks = [*render_details(one, now), actions([*buttons, button("Discard", DISCARD, one.id, style="danger")])]
    text = f"Shall I do this {describe_schedule_time(one)}? {clean(plain(one.asks, 200))}"
    return Outgoing(text=text, blocks=tuple(blocks))


def render_details(one: Schedule, now: float) -> list[Block]:
    """Render what a schedule does, when it runs next, and by which rules."""
    asks = clean(plain(one.asks, SHOWN)).replace("\n", "\n>")
    lines = [f"*{capitalize(describe_schedule_time(one))}*", f">{asks}"]
    times = next_times(one, now)
    number = {1: "", 2: "two ", 3: "three "}[max(1, len(times))]
    head = f"*The next {number}{'times' if len(times) > 1 else 'time'}, by your clock:*"
    shown = "\n".join([head, *(f"• {show_time(at, one.zone)}" for at in times)])
    where = "here, in your direct messages" if one.channel.startswith("D") else f"in <#{one.channel}>"
    reads = f"*Reads:* what was said in {', '.join(f'<#{each}>' for each in one.reads)} since the last run."
    small = [f"Each run opens a thread of its own {where}, with your rights and your budgets as they are then."]
    small.append(f"{capitalize(MISSED[one.missed])}.")
    if one.only_if_new:
        small.append("It keeps quiet if nobody said anything new there.")
    files = f"*Works with:* {clean(plain(', '.join(file.name for file in one.files), 300))}"
    more = [*([reads] if one.reads else []), *([files] if one.files else [])]
    return [section("\n".join(lines)), section(shown), *([section("\n".join(more))] if more else []), context(*small)]


def render_saved(one: Schedule) -> Outgoing:
    """Render the reply that a schedule was saved."""
    nxt = f" Its next run is {show_time(one.next_at, one.zone)}." if one.next_at is not None else ""
    text = (
        f":white_check_mark: Saved as `{one.id}`: {describe_schedule_time(one)}.{nxt} `/leadhand schedule` lists yours."
    )
    return Outgoing(text=text, blocks=(section(text),))


def render_pending(one: Schedule) -> Outgoing:
    """Render the reply while a model parses the times of a schedule, with other ways to go on."""
    text = (
        "This looks like a schedule, but I don't know these words, so I'm working out when it should run. I'll show "
        "it to you here before anything is saved."
    )
    buttons = [button("Fill in a form", CHANGE, one.id)]
    buttons += [button("Do it now instead, once", NOW, one.id)] if one.said else []
    return Outgoing(text=text, blocks=(section(text), actions(buttons)))


def render_list(page: ListPage[Schedule], user: str, said: str = "") -> Outgoing:
    """Render a page of schedules with buttons for each; `said` is a line on what was just done."""
    head = [section(said)] if said else []
    if not page.total:
        text = (
            "You have no schedules. Mention me with one, such as “every Monday at 9 summarise #sales”, or give "
            "`/leadhand schedule every Monday at 9 summarise #sales`."
        )
        empty = [section(text), actions([button("New schedule", NEW, "-")])]
        return Outgoing(text=said or text, blocks=(*head, *empty))
    title = f"*Your {format_count(page.total, 'schedule')}*"
    blocks = [*head, section(title)]
    for one in page.rows:
        blocks += [section(render_line(one, user)), _action_buttons(one)]
    blocks += [actions([button("New schedule", NEW, "-")]), *page_buttons(page, "schedule")]
    return Outgoing(text=said or title, blocks=tuple(blocks))


def render_line(one: Schedule, user: str) -> str:
    """Render a schedule in a few lines: when, what, where, its next and its last run."""
    whose = "" if one.owner == user else f", for {mention(one.owner)}"
    words = [f"*{capitalize(describe_schedule_time(one))}* in <#{one.channel}>{whose}", clean(plain(one.asks, 200))]
    if one.state == "paused":
        state = f":double_vertical_bar: Paused{': ' + clean(one.why) if one.why else ''}"
    else:
        state = f"Next: {show_time(one.next_at, one.zone)}" if one.next_at is not None else "No further run"
    words.append(f"{state} · {_describe_last_run(one)} · `{one.id}`")
    return "\n".join(words)


def render_home_part(schedules: Sequence[Schedule], user: str, page: int) -> HomePart:
    """Render the section of the App Home: each schedule with its next and its last run."""
    return HomePart(
        "Schedules", take_page([(section(render_line(one, user)),) for one in schedules], page), none=NONE_AT_HOME
    )


def render_run_line(one: Schedule, due: float, *, late: bool, asked_for: bool) -> Outgoing:
    """Render a run's first line: when the schedule runs, its task and its owner; if it is late, also for which time."""
    asks = clean(plain(one.asks, LINE_SHOWN))
    text = f"*{capitalize(describe_schedule_time(one))}*: {asks}, asked by {mention(one.owner)}"
    small = ""
    if asked_for:
        small = "Run now, beside its times."
    elif late:
        small = f"Meant for {time_words(due, one.zone)}: I was not running then."
    return Outgoing(text=text, blocks=(section(text), *((context(small),) if small else ())))


def render_not_run(one: Schedule, why: str, *, paused: bool) -> Outgoing:
    """Render the message to the owner that a schedule did not run, and what to do."""
    asks, when = clean(plain(one.asks, 200)), describe_schedule_time(one)
    if paused:
        end = f"I have paused it. `/leadhand schedule resume {one.id}` lets it go on, `remove {one.id}` ends it."
    else:
        end = "It runs again at its next time. `/leadhand schedule` shows it."
    text = f"Your schedule “{asks}” ({when}) in <#{one.channel}> did not run: {clean(why)}. {end}"
    return Outgoing(text=text, blocks=(section(text),))


def _describe_last_run(one: Schedule) -> str:
    if one.last is None:
        return "not run yet"
    last, at = one.last, show_time(one.last.at, one.zone)
    if last.outcome == "quiet":
        return f"last: {at}, nothing new (`{last.trace}`)"
    if last.outcome == "failed":
        return f"last: {at}, failed{': ' + clean(last.why) if last.why else ''} (`{last.job or last.trace}`)"
    return f"last: {at} (`{last.job or last.trace}`)"


def _action_buttons(one: Schedule) -> Block:
    rest = button("Resume", RESUME, one.id) if one.state == "paused" else button("Pause", PAUSE, one.id)
    sure = {
        "title": {"type": "plain_text", "text": "Remove this schedule?"},
        "text": {"type": "plain_text", "text": "It no longer runs. What it has posted stays."},
        "confirm": {"type": "plain_text", "text": "Remove"},
        "deny": {"type": "plain_text", "text": "Keep"},
        "style": "danger",
    }
    remove = {**button("Remove", REMOVE, one.id, style="danger"), "confirm": sure}
    return actions([button("Run now", RUN, one.id), rest, button("Edit", EDIT, one.id), remove])
