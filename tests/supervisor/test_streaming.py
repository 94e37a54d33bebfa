"""An answer while it is written: nothing of it is shown that people should not see, and all else soon."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.supervisor.synthesizer import AnswerStreamer


class Screen:
    """What people have seen so far."""

    def __init__(self) -> None:
        self.text = ""

    async def show(self, piece: str) -> None:
        self.text += piece


def clean(line: str) -> bool:
    return "47,231" not in line


@pytest.mark.parametrize(
    ("text", "shown_text"),
    [
        ("All is calm there.\nNext line. ", "All is calm there.\nNext line. "),
        ("Calm.\n47,231 units sold.\nMore.\n", "Calm.\n"),
        ("They sold 41,237 units.\nMore.\n", "They sold 41,237 units.\nMore.\n"),
        ("They sold 41,2", "They sold "),
        ("Up 37 % [[= (9 - 7) / 7]] in all.\nMore.\n", "Up 37 % in all.\nMore.\n"),
        ('  {"contradictions": []}\n', ""),
        ('```json\n{"contradictions": []}\n```\n', ""),
        ("On word17 all agree.\n", "On word17 all agree.\n"),
    ],
)
@pytest.mark.parametrize("size", [1, 4, 1000])
async def test_what_is_shown_while_it_is_written(text: str, shown_text: str, size: int) -> None:
    screen = Screen()
    stream = AnswerStreamer(screen.show, clean)
    for start in range(0, len(text), size):
        await stream.write(text[start : start + size])
    assert screen.text == shown_text


async def test_the_rest_is_shown_in_the_end_where_the_answer_goes_on() -> None:
    screen = Screen()
    stream = AnswerStreamer(screen.show, clean)
    await stream.write("They sold 41,2")
    await stream.finish("They sold 41,237.")
    assert screen.text == "They sold 41,237."
    await stream.finish("Another answer.")
    assert screen.text == "They sold 41,237.", "another text takes the message's place, not its end"


@given(text=st.text(alphabet="a1 \n47,23{<", max_size=80), size=st.integers(1, 9))
async def test_nothing_unclean_is_ever_shown(text: str, size: int) -> None:
    screen = Screen()
    stream = AnswerStreamer(screen.show, clean)
    for start in range(0, len(text), size):
        await stream.write(text[start : start + size])
    assert "47,231" not in screen.text
    assert text.lstrip().startswith(screen.text)
