"""The settings that say who may use it, as the environment gives them."""

import pytest

from bot.access.access_values import ChannelValues
from bot.settings import SettingsError, read_settings


def test_what_is_not_set_is_left_open() -> None:
    assert read_settings({}).in_channel("C0123ABCD") == ChannelValues()


def test_each_is_read() -> None:
    settings = read_settings(
        {
            "LEADHAND_CHANNELS": "C0123ABCD, C0456EFGH",
            "LEADHAND_USERS": "U0123ABCD,S0123ABCD,",
            "LEADHAND_GUESTS": "ON",
            "LEADHAND_STRANGERS": "T0123ABCD",
            "LEADHAND_APPROVERS": "S0456EFGH",
            "LEADHAND_FOLLOW_UPS": "off in C0123ABCD",
        }
    )
    everywhere = ChannelValues(
        users=("U0123ABCD", "S0123ABCD"), guests=True, strangers=("T0123ABCD",), approvers=("S0456EFGH",)
    )
    for channel, allowed, heard in (("C0123ABCD", True, False), ("C0456EFGH", True, True), ("C0789IJKL", False, True)):
        values = {"allowed": allowed, "follow_ups": heard}
        assert settings.in_channel(channel) == everywhere.model_copy(update=values)


def test_what_is_set_as_it_is_by_default_comes_from_the_environment_all_the_same() -> None:
    assert read_settings({"LEADHAND_FOLLOW_UPS": "on"}).in_channel("C0123ABCD").follow_ups is True
    assert read_settings({"LEADHAND_GUESTS": "off"}).in_channel("C0123ABCD").guests is False


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("LEADHAND_CHANNELS", "#sales", "names '#sales'; it takes the ids of channels"),
        ("LEADHAND_USERS", "U0123ABCD, ana", "ana is no id of a person (U...) or group (S...)"),
        ("LEADHAND_GUESTS", "some", "it takes on or off"),
        ("LEADHAND_STRANGERS", "all", "all is no id of a workspace (T...)"),
        ("LEADHAND_APPROVERS", "C0123ABCD", "no id of a person"),
    ],
)
def test_a_wrong_one_is_named_with_what_to_do(name: str, text: str, words: str) -> None:
    with pytest.raises(SettingsError) as caught:
        read_settings({name: text})
    assert str(caught.value).startswith(name)
    assert words in str(caught.value)
