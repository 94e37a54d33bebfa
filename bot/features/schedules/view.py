"""Renders schedules for people: a proposal, the list, and the first line of a run's thread. No I/O."""

from __future__ import annotations

from collections.abc import Sequence

from bot.features.schedules.rule_times import list_next_times
from bot.features.schedules.rule_words import describe_schedule_times, render_time, render_zone
from bot.features.schedules.schedule import MissedRunPolicy, Schedule
from bot.slack.text.cleaning import clean_mrkdwn, render_mention, to_plain_line
from bot.slack.views.outgoing import Block, Outgoing, make_actions, make_button, make_context, make_section
from bot.slack.views.paging import HomeList, ListPage, render_page_buttons, select_page
from handoff.text.capitalization import capitalize_first
from handoff.text.counts import format_count

SAVE, DISCARD, CHANGE, RUN_ONCE_NOW = "schedule_save", "schedule_discard", "schedule_change", "schedule_now"
PAUSE, RESUME, RUN = "schedule_pause", "schedule_resume", "schedule_run"
EDIT, REMOVE, NEW = "schedule_edit", "schedule_remove", "schedule_new"
"""The action_ids of the buttons."""
MISSED_TEXTS: dict[MissedRunPolicy, str] = {
    "once": "one run makes up for all that were missed while I was off",
    "all": "each run that was missed while I was off is made up for, the last ten at most",
    "skip": "runs that were missed while I was off are skipped",
}
MAX_SHOWN_TASK_CHARS = 1_200
MAX_LINE_TASK_CHARS = 1_000
"""Maximum characters of the task in a run's first line; its thread has the whole task."""
HOME_EMPTY_TEXT = "You have none. Mention me with one, such as “every Monday at 9 summarise #sales”."


def render_local_time(at: float, zone: str) -> str:
    """Render a time for Slack to show in the reader's zone, with the zone of the schedule as a fallback."""
    return f"<!date^{int(at)}^{{date_long}} at {{time}}|{render_time(at, zone)} {render_zone(zone)}>"


def render_proposal(schedule: Schedule, now: float) -> Outgoing:
    """Render a schedule in words with its next times, for its owner to save."""
    buttons = [make_button("Save", SAVE, schedule.id, style="primary"), make_button("Change", CHANGE, schedule.id)]
    buttons += [make_button("Do it now instead, once", RUN_ONCE_NOW, schedule.id)] if schedule.said else []
    blocks = [
        *render_details(schedule, now),
        make_actions([*buttons, make_button("Discard", DISCARD, schedule.id, style="danger")]),
    ]
    text = f"Shall I do this {describe_schedule_times(schedule)}? {clean_mrkdwn(to_plain_line(schedule.asks, 200))}"
    return Outgoing(text=text, blocks=tuple(blocks))


def render_details(schedule: Schedule, now: float) -> list[Block]:
    """Render the blocks of a schedule: times, task, up to three next runs, channels, files, rule for missed runs."""
    asks = clean_mrkdwn(to_plain_line(schedule.asks, MAX_SHOWN_TASK_CHARS)).replace("\n", "\n>")
    lines = [f"*{capitalize_first(describe_schedule_times(schedule))}*", f">{asks}"]
    times = list_next_times(schedule, now)
    number = {1: "", 2: "two ", 3: "three "}[max(1, len(times))]
    head = f"*The next {number}{'times' if len(times) > 1 else 'time'}, by your clock:*"
    times_text = "\n".join([head, *(f"• {render_local_time(at, schedule.zone)}" for at in times)])
    where = "here, in your direct messages" if schedule.channel.startswith("D") else f"in <#{schedule.channel}>"
    reads = f"*Reads:* what was said in {', '.join(f'<#{each}>' for each in schedule.reads)} since the last run."
    small = [f"Each run opens a thread of its own {where}, with your rights and your budgets as they are then."]
    small.append(f"{capitalize_first(MISSED_TEXTS[schedule.missed])}.")
    if schedule.only_if_new:
        small.append("It keeps quiet if nobody said anything new there.")
    files = f"*Works with:* {clean_mrkdwn(to_plain_line(', '.join(file.name for file in schedule.files), 300))}"
    more = [*([reads] if schedule.reads else []), *([files] if schedule.files else [])]
    return [
        make_section("\n".join(lines)),
        make_section(times_text),
        *([make_section("\n".join(more))] if more else []),
        make_context(*small),
    ]


def render_saved_reply(schedule: Schedule) -> Outgoing:
    """Render the reply that a schedule was saved."""
    next_run = (
        f" Its next run is {render_local_time(schedule.next_at, schedule.zone)}."
        if schedule.next_at is not None
        else ""
    )
    text = (
        f":white_check_mark: Saved as `{schedule.id}`: {describe_schedule_times(schedule)}.{next_run} "
        "`/leadhand schedule` "
        "lists yours."
    )
    return Outgoing(text=text, blocks=(make_section(text),))


def render_pending_reply(schedule: Schedule) -> Outgoing:
    """Render the reply while a model parses the times of a schedule, with other ways to go on."""
    text = (
        "This looks like a schedule, but I don't know these words, so I'm working out when it should run. I'll show "
        "it to you here before anything is saved."
    )
    buttons = [make_button("Fill in a form", CHANGE, schedule.id)]
    buttons += [make_button("Do it now instead, once", RUN_ONCE_NOW, schedule.id)] if schedule.said else []
    return Outgoing(text=text, blocks=(make_section(text), make_actions(buttons)))


