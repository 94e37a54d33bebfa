"""Looks which extras are installed: heavy packages sit in extras that a person may leave out."""

from __future__ import annotations

import re
from importlib.util import find_spec

TRY = "try"
"""The extra with what `leadhand try` and its demos need."""
RECOMMENDED = "recommended"
"""The extra with what a team's bot needs."""
ALL = "all"
EMBEDDED = "embedded"
"""The extra with a server for the store; one on the PATH does as well."""
BY_PURPOSE = frozenset({TRY, RECOMMENDED, ALL})
"""Extras that are made of the others, which are named after domains."""
_NEED = re.compile(r"""([\w.-]+).*;.*\bextra == ['"]([\w-]+)['"]""")


def missing_packages(extra: str, *modules: str) -> str:
    """Say which of the modules of an extra are not there, and what to do; empty if all are."""
    absent = [module for module in modules if find_spec(module) is None]
    return f"{', '.join(absent)} is not installed. Add it with: {install_command(extra)}" if absent else ""


def describe_missing(extra: str, *modules: str) -> str:
    """Word what models, and through them people, are told if one of the modules is missing; empty if none is."""
    absent = [module for module in modules if find_spec(module) is None]
    if not absent:
        return ""
    return f"This tool is not installed here ({', '.join(absent)} missing). {describe_remedy(extra)}"


def describe_remedy(*extras: str) -> str:
    """Say who can add extras, and how."""
    return f"Whoever runs the bot can add it with: {install_command(*extras)}"


def install_command(*extras: str) -> str:
    """Return the command that adds extras to an installation."""
    return f"pip install 'leadhand[{','.join(extras)}]'"


def absent_extras(purpose: str = ALL) -> tuple[str, ...]:
    """List the extras by domain that an extra by purpose holds and that are not wholly installed here."""
    from importlib.metadata import requires  # noqa: PLC0415 - children import this module, and need no more of it

    needs = [found.groups() for one in requires("leadhand") or () if (found := _NEED.match(one))]
    wanted = {package for package, extra in needs if extra == purpose}
    by_domain = {extra for package, extra in needs if extra not in BY_PURPOSE and package in wanted}
    return tuple(sorted({extra for package, extra in needs if extra in by_domain and not _is_installed(package)}))


def _is_installed(package: str) -> bool:
    from importlib.metadata import PackageNotFoundError, distribution  # noqa: PLC0415 - the same

    try:
        distribution(package)
    except PackageNotFoundError:
        return False
    return True
