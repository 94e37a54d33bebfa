"""Install the packages of hash-checked locks, as fast as uv and from wherever pip would take them.

    .venv/bin/python .ci/install.py requirements.lock
    .venv/bin/python .ci/install.py --into .venv/agentdojo .ci/hostile.lock

uv does not read pip's configuration. So behind a company's mirror it would ask
the public index, and trust no certificate but the public ones. This hands it
what pip is configured with (files and PIP_* variables), and where uv still
cannot install, pip does.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

UV = Path(sys.executable).with_name("uv")
PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check")
FROM_LOCKS = ("--quiet", "--require-hashes", "--no-deps")

SAME_AS = {
    "index-url": ("UV_DEFAULT_INDEX", " "),
    "extra-index-url": ("UV_INDEX", " "),
    "find-links": ("UV_FIND_LINKS", ","),
    "trusted-host": ("UV_INSECURE_HOST", " "),
    "cert": ("SSL_CERT_FILE", ""),
    "client-cert": ("SSL_CLIENT_CERT", ""),
    "proxy": ("HTTPS_PROXY", ""),
    "no-index": ("UV_NO_INDEX", ""),
}
"""pip's option, uv's variable for it, and what stands between several values there."""


def main(locks: list[str]) -> int:
    """Install the locks, with `--into FOLDER` before them into a folder of their own. Returns the exit code."""
    into = ["--target", locks[1]] if locks[:1] == ["--into"] else []
    wanted = [*into, *(word for lock in locks[len(into) :] for word in ("-r", lock))]
    uv = subprocess.run(
        [UV, "pip", "install", "--python", sys.executable, *FROM_LOCKS, *wanted],
        env=for_uv(pip_options()),
        capture_output=True,
        text=True,
        check=False,
    )
    if uv.returncode == 0:
        return 0
    reason = " ".join(uv.stderr.split())
    print(f"uv cannot install from here ({reason}). Installing with pip, which takes a minute ...")
    return subprocess.run([*PIP, "install", *FROM_LOCKS, *wanted], check=False).returncode


def pip_options() -> dict[str, str]:
    """Read what pip is configured with. What is set for `pip install` beats what is set for all, a variable both."""
    listed = subprocess.run([*PIP, "config", "list"], capture_output=True, text=True, check=True).stdout
    options: dict[str, dict[str, str]] = {"global": {}, "install": {}, ":env:": {}}
    for line in listed.splitlines():
        name, _, value = line.partition("=")
        section, _, option = name.partition(".")
        if section in options:
            options[section][option] = ast.literal_eval(value)
    return options["global"] | options["install"] | options[":env:"]


def for_uv(options: Mapping[str, str]) -> dict[str, str]:
    """Say the same to uv by its variables. What is set for uv itself stays."""
    # pip takes a version from any of its indexes. The hashes say that it is the right one.
    same = {"UV_INDEX_STRATEGY": "unsafe-best-match"}
    for option, (name, between) in SAME_AS.items():
        if value := options.get(option, ""):
            same[name] = between.join(value.split()) if between else value
    uvs_own = {name: value for name, value in os.environ.items() if name.startswith("UV_")}
    return {**os.environ, **same, **uvs_own}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
