"""Finds which extras of the package are installed; heavy dependencies are in extras, which may be left out."""

from __future__ import annotations

import re
from importlib.util import find_spec

TRY_EXTRA = "try"
"""The extra with what `leadhand try` and its demos need."""
RECOMMENDED_EXTRA = "recommended"
"""The extra with all that a team's bot needs."""
ALL_EXTRA = "all"
EMBEDDED_EXTRA = "embedded"
"""The extra with a server for the store; a server on the PATH works as well."""
PURPOSE_EXTRAS = frozenset({TRY_EXTRA, RECOMMENDED_EXTRA, ALL_EXTRA})
"""Extras for a purpose. They combine the other extras, which are for one domain each, such as `mail`."""
_REQUIREMENT = re.compile(r"""([\w.-]+).*;.*\bextra == ['"]([\w-]+)['"]""")


def describe_missing_packages(extra: str, *modules: str) -> str:
    """Return which modules of an extra are not installed, and the command that adds them; "" if all are."""
    absent = [module for module in modules if find_spec(module) is None]
    return f"{', '.join(absent)} is not installed. Add it with: {make_install_command(extra)}" if absent else ""


def describe_unavailable_tool(extra: str, *modules: str) -> str:
    """Return which modules a tool lacks and how to install them, for models to pass on to people; "" if none."""
    absent = [module for module in modules if find_spec(module) is None]
    if not absent:
        return ""
    return f"This tool is not installed here ({', '.join(absent)} missing). {explain_install(extra)}"


def explain_install(*extras: str) -> str:
    """Return a sentence that says who can add the extras, and how."""
    return f"Whoever runs the bot can add it with: {make_install_command(*extras)}"


def make_install_command(*extras: str) -> str:
    """Return the command that adds extras to an installation."""
    return f"pip install 'leadhand[{','.join(extras)}]'"


def list_missing_extras(purpose: str = ALL_EXTRA) -> tuple[str, ...]:
    """List the domain extras that belong to the extra `purpose` and are not completely installed here."""
    from importlib.metadata import requires  # noqa: PLC0415 - children import this module, and need no more of it

    needs = [match.groups() for one in requires("leadhand") or () if (match := _REQUIREMENT.match(one))]
    wanted_packages = {package for package, extra in needs if extra == purpose}
    by_domain = {extra for package, extra in needs if extra not in PURPOSE_EXTRAS and package in wanted_packages}
    return tuple(sorted({extra for package, extra in needs if extra in by_domain and not _is_installed(package)}))


def _is_installed(package: str) -> bool:
    from importlib.metadata import PackageNotFoundError, distribution  # noqa: PLC0415 - as above

    try:
        distribution(package)
    except PackageNotFoundError:
        return False
    return True
