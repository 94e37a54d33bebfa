"""The page's own modules: who imports whom."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "bot" / "workspace" / "page"


def test_no_module_of_the_page_imports_itself_in_a_circle() -> None:
    imports = {
        path.name: set(re.findall(r'^import .* from "\./(\w+\.js)";$', path.read_text(encoding="utf-8"), re.MULTILINE))
        for path in PAGE.glob("*.js")
    }
    assert "main.js" in imports
    assert imports["main.js"]
    while free := {name for name, needed in imports.items() if not needed}:  # what needs nothing (more) is no circle
        imports = {name: needed - free for name, needed in imports.items() if name not in free}
    assert imports == {}
