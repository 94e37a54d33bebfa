"""Outlines of what has no pages: programs, logs, diffs, data."""

from __future__ import annotations

import pytest

from .conftest import FILES, Given


@pytest.mark.parametrize(
    ("name", "text", "outline"),
    [
        ("a.py", "class A:\n    async def f(self):\n        def inner(): ...\nif 1:\n    def g(): ...\n",
         ["line 1: class A", "line 2: def A.f", "line 5: def g"]),
        ("broken.py", "def f(:\n    pass\nclass B\n", ["line 1: def f", "line 3: class B"]),
        ("a.go", "package main\n\nfunc (s *Server) Run(a int) error {\n}\ntype X struct {\n}\n",
         ["line 1: package main", "line 3: func (s *Server) Run", "line 5: type X"]),
        ("a.ts", "export default class Foo {\n}\nexport const f = async (x) => {\n}\ninterface I {}\n",
         ["line 1: class Foo", "line 3: f", "line 5: interface I"]),
        ("A.java", "public class A {\n    public static void main(String[] args) {\n        foo(1);\n    }\n}\n",
         ["line 1: class A", "line 2: main"]),
        ("a.c", "static int foo(int a,\n  int b)\n{\n  return bar(a);\n}\nvoid bar(void);\nstruct x { int a; };\n",
         ["line 1: foo", "line 7: struct x"]),
        ("a.rs", "pub(crate) fn foo<T>(x: T) {}\nimpl<T> Foo for Bar {}\npub enum E {}\n",
         ["line 1: fn foo<T>", "line 2: impl<T> Foo", "line 3: enum E"]),
        ("a.sql", "CREATE TABLE IF NOT EXISTS users (id int);\nselect 1;\n", ["line 1: table users"]),
        ("a.sh", "#!/bin/sh\nfoo() {\n echo\n}\n", ["line 2: foo"]),
        ("app.log", "Nov 22 23:31:00 h app[1]: a\nNov 22 23:32:00 h app[1]: b\n  trace\nNov 23 00:33:00 h app[1]: c\n",
         ["line 1: Nov 22 23:31:00", "line 4: Nov 23 00:33:00"]),
        ("access.txt", '1.2.3.4 - - [22/Nov/2026:23:31:00 +0000] "GET / HTTP/1.1" 200\n' * 3,
         ["line 1: 22/Nov/2026:23:31:00", "line 3: 22/Nov/2026:23:31:00"]),
        ("notes.txt", "a\n" * 120, ["line 1", "line 51", "line 101"]),
        ("a.md", "---\ntitle: x\n---\n# One\n```\n# no heading\n```\n\nTwo\n---\n\n| a |\n|---|\n",
         ["line 4: One", "line 9: Two"]),
        ("a.yaml", "# c\nversion: 3\nservices:\n  web:\n    image: x\n", ["line 2: version", "line 3: services"]),
        ("twice.html", "<h1>Same</h1>a<h1>Same</h1>b", ["Same", "Same (2)"]),
        ("gone.diff", "--- a/old.py\n+++ /dev/null\n@@ -1 +0,0 @@\n--- x\n", ["old.py", "old.py line 0"]),
    ],
    ids=lambda value: value if isinstance(value, str) and "\n" not in value and len(value) < 12 else "",
)  # fmt: skip
async def test_an_outline_names_the_places(given: Given, name: str, text: str, outline: list[str]) -> None:
    assert [section.name for section in (await given(name, text.encode())).outline] == outline


@pytest.mark.parametrize("path", sorted(FILES.iterdir()), ids=lambda path: path.name)
async def test_places_are_in_order_within_the_text_and_of_different_names(given: Given, path: object) -> None:
    reading = await given(str(path).rpartition("/")[2])
    starts = [section.start for section in reading.outline]
    assert starts == sorted(starts)
    assert all(0 <= start <= len(reading.text) for start in starts)
    assert len({section.name for section in reading.outline}) == len(starts)
    assert bool(reading.text) != bool(reading.fault)
