"""compose.yaml and the Dockerfile say what the settings, the files and the locks say."""

import re
import shlex
from typing import Any

import pytest
import yaml

from bot.settings import VARIABLES, read_settings
from tests.command_line.command import ROOT

COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
SETTING = re.compile(r"(?:SLACK|LEADHAND|ANTHROPIC|OPENAI|OLLAMA|REDIS|BRAVE|TAVILY)_[A-Z_]+")
INSTANCES = [service for name, service in COMPOSE["services"].items() if name != "redis"]
SERVER = COMPOSE["services"]["redis"]


def steps(word: str) -> list[str]:
    """What follows an instruction of the Dockerfile, lines that go on joined."""
    joined = DOCKERFILE.replace("\\\n", " ")
    return [line.removeprefix(f"{word} ").strip() for line in joined.splitlines() if line.startswith(f"{word} ")]


def environment() -> dict[str, str]:
    return dict(part.split("=", 1) for step in steps("ENV") for part in shlex.split(step))


@pytest.mark.parametrize("name", ["compose.yaml", "Dockerfile"])
def test_every_setting_that_they_name_exists(name: str) -> None:
    named = set(SETTING.findall((ROOT / name).read_text(encoding="utf-8")))
    assert named
    assert named - set(VARIABLES) == set()


def test_the_settings_of_the_image_can_be_read() -> None:
    settings = read_settings(environment())
    assert settings.log == "json"
    assert settings.operation is not None
    assert (settings.operation.host, settings.operation.port) == ("0.0.0.0", 9464)  # noqa: S104 - as the image says
    assert f"-o leadhand -m 700 {settings.data}" in steps("RUN")[-1]


def test_every_file_that_is_copied_exists_and_nothing_else_is_needed() -> None:
    copied = [word for step in steps("COPY") if not step.startswith("--from") for word in shlex.split(step)[:-1]]
    assert [name for name in copied if not (ROOT / name).exists()] == []
    packaged = re.search(r"^packages = \[(.*)\]$", (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE)
    assert packaged is not None
    assert set(re.findall(r'"(\w+)"', packaged[1])) <= set(copied)
    assert {"requirements.lock", "pyproject.toml", "README.md", "LICENSE", "manifest.yml"} <= set(copied)


def test_the_image_keeps_to_the_lock_and_runs_as_nobody() -> None:
    installs = [step for step in steps("RUN") if "pip install " in step]
    assert len(installs) == 3
    assert all("--no-deps" in step for step in installs)
    assert all(
        "--require-hashes" in step or step.endswith("--no-build-isolation --compile-bytecode .") for step in installs
    )
    (gone,) = [step.split("leadhand/bin/python ")[1].split() for step in steps("RUN") if " uninstall " in step]
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    assert [name for name in gone if not re.search(rf"^{name}==", lock, re.MULTILINE)] == []
    assert steps("USER") == ["leadhand"]
    assert (steps("ENTRYPOINT"), steps("CMD")) == (['["leadhand"]'], ['["run"]'])


def test_two_instances_that_differ_in_nothing() -> None:
    first, second = INSTANCES
    assert first == second
    for service in INSTANCES:
        assert set(service["environment"]) <= set(VARIABLES)
        assert read_settings(service["environment"]).redis_url == "redis://redis:6379/0"
        assert service["depends_on"] == {"redis": {"condition": "service_healthy"}}
        assert ":9464/readyz" in service["healthcheck"]["test"][-1]
        assert service["restart"] == "unless-stopped"
        assert int(service["stop_grace_period"].removesuffix("s")) >= 5
    assert not any("ports" in service for service in COMPOSE["services"].values())


def test_a_server_as_it_should_be() -> None:
    options = dict(zip(SERVER["command"][1::2], SERVER["command"][2::2], strict=True))
    assert options["--appendonly"] == "yes"
    assert options["--maxmemory-policy"] == "noeviction"
    (volume,) = SERVER["volumes"]
    assert volume.partition(":")[0] in COMPOSE["volumes"]


@pytest.mark.parametrize(
    "test", [*(each["healthcheck"]["test"] for each in INSTANCES[:1]), None], ids=["compose", "image"]
)
def test_the_probes_are_programs(test: list[str] | None) -> None:
    if test is None:
        (probe,) = re.findall(r'CMD \["python", "-c", "(.*)"\]', DOCKERFILE)
        assert ":9464/healthz" in probe
    else:
        assert test[:3] == ["CMD", "python", "-c"]
        probe = test[3]
    compile(probe, "probe", "exec")
