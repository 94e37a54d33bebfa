"""`leadhand route`: prints who would get a request, and why, without doing any work."""

from __future__ import annotations

import argparse
import json
import mimetypes
import sys
import time
from dataclasses import replace
from pathlib import Path

from bot.app import load_crews
from bot.command_line.console import say
from bot.models.chosen_model import ChosenModel
from bot.models.model_choice import ModelSettingsError, choose_model
from bot.settings import Settings, SettingsError
from bot.supervisor.crew_planner import CrewPlanner
from bot.supervisor.route_dry_run import Routing, decide_route, describe_decision, export_routing
from bot.supervisor.track_record import TrackRecord
from handoff.contracts import Artifact, Material
from handoff.conversation.message_kinds import split_crew_name
from handoff.events import RequestFailed

EXIT_ROUTE_FOUND, EXIT_NO_ROUTE, EXIT_IN_PART = 0, 1, 3


async def print_route(options: argparse.Namespace, settings: Settings) -> int:
    """Decide by the crew's rules, otherwise by the planner, and print the decision. Returns the exit code."""
    try:
        model = await choose_model(settings.env)
    except ModelSettingsError as error:
        raise SettingsError(str(error)) from None
    names_crew = bool(settings.more_crews or options.crew)
    settings, text = _apply_crew_choice(options, settings)
    try:
        routing = await _decide_route(options, text, settings, model)
    finally:
        await model.close()
    event = routing.decision
    if isinstance(event, RequestFailed):
        print(f"leadhand: {event.step}: {event.reason}. {event.advice}", file=sys.stderr)  # noqa: T201
        return EXIT_NO_ROUTE
    route = export_routing(routing, text, model.label)
    if names_crew:
        route = {"crew": Path(settings.crew).name, **route}
    say(json.dumps(route, indent=2, ensure_ascii=False) if options.json else describe_decision(route))
    return EXIT_IN_PART if route["missing"] else EXIT_ROUTE_FOUND


def _apply_crew_choice(options: argparse.Namespace, settings: Settings) -> tuple[Settings, str]:
    """Return the settings with the crew that the options or the text name, and the text without that name."""
    crews_by_name = {Path(crew).name: crew for crew in (settings.crew, *settings.more_crews)}
    word, text = split_crew_name(options.text, crews_by_name) if settings.more_crews else ("", options.text)
    crew = options.crew or word
    is_other_crew = crew and crew != Path(settings.crew).name  # the usual crew has the others as members
    return (replace(settings, crew=crews_by_name.get(crew, crew), more_crews=()) if is_other_crew else settings), text


async def _decide_route(options: argparse.Namespace, text: str, settings: Settings, model: ChosenModel) -> Routing:
    planning = CrewPlanner(load_crews(settings).usual_crew, model, TrackRecord(), settings.terms)
    return await decide_route(planning, text, time.time, tuple(_make_file_material(name) for name in options.file))


def _make_file_material(name: str) -> Material:
    """Return material for a file of that name, as routing uses only the name and its media type."""
    file = Artifact(id=name, name=name, media_type=mimetypes.guess_type(name)[0] or "application/octet-stream")
    return Material(name=name, file=file)
