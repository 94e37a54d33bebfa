import subprocess
import sys
from pathlib import Path

import pytest

from tests.mutants.mutations import MUTANTS, Edit

CHECKOUT = Path(__file__).parent.parent.parent


def test_every_mutant_is_noticed() -> None:
    # That the same tests hold for the program as it is, the suite around this test shows.
    command = [sys.executable, "-m", "tests.mutants", "--quick"]
    done = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    for mutant in MUTANTS:
        assert f"{mutant.name}: noticed by {len(mutant.catchers)}, not by 0" in done.stdout


def test_a_mutant_whose_place_is_gone_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a.lua").write_text("x x")
    for kept in ("y", "x"):
        with pytest.raises(LookupError, match=r"a\.lua has"):
            Edit("a.lua", kept, "z").apply(tmp_path)
