"""The crew of a channel: from the form, channels.yml or the settings, with where it comes from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bot.access.access_values import ChannelValues, merge_sources
from bot.access.channel_settings import ChannelSettings, FormValues
from bot.access.channels_file import CHANNELS_FILE, read_channels_file
from bot.app import load_crews
from bot.features.channel_settings.form_parser import parse_settings
from bot.features.channel_settings.window import (
    INHERIT_VALUE,
    SettingsWindow,
    WindowContent,
    render_settings,
    render_settings_window,
)
from bot.settings import Settings, SettingsError, read_settings
from bot.slack.views.channel_setting_words import SETTINGS_SECTIONS, list_setting_names
from bot.store.redis.redis_store import Store
from bot.workspace.blocks import check_view

CREWS = ("general", "review")
NOTHING = ChannelValues()
WORK = SETTINGS_SECTIONS[1]
WINDOW = SettingsWindow("C0123ABCD", WORK, {})


def test_a_file_may_name_a_crew_that_is_there(tmp_path: Path) -> None:
    (tmp_path / CHANNELS_FILE).write_text("C0123ABCD:\n  crew: review\n")
    assert read_channels_file(tmp_path, CREWS).channels["C0123ABCD"].crew == "review"
    (tmp_path / CHANNELS_FILE).write_text("C0123ABCD:\n  crew: revue\n")
    (fault,) = read_channels_file(tmp_path, CREWS).faults
    assert (fault.line, fault.text) == (
        2,
        "there is no crew revue (did you mean review?); there are general, review",
    )
    (fault,) = read_channels_file(tmp_path).faults
    assert "there is one crew; LEADHAND_CREW takes several" in fault.text


def window(form: ChannelValues, crews: tuple[str, ...] = CREWS) -> tuple[dict[str, Any], dict[str, str]]:
    """The window, and the options of its menu of crews by their values."""
    without = merge_sources([(ChannelValues(crew="law"), "file")])
    drawn = WindowContent(WORK, "C0123ABCD", without, without, FormValues(form), crews=crews)
    view = check_view(render_settings_window(drawn))
    menu = next((block for block in view["blocks"] if block.get("block_id") == "crew"), None)
    return view, {one["value"]: one["text"]["text"] for one in menu["element"]["options"]} if menu else {}


def test_the_window_offers_the_crews_where_there_are_several() -> None:
    _, offered = window(NOTHING)
    assert offered == {INHERIT_VALUE: "channels.yml: law", "general": "general", "review": "review"}
    _, offered = window(ChannelValues(crew="gone"))
    assert "gone" in offered, "what was set stays to be seen"
    assert window(NOTHING, ())[1] == {}


def make_crew_choice(value: str) -> dict[str, Any]:
    return {"crew": {"crew": {"selected_option": {"value": value}}}}


def test_what_is_chosen_is_kept_and_what_cannot_be_chosen_here_stays() -> None:
    assert parse_settings(make_crew_choice("review"), NOTHING, WINDOW, CREWS) == ChannelValues(crew="review")
    assert parse_settings(make_crew_choice(INHERIT_VALUE), ChannelValues(crew="review"), WINDOW, CREWS) == NOTHING
    assert not isinstance(parse_settings(make_crew_choice("law"), NOTHING, WINDOW, CREWS), ChannelValues)


async def test_an_instance_with_one_crew_loses_no_crew_that_was_set(store: Store) -> None:
    settings = ChannelSettings(store, lambda _: NOTHING, {})
    await settings.save_form("T1", "C0123ABCD", ChannelValues(crew="review"), user="U1")
    found = parse_settings({}, ChannelValues(crew="review"), WINDOW)
    assert isinstance(found, ChannelValues)
    names = list_setting_names(WORK, "C0123ABCD", ())
    assert await settings.save_form("T1", "C0123ABCD", found, user="U2", names=names) == ()
    assert (await settings.read_form("T1", "C0123ABCD")).values.crew == "review"


def test_everybody_can_read_which_crew_works() -> None:
    access = merge_sources([(ChannelValues(crew="review"), "file")], crew="general")
    assert "*Which crew works:* review (from channels.yml)" in str(
        render_settings("C0123ABCD", access, {}, can_change=False, crews=CREWS).blocks
    )
    assert "Which crew" not in str(render_settings("C0123ABCD", access, {}, can_change=False).blocks)


def test_the_settings_take_several_crews_and_name_what_is_wrong_with_all(tmp_path: Path) -> None:
    settings = read_settings({"LEADHAND_CREW": " general, /srv/review ,law"})
    assert (settings.crew, settings.more_crews) == ("general", ("/srv/review", "law"))
    assert read_settings({}).crew == "general"
    with pytest.raises(SettingsError) as raised:
        load_crews(settings)
    assert "/srv/review:1: there is no such folder" in str(raised.value)
    assert "law:1: there is no such folder" in str(raised.value)
    for folder in ("a", "b"):
        (tmp_path / folder / "desk").mkdir(parents=True)
        page = "---\nname: clerk\ndescription: Files.\ntools: []\nmodel: fast\n---\nYou file.\n"
        (tmp_path / folder / "desk" / "clerk.md").write_text(page)
    twice = Settings(env={}, crew=str(tmp_path / "a" / "desk"), more_crews=(str(tmp_path / "b" / "desk"),))
    with pytest.raises(SettingsError, match="LEADHAND_CREW: two crews are called desk"):
        load_crews(twice)
