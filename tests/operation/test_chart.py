"""The chart runs two instances without rights, asks the bot's real probes, and goes on where walls are missing."""

import json
import re
import shutil
import subprocess
import sys
from functools import cache
from typing import Any

import jsonschema
import pytest
import yaml

from bot.operation.health import HealthState, _make_application
from bot.operation.metrics import Metrics
from bot.settings import VARIABLES, read_settings
from tests.command_line.command import ROOT
from tests.operation.plain_chart import CHART, FORM, TEMPLATES, render_chart, values

HOSTILE = 'x", "y": {{ .Values.secret }}\nkind: Pod # '
SECURITY_CONTEXT = {
    "allowPrivilegeEscalation": False,
    "privileged": False,
    "readOnlyRootFilesystem": True,
    "capabilities": {"drop": ["ALL"]},
}
PROOF = """
import asyncio, json
from specialists.sandbox.sandbox_probe import probe_sandbox
report = asyncio.run(probe_sandbox())
print(json.dumps({"standing": sorted(report.active_layers), "reached": report.reached_targets}))
"""


def objects(**changes: Any) -> dict[str, dict[str, Any]]:
    return {one["kind"]: one for one in yaml.safe_load_all(render_chart(values() | changes))}


@cache
def render_default_objects() -> dict[str, dict[str, Any]]:
    """What the values as they stand make."""
    return objects()


def pod() -> dict[str, Any]:
    found: dict[str, Any] = render_default_objects()["Deployment"]["spec"]["template"]["spec"]
    return found


def container() -> dict[str, Any]:
    (only,) = pod()["containers"]
    return only


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_templates_know_one_form_alone(path: Any) -> None:
    text = path.read_text(encoding="utf-8")
    assert len(FORM.findall(text)) == text.count("{{") == text.count("}}") > 0


def test_no_value_changes_the_shape_of_what_it_goes_into() -> None:
    hostile = objects(secret=HOSTILE, image=HOSTILE, settings={"LEADHAND_LOG": HOSTILE})
    assert set(hostile) == {"Deployment", "ConfigMap", "Service", "PodDisruptionBudget"}
    assert hostile["Deployment"]["spec"]["template"]["spec"]["containers"][0]["image"] == HOSTILE
    assert hostile["ConfigMap"]["data"] == {"LEADHAND_LOG": HOSTILE}


def test_two_instances_that_may_do_nothing() -> None:
    spec = render_default_objects()["Deployment"]["spec"]
    assert spec["replicas"] == 2
    assert pod()["securityContext"]["runAsNonRoot"] is True
    assert pod()["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert pod()["automountServiceAccountToken"] is False
    assert container()["securityContext"] == SECURITY_CONTEXT
    assert render_default_objects()["PodDisruptionBudget"]["spec"]["maxUnavailable"] == 1


def test_its_user_is_the_one_of_the_image() -> None:
    uid = re.search(r"--uid (\d+) ", (ROOT / "Dockerfile").read_text(encoding="utf-8"))
    assert uid is not None
    assert {pod()["securityContext"][name] for name in ("runAsUser", "runAsGroup", "fsGroup")} == {int(uid[1])}


async def test_the_probes_are_those_that_the_bot_answers() -> None:
    async def nothing() -> None:
        return None

    routes = {
        resource.canonical
        for resource in _make_application("0.0.0.0", HealthState(), Metrics(), nothing).router.resources()  # noqa: S104
    }
    probes = {name: container()[f"{name}Probe"]["httpGet"] for name in ("startup", "liveness", "readiness")}
    assert probes["startup"] == probes["liveness"] == {"path": "/healthz", "port": "operation"}
    assert probes["readiness"] == {"path": "/readyz", "port": "operation"}
    assert {probe["path"] for probe in probes.values()} <= routes


def test_every_setting_exists_and_ports_are_those_that_are_probed() -> None:
    env = {one["name"]: one.get("value", "") for one in container()["env"]}
    named = set(env) | set(values()["settings"])
    assert named - set(VARIABLES) == {"XDG_CACHE_HOME"}
    settings = read_settings({**values()["settings"], **env, "REDIS_URL": "redis://redis", "SLACK_BOT_TOKEN": "xoxb-1"})
    ports = {one["name"]: one["containerPort"] for one in container()["ports"]}
    assert settings.operation is not None
    assert ports == {"operation": settings.operation.port, "events": settings.http.port}
    service = render_default_objects()["Service"]["spec"]["ports"]
    assert {one["name"]: one["port"] for one in service} == ports


def test_no_pod_starts_without_redis_and_a_token() -> None:
    from_secret = {one["name"]: one["valueFrom"] for one in container()["env"] if "valueFrom" in one}
    assert from_secret == {
        name: {"secretKeyRef": {"name": "leadhand", "key": name}} for name in ("REDIS_URL", "SLACK_BOT_TOKEN")
    }


def test_all_that_is_written_lies_in_an_empty_folder() -> None:
    mounts = {one["mountPath"]: one["name"] for one in container()["volumeMounts"]}
    assert set(mounts.values()) == {one["name"] for one in pod()["volumes"] if "emptyDir" in one}
    env = {one["name"]: one.get("value", "") for one in container()["env"]}
    assert env["LEADHAND_DATA"] in mounts
    assert env["XDG_CACHE_HOME"].startswith(f"{env['LEADHAND_DATA']}/")
    assert "/tmp" in mounts  # noqa: S108 - where readers of files work


def test_the_values_keep_to_their_schema_and_others_are_refused() -> None:
    schema = json.loads((CHART / "values.schema.json").read_text(encoding="utf-8"))
    validator = jsonschema.Draft202012Validator(schema)
    assert list(validator.iter_errors(values())) == []
    assert set(schema["properties"]) == set(values()) | {"global"}
    for wrong in ({"replicas": 0}, {"secret": ""}, {"settings": {"LEADHAND_SLOTS": 5}}, {"replica": 2}):
        assert not validator.is_valid(values() | wrong)


def test_helm_gives_the_same() -> None:
    if shutil.which("helm") is None:
        pytest.skip("there is no helm here")
    helm = ["helm", "template", "leadhand", CHART]
    shown = subprocess.run(helm, capture_output=True, text=True, check=True).stdout
    theirs = {one["kind"]: one for one in yaml.safe_load_all(shown) if one}
    assert theirs == render_default_objects()


def test_two_walls_stand_where_namespaces_are_refused() -> None:
    """As RuntimeDefault does it, which the values name, and say so."""
    refused = 'echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"'
    apart = ["unshare", "--user", "--map-root-user", "sh", "-c", refused, "sh"]
    if not shutil.which("unshare") or subprocess.run([*apart, "true"], capture_output=True, check=False).returncode:
        pytest.skip("this system lets nobody refuse namespaces to a process")
    told = subprocess.run(
        [*apart, sys.executable, "-c", PROOF], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    report = json.loads(told)
    assert "namespace" not in report["standing"]
    if report["standing"] == ["landlock", "seccomp"]:
        assert report["reached"] == []
    assert values()["settings"]["LEADHAND_SANDBOX"] == "best"
