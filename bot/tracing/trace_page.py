"""Renders a trace as one self-contained HTML page: no network, and no script but ours runs.

Its template, style and scripts lie in `page/` beside this file. The texts of people, models and tools are embedded as
JSON in a block of data, which the scripts only render as text. The content security policy of the page allows our
scripts and our style by their digests, and nothing else.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
from functools import cache
from pathlib import Path
from typing import Any

from bot.tracing.cut_texts import choose_text_limit, cut_all_texts, cut_text
from bot.tracing.export import export_trace
from bot.tracing.job_trace import RequestFigures, Trace
from bot.tracing.picture_layout import STATE_WORDS
from bot.tracing.time_scale import make_time_scale

MAX_PAGE_CHARS = 2_500_000
"""Most characters of all long texts in the page together; if there are more, each text is cut."""
_PAGE_FOLDER = Path(__file__).parent / "page"
_SCRIPT_NAMES = ("trace.js", "trace_waterfall.js", "trace_search.js")
_MAX_TITLE_CHARS = 80


def render_trace_page(trace: Trace) -> str:
    """Render a trace as an HTML page."""
    template, style, script = _read_page_parts()
    first = trace.requests[-1].text if trace.requests else ""
    title = cut_text(" ".join(first.split()), _MAX_TITLE_CHARS) or "a job"
    values = {
        "policy": _make_content_policy(style, script),
        "title": html.escape(f"Trace of {trace.job}: {title}"),
        "style": style,
        "trace": _embed_json(_build_page_data(trace)),
        "script": script,
    }
    parts = template.split("{{")
    return parts[0] + "".join(values[name] + rest for name, rest in (part.split("}}", 1) for part in parts[1:]))


def _build_page_data(trace: Trace) -> dict[str, Any]:
    """Return the data of the page: the export without the events of the log, and the time scale of each request.

    `derived` lists the sentences on how times were derived, each once. In a span, `derived` is an index in this list.
    """
    whole = export_trace(trace, include_events=False)
    cap = choose_text_limit(whole["spans"], MAX_PAGE_CHARS)
    spans = cut_all_texts(whole["spans"], cap)
    derivations = list(dict.fromkeys(one["derived"] for one in spans if "derived" in one))
    places = {words: place for place, words in enumerate(derivations)}
    page_spans = [{**one, "derived": places[one["derived"]]} if "derived" in one else one for one in spans]
    requests = [
        {**request_data, **_make_request_data(trace, figures)}
        for request_data, figures in zip(whole["requests"], trace.requests, strict=True)
    ]
    return {**whole, "until": trace.last_event_at, "derived": derivations, "requests": requests, "spans": page_spans}


def _make_request_data(trace: Trace, figures: RequestFigures) -> dict[str, Any]:
    """Return the additional fields of a request: its state in words, and its time scale."""
    scale = make_time_scale(trace.list_request_spans(figures.id), figures.start, figures.end or trace.last_event_at)
    scale_data = {"times": scale.times, "places": scale.places, "breaks": scale.breaks}
    return {"state_words": STATE_WORDS.get(figures.state, figures.state), "scale": scale_data}


def _embed_json(value: Any) -> str:
    """Return JSON in which `&`, `<` and `>` are escaped, so that no text can end its HTML element."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    text = text.encode("utf-8", "replace").decode()  # replaces lone surrogates
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


@cache
def _read_page_parts() -> tuple[str, str, str]:
    file_texts = {
        name: (_PAGE_FOLDER / name).read_text(encoding="utf-8") for name in ("trace.html", "trace.css", *_SCRIPT_NAMES)
    }
    return file_texts["trace.html"], file_texts["trace.css"], "\n".join(file_texts[name] for name in _SCRIPT_NAMES)


def _make_content_policy(style: str, script: str) -> str:
    source_rules = f"script-src {_make_source_digest(script)}; style-src {_make_source_digest(style)}"
    return f"default-src 'none'; {source_rules}; base-uri 'none'; form-action 'none'"


def _make_source_digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