def render_list(page: ListPage[Schedule], user: str, notice: str = "") -> Outgoing:
    """Render a page of schedules with buttons for each; `notice` is a line on what was just done."""
    head = [make_section(notice)] if notice else []
    if not page.total_rows:
        text = (
            "You have no schedules. Mention me with one, such as “every Monday at 9 summarise #sales”, or give "
            "`/leadhand schedule every Monday at 9 summarise #sales`."
        )
        empty = [make_section(text), make_actions([make_button("New schedule", NEW, "-")])]
        return Outgoing(text=notice or text, blocks=(*head, *empty))
    title = f"*Your {format_count(page.total_rows, 'schedule')}*"
    blocks = [*head, make_section(title)]
    for one in page.rows:
        blocks += [make_section(render_summary(one, user)), _make_action_buttons(one)]
    blocks += [make_actions([make_button("New schedule", NEW, "-")]), *render_page_buttons(page, "schedule")]
    return Outgoing(text=notice or title, blocks=tuple(blocks))


def render_summary(schedule: Schedule, user: str) -> str:
    """Render a schedule in three lines: times and place; task; next run, last run and id."""
    whose = "" if schedule.owner == user else f", for {render_mention(schedule.owner)}"
    words = [
        f"*{capitalize_first(describe_schedule_times(schedule))}* in <#{schedule.channel}>{whose}",
        clean_mrkdwn(to_plain_line(schedule.asks, 200)),
    ]
    if schedule.state == "paused":
        state = f":double_vertical_bar: Paused{': ' + clean_mrkdwn(schedule.why) if schedule.why else ''}"
    else:
        state = (
            f"Next: {render_local_time(schedule.next_at, schedule.zone)}"
            if schedule.next_at is not None
            else "No further run"
        )
    words.append(f"{state} · {_describe_last_run(schedule)} · `{schedule.id}`")
    return "\n".join(words)


def render_home_part(schedules: Sequence[Schedule], user: str, page: int) -> HomeList:
    """Render the section of the App Home: each schedule with its next and its last run."""
    return HomeList(
        "Schedules",
        select_page([(make_section(render_summary(one, user)),) for one in schedules], page),
        empty_line=HOME_EMPTY_TEXT,
    )


def render_run_line(schedule: Schedule, due: float, *, is_late: bool, is_on_demand: bool) -> Outgoing:
    """Render a run's first line: when the schedule runs, its task and its owner; if it is late, also for which time."""
    asks = clean_mrkdwn(to_plain_line(schedule.asks, MAX_LINE_TASK_CHARS))
    text = f"*{capitalize_first(describe_schedule_times(schedule))}*: {asks}, asked by {render_mention(schedule.owner)}"
    small = ""
    if is_on_demand:
        small = "Run now, beside its times."
    elif is_late:
        small = f"Meant for {render_time(due, schedule.zone)}: I was not running then."
    return Outgoing(text=text, blocks=(make_section(text), *((make_context(small),) if small else ())))


def render_run_refusal(schedule: Schedule, reason: str, *, is_paused: bool) -> Outgoing:
    """Render the message to the owner that a schedule did not run, and what to do."""
    asks, when = clean_mrkdwn(to_plain_line(schedule.asks, 200)), describe_schedule_times(schedule)
    if is_paused:
        end = (
            f"I have paused it. `/leadhand schedule resume {schedule.id}` lets it go on, `remove {schedule.id}` ends "
            "it."
        )
    else:
        end = "It runs again at its next time. `/leadhand schedule` shows it."
    text = f"Your schedule “{asks}” ({when}) in <#{schedule.channel}> did not run: {clean_mrkdwn(reason)}. {end}"
    return Outgoing(text=text, blocks=(make_section(text),))


def _describe_last_run(schedule: Schedule) -> str:
    if schedule.last is None:
        return "not run yet"
    last, at = schedule.last, render_local_time(schedule.last.at, schedule.zone)
    if last.outcome == "quiet":
        return f"last: {at}, nothing new (`{last.trace}`)"
    if last.outcome == "failed":
        return f"last: {at}, failed{': ' + clean_mrkdwn(last.why) if last.why else ''} (`{last.job or last.trace}`)"
    return f"last: {at} (`{last.job or last.trace}`)"


def _make_action_buttons(schedule: Schedule) -> Block:
    pause_or_resume = (
        make_button("Resume", RESUME, schedule.id)
        if schedule.state == "paused"
        else make_button("Pause", PAUSE, schedule.id)
    )
    confirmation = {
        "title": {"type": "plain_text", "text": "Remove this schedule?"},
        "text": {"type": "plain_text", "text": "It no longer runs. What it has posted stays."},
        "confirm": {"type": "plain_text", "text": "Remove"},
        "deny": {"type": "plain_text", "text": "Keep"},
        "style": "danger",
    }
    remove = {**make_button("Remove", REMOVE, schedule.id, style="danger"), "confirm": confirmation}
    return make_actions(
        [make_button("Run now", RUN, schedule.id), pause_or_resume, make_button("Edit", EDIT, schedule.id), remove]
    )
