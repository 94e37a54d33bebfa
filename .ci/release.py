"""Checks that the tree is ready for a tag, prints a release's notes, and points the chart at a published image.

    .venv/bin/python .ci/release.py check v1.0.0
    .venv/bin/python .ci/release.py notes v1.0.0
    .venv/bin/python .ci/release.py chart ghcr.io/acme/leadhand@sha256:... build/chart

`check` without a tag leaves out what only a release has: the headings of its version. Imports the standard library
only: the release workflow runs it before anything is installed.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
CHART = Path("docs/deploy/chart")
TAG = re.compile(r"v(\d+\.\d+\.\d+(?:rc\d+)?)")
PINNED = re.compile(r"[\w./:-]+@sha256:[0-9a-f]{64}")


class NotReady(Exception):
    """The tree and the tag do not agree. The text says what to change, a line each."""


def main(arguments: list[str]) -> int:
    """Run one command. Returns the exit code."""
    try:
        match arguments:
            case ["check"]:
                _raise_if_any(version_faults(ROOT))
            case ["check", tag]:
                _raise_if_any([*version_faults(ROOT), *tag_faults(ROOT, tag)])
            case ["notes", tag]:
                print(release_notes((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), version_of(tag)))
            case ["chart", image, folder]:
                write_chart(ROOT / CHART, image, Path(folder))
            case _:
                print(__doc__, file=sys.stderr)
                return 2
    except NotReady as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def version_of(tag: str) -> str:
    """Return the version that a tag names. Raises NotReady."""
    found = TAG.fullmatch(tag)
    if found is None:
        raise NotReady(f"{tag}: a release's tag is v and its version, such as v1.0.0 or v1.0.0rc1.")
    return found[1]


def package_version(root: Path) -> str:
    """Return the version in pyproject.toml."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return str(project["version"])


def version_faults(root: Path) -> list[str]:
    """List the files whose version is not that of pyproject.toml."""
    version = package_version(root)
    chart = (root / CHART / "Chart.yaml").read_text(encoding="utf-8")
    values = (root / CHART / "values.yaml").read_text(encoding="utf-8")
    # The chart's own version is a SemVer, which writes 1.0.0rc1 with a dash.
    wanted = {
        f"version: {version.replace('rc', '-rc.')}": ("Chart.yaml", chart),
        f'appVersion: "{version}"': ("Chart.yaml", chart),
        f"image: leadhand:{version}": ("values.yaml", values),
    }
    return [
        f"{CHART / name}: the line `{line}` is missing; pyproject.toml has version {version}."
        for line, (name, text) in wanted.items()
        if line not in text.splitlines()
    ]


def tag_faults(root: Path, tag: str) -> list[str]:
    """List what of the tree is not as a release of this tag needs it."""
    version = version_of(tag)
    faults = [
        f"{name}: there is nothing below a heading `## [{version}]`; rename `## [Unreleased]`."
        for name in ("CHANGELOG.md", "docs/upgrading.md")
        if not section((root / name).read_text(encoding="utf-8"), version)
    ]
    if version != package_version(root):
        faults.insert(0, f"{tag}: pyproject.toml has version {package_version(root)}.")
    return faults


def release_notes(changelog: str, version: str) -> str:
    """Return what the changelog says of a version. Raises NotReady if it says nothing."""
    found = section(changelog, version)
    if not found:
        raise NotReady(f"CHANGELOG.md: there is nothing below a heading `## [{version}]`.")
    return found


def section(page: str, version: str) -> str:
    """Return the text below `## [VERSION]`, with or without a date behind it, up to the next such heading."""
    heading = re.compile(rf"^## \[{re.escape(version)}\].*\n", re.MULTILINE)
    found = heading.search(page)
    return re.split(r"^## ", page[found.end() :], maxsplit=1, flags=re.MULTILINE)[0].strip() if found else ""


def write_chart(chart: Path, image: str, folder: Path) -> None:
    """Copy the chart, with a published image in its values. Raises NotReady unless the image is named by its digest."""
    if PINNED.fullmatch(image) is None:
        raise NotReady(f"{image}: name the image by its digest, such as ghcr.io/acme/leadhand@sha256:...")
    shutil.copytree(chart, folder)
    values = folder / "values.yaml"
    line = f"image: {json.dumps(image)}"
    text, count = re.subn(r"^image: .*$", line, values.read_text(encoding="utf-8"), flags=re.MULTILINE)
    if count != 1:
        raise NotReady(f"{chart / 'values.yaml'}: there are {count} lines `image:`, and not one.")
    values.write_text(text, encoding="utf-8")


def _raise_if_any(faults: list[str]) -> None:
    if faults:
        raise NotReady("\n".join(faults))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
