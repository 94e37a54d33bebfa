"""What people would ask, on files as messy as theirs: no answer of the rehearsal is wrong without saying so.

One question of each file is played here; `python -m tests.rehearsal_set` plays all of them, in some minutes.
"""

from __future__ import annotations

from collections import Counter

from tests.rehearsal_set.asked import REQUEST_CASES, RIGHT
from tests.rehearsal_set.question_player import play_cases
from tests.system.scene import scene_on

MIN_RIGHT = 40


async def test_a_question_of_each_file_ends_as_it_should(server_url: str) -> None:
    """In one workspace, as each question is a thread of its own: a bot for each file took two thirds of the time."""
    first = {one.file: one for one in reversed(REQUEST_CASES)}
    async with scene_on(server_url) as scene:
        found, wrong = await play_cases(scene, [first[file] for file in sorted(first)])
    assert not wrong, "\n\n".join(wrong)
    assert len(found) == len(first) > 15


def test_the_set_is_as_large_as_it_claims() -> None:
    assert len(REQUEST_CASES) >= 60
    assert Counter(one.want for one in REQUEST_CASES)[RIGHT] >= MIN_RIGHT
