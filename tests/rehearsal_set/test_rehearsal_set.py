"""What people would ask, on files as messy as theirs: no answer of the rehearsal is wrong without saying so.

One question of each file is played here; `python -m tests.rehearsal_set` plays all of them, in some minutes.
"""

from __future__ import annotations

from collections import Counter

import pytest

from tests.rehearsal_set.asked import ASKED, RIGHT
from tests.rehearsal_set.question_player import played
from tests.system.scene import Scene

LEAST_RIGHT = 40


@pytest.mark.parametrize("file", sorted({one.file for one in ASKED}))
async def test_a_question_of_each_file_ends_as_it_should(scene: Scene, file: str) -> None:
    asked = next(one for one in ASKED if one.file == file)
    _, wrong = await played(scene, [asked])
    assert not wrong, wrong[0]


def test_the_set_is_as_large_as_it_claims() -> None:
    wants = Counter(one.want for one in ASKED)
    assert len(ASKED) >= 60
    assert len({one.file for one in ASKED if one.file}) >= 15
    assert wants[RIGHT] >= LEAST_RIGHT
