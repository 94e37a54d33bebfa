"""The README's ten lines really add a specialist."""

import re
import shutil
from pathlib import Path

from specialists.registry import CREWS, load_crew
from specialists.toolkits.catalogue import all_tools

README = Path(__file__).parents[2] / "README.md"


def test_the_specialist_of_the_readme_joins_the_crew(tmp_path: Path) -> None:
    text = README.read_text(encoding="utf-8")
    found = re.search(r"`specialists/crews/general/(\w+)\.md`.*?```markdown\n(.*?)```", text, re.DOTALL)
    assert found, "the README no longer shows a specialist"
    crew = tmp_path / "general"
    shutil.copytree(CREWS / "general", crew)
    (crew / f"{found[1]}.md").write_text(found[2], encoding="utf-8")
    specialists = load_crew(crew, all_tools()).specialists
    assert found[1] in specialists
    assert len(found[2].splitlines()) <= 10
