"""Renders the chart where no Helm is: its templates know one form, `{{ .PATH | toJson }}`."""

import json
import re
import sys
from collections.abc import Mapping
from functools import reduce
from pathlib import Path
from typing import Any

import yaml

CHART = Path(__file__).parents[2] / "docs" / "deploy" / "chart"
TEMPLATES = sorted((CHART / "templates").iterdir())
FORM = re.compile(r"\{\{ \.(?P<path>\w+(?:\.\w+)*)(?P<filters>(?: \| toJson)+) \}\}")


def values() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))
    return found


def context(chart_values: Mapping[str, Any]) -> dict[str, Any]:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text(encoding="utf-8"))
    named = {name[0].upper() + name[1:]: value for name, value in chart.items()}
    return {"Values": chart_values, "Chart": named, "Release": {"Name": "leadhand"}}


def render(text: str, chart_values: Mapping[str, Any]) -> str:
    """Raises KeyError for a value that is not there."""
    whole = context(chart_values)

    def fill_form(match: re.Match[str]) -> str:
        value: Any = reduce(lambda node, name: node[name], match["path"].split("."), whole)
        for _ in range(match["filters"].count("toJson")):
            value = json.dumps(value)
        return str(value)

    return FORM.sub(fill_form, text)


def render_chart(chart_values: Mapping[str, Any]) -> str:
    """All templates, as one stream of YAML."""
    return "\n---\n".join(render(path.read_text(encoding="utf-8"), chart_values) for path in TEMPLATES)


if __name__ == "__main__":
    sys.stdout.write(render_chart(values()))
