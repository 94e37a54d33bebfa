"""What people would ask, on files as messy as theirs: no answer of the rehearsal is wrong without saying so.

One question of each file is played here; `python -m tests.rehearsal_set` plays all of them, in some minutes.
"""

from __future__ import annotations

from collections import Counter

from tests.rehearsal_set.asked import ASKED, RIGHT
from tests.rehearsal_set.question_player import played
from tests.system.scene import scene_on

MIN_RIGHT = 40


async def test_a_question_of_each_file_ends_as_it_should(server_url: str) -> None:
    """In one workspace, as each question is a thread of its own: a bot for each file took two thirds of the time."""
    first = {one.file: one for one in reversed(ASKED)}
    async with scene_on(server_url) as scene:
        found, wrong = await played(scene, [first[file] for file in sorted(first)])
    assert not wrong, "\n\n".join(wrong)
    assert len(found) == len(first) > 15


def test_the_set_is_as_large_as_it_claims() -> None:
    assert len(ASKED) >= 60
    assert Counter(one.want for one in ASKED)[RIGHT] >= MIN_RIGHT
