"""The labelled sets of the crews that come with Leadhand name specialists that there are, and files that lie there."""

import pytest

from bot.evaluation.set_checks import check_sets
from bot.evaluation.set_files import FOLDER, read_sets
from specialists.registry import CREWS, available_crews, load_crew
from tests.evaluation.eval_kit import SAMPLES
from tests.own_tools import all_tools


@pytest.mark.parametrize("name", [name for name in available_crews() if (CREWS / name / FOLDER).is_dir()])
def test_the_sets_of_a_crew_can_be_played(name: str) -> None:
    sets = read_sets(CREWS / name, own=CREWS / name / "none")
    check_sets(sets, load_crew(CREWS / name, all_tools()), SAMPLES)
    found = {path.stem for path in (CREWS / name / FOLDER).glob("*.yml")}
    assert {"routing", "planning"} <= found
    assert {"specialists", "reviews"} & found
