"""Gathers the material of a request: its files, the earlier messages of its thread with their files, and channels."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from bot.jobs.gathering import MAX_PARALLEL_FILES, GatheredMaterial, gather_attachments, read_and_store_file
from bot.store.redis.redis_store import Store
from bot.store.values import JobKey
from handoff.contracts import Attachment, ChannelSpan, Material
from handoff.materials.material_lists import MESSAGE_NAME
from handoff.state.job_state import Job, RequestState

if TYPE_CHECKING:
    from bot.slack.receive.thread_text import SharedFile, ThreadText
    from bot.slack.show.thread import ThreadView
    from specialists.crew import Crew
    from specialists.tools.toolkit import Toolkit

THREAD_MATERIAL = "thread"


async def gather_request_material(
    job: Job, ask: RequestState, thread: ThreadView, store: Store, key: JobKey
) -> GatheredMaterial:
    """Fetch and read the files of a request, and the channels it reads or the messages before it in its thread."""
    request = ask.request
    if request.reads:
        channels = sum(
            [await _gather_channel(span, job, ask, thread, store, key) for span in request.reads], GatheredMaterial()
        )
        return channels + _label_with_message(
            request.id, await gather_attachments(request.attachments, thread.fetch_attachment, store, key)
        )
    own_message = request.id.partition("-")[0]  # a request from a window has the id `message-view`
    if not request.look_back:
        return _label_with_message(
            own_message, await gather_attachments(request.attachments, thread.fetch_attachment, store, key)
        )
    read = await thread.read_thread(job, ask)
    brought = (*request.attachments, *read.own_files)  # Slack's event may lack files that the message has
    own = tuple({one.file_id: one for one in reversed(brought)}.values())[::-1]
    found = _label_with_message(own_message, await gather_attachments(own, thread.fetch_attachment, store, key))
    found += GatheredMaterial(await _store_thread_text(MESSAGE_NAME, read.source_message, "", store, key))
    said = await _store_thread_text(THREAD_MATERIAL, read.thread, read.fault, store, key)
    found += GatheredMaterial(said, (read.fault,) if read.fault else (), read.speakers)
    return found + await _gather_shared_files(read.thread.files, own, thread, store, key)


async def gather_linked_material(
    ask: RequestState, crew: Crew, request_material: GatheredMaterial, store: Store, key: JobKey
) -> GatheredMaterial:
    """Fetch what the request links to, such as a pull request; if it links to nothing, what its thread links to."""
    finders = crew.finding_toolkits
    if not finders:
        return GatheredMaterial()
    gathered = GatheredMaterial()
    for text in (ask.text, await _load_thread_text(request_material, store, key)):
        for finder in finders if text else ():
            gathered += await _fetch_linked_files(finder, text, store, key)
        if gathered.materials or gathered.faults:
            break
    return gathered


async def _gather_channel(
    span: ChannelSpan, job: Job, ask: RequestState, thread: ThreadView, store: Store, key: JobKey
) -> GatheredMaterial:
    """Store the messages of a channel or of one of its threads, labelled with who may read them.

    Of a thread all files are read, of a whole channel only tables that stand in messages.
    """
    name, audience, read = await thread.read_channel(span, job, ask)
    kept = await _store_thread_text(name, read.text, read.fault, store, key)
    files = tuple(one for one in read.text.files if span.thread_ts or one.file.kind == "table")
    found = GatheredMaterial(kept) + await _gather_shared_files(files, (), thread, store, key)
    labelled = tuple(one.model_copy(update={"audience": audience}) for one in found.materials)
    return GatheredMaterial(labelled, (*found.faults, *([read.fault] if read.fault else ())), read.speakers)


async def _load_thread_text(material: GatheredMaterial, store: Store, key: JobKey) -> str:
    said = [one.text for one in material.materials if one.kind == "thread" and one.text]
    return "\n\n".join([(await store.blobs.get(key, one)).decode("utf-8", "replace") for one in said])


async def _fetch_linked_files(finder: Toolkit, text: str, store: Store, key: JobKey) -> GatheredMaterial:
    if finder.finds is None:
        return GatheredMaterial()
    named = await finder.finds(text)
    gathered = GatheredMaterial(faults=named.faults)
    for file in named.files:
        kept = await read_and_store_file(file.name, file.media_type, file.data, store, key)
        told = tuple(one.model_copy(update={"lines": file.line_url_template}) for one in kept.materials)
        gathered += GatheredMaterial(told, kept.faults)
    return gathered


def _label_with_message(message: str, material: GatheredMaterial) -> GatheredMaterial:
    """Return the materials labelled with the id of the message that brought them."""
    return GatheredMaterial(
        tuple(one.model_copy(update={"message": message}) for one in material.materials), material.faults
    )


async def _store_thread_text(
    name: str, thread_text: ThreadText, fault: str, store: Store, key: JobKey
) -> tuple[Material, ...]:
    """Store the text of a thread. If none of it could be read, the material holds only the fault."""
    if not thread_text.text:
        return (Material(name=name, kind="thread", fault=fault),) if fault else ()
    digest = await store.blobs.put(key, thread_text.text.encode())
    gaps = (*thread_text.gaps, *([fault] if fault else ()))
    size = len(thread_text.text)
    return (Material(name=name, kind="thread", size=size, text=digest, outline=thread_text.outline, gaps=gaps),)


async def _gather_shared_files(
    shared: tuple[SharedFile, ...], own: tuple[Attachment, ...], thread: ThreadView, store: Store, key: JobKey
) -> GatheredMaterial:
    """Fetch and read the files of earlier messages. Each material names its author, also if its file was not fetched.

    Files in `own`, which the request brought itself, are skipped.
    """
    slots = asyncio.Semaphore(MAX_PARALLEL_FILES)
    known = {file.file_id for file in own}

    async def gather_shared_file(shared_file: SharedFile) -> GatheredMaterial:
        async with slots:
            theirs = await gather_attachments([shared_file.file], thread.fetch_attachment, store, key)
        there = theirs.materials or (Material(name=shared_file.file.name, fault=" ".join(theirs.faults)),)
        told = {line for each in there for line in (each.fault, *each.gaps)}
        more = tuple(fault for fault in theirs.faults if fault not in told) if theirs.materials else ()
        first = there[0].model_copy(update={"gaps": (*there[0].gaps, *more)})
        whose = {"author": shared_file.author, "message": shared_file.message}
        signed = tuple(each.model_copy(update=whose) for each in (first, *there[1:]))
        return GatheredMaterial(signed, theirs.faults if theirs.materials else (first.fault,))

    found = await asyncio.gather(*(gather_shared_file(each) for each in shared if each.file.file_id not in known))
    return sum(found, GatheredMaterial())
