"""Gathers the material of a request: its files, earlier messages of its thread with their files, channels and links."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from bot.jobs.material_gathering import MAX_PARALLEL_FILES, GatheredMaterial, gather_attachments, read_and_store_file
from bot.store.redis.redis_store import Store
from bot.store.values import JobKey
from handoff.contracts import Attachment, ChannelSpan, Material
from handoff.materials.material_lists import MESSAGE_NAME
from handoff.state.job_state import Job, RequestState

if TYPE_CHECKING:
    from bot.slack.receive.thread_text import SharedFile, ThreadText
    from bot.slack.show.thread_view import ThreadView
    from specialists.crew import Crew
    from specialists.tools.toolkit import Toolkit

THREAD_MATERIAL_NAME = "thread"


async def gather_request_material(
    job: Job, request: RequestState, thread: ThreadView, store: Store, key: JobKey
) -> GatheredMaterial:
    """Fetch and read the files of a request, and the channels that it reads or else the messages before it."""
    spec = request.spec
    if spec.reads:
        channels = sum(
            [await _gather_channel_messages(span, job, request, thread, store, key) for span in spec.reads],
            GatheredMaterial(),
        )
        return channels + _label_with_message(
            spec.id, await gather_attachments(spec.attachments, thread.fetch_attachment, store, key)
        )
    own_message = spec.id.partition("-")[0]  # a request from a window has the id `message-view`
    if not spec.look_back:
        return _label_with_message(
            own_message, await gather_attachments(spec.attachments, thread.fetch_attachment, store, key)
        )
    thread_reading = await thread.read_thread(job, request)
    # Slack's event may lack files that the message has.
    all_attachments = (
        *spec.attachments,
        *thread_reading.own_files,
    )
    attachments = tuple({one.file_id: one for one in reversed(all_attachments)}.values())[::-1]
    material = _label_with_message(
        own_message, await gather_attachments(attachments, thread.fetch_attachment, store, key)
    )
    material += GatheredMaterial(await _store_thread_text(MESSAGE_NAME, thread_reading.source_message, "", store, key))
    thread_material = await _store_thread_text(
        THREAD_MATERIAL_NAME, thread_reading.thread, thread_reading.fault, store, key
    )
    material += GatheredMaterial(
        thread_material, (thread_reading.fault,) if thread_reading.fault else (), thread_reading.speakers
    )
    return material + await _gather_shared_files(thread_reading.thread.files, attachments, thread, store, key)


async def gather_linked_material(
    request: RequestState, crew: Crew, request_material: GatheredMaterial, store: Store, key: JobKey
) -> GatheredMaterial:
    """Fetch what the request links to, such as a pull request; if it links to nothing, what its thread links to."""
    finders = crew.fetching_toolkits
    if not finders:
        return GatheredMaterial()
    linked_material = GatheredMaterial()
    for text in (request.text, await _load_thread_text(request_material, store, key)):
        for finder in finders if text else ():
            linked_material += await _fetch_linked_files(finder, text, store, key)
        if linked_material.materials or linked_material.faults:
            break
    return linked_material


async def _gather_channel_messages(
    span: ChannelSpan, job: Job, request: RequestState, thread: ThreadView, store: Store, key: JobKey
) -> GatheredMaterial:
    """Store the messages of a channel or of one of its threads, labelled with who may read them.

    In a thread all files are read, in a whole channel only tables inside messages.
    """
    name, audience, channel_reading = await thread.read_channel(span, job, request)
    text_materials = await _store_thread_text(name, channel_reading.text, channel_reading.fault, store, key)
    files = tuple(one for one in channel_reading.text.files if span.thread_ts or one.file.kind == "table")
    channel_material = GatheredMaterial(text_materials) + await _gather_shared_files(files, (), thread, store, key)
    labelled_materials = tuple(one.model_copy(update={"audience": audience}) for one in channel_material.materials)
    return GatheredMaterial(
        labelled_materials,
        (*channel_material.faults, *([channel_reading.fault] if channel_reading.fault else ())),
        channel_reading.speakers,
    )


async def _load_thread_text(material: GatheredMaterial, store: Store, key: JobKey) -> str:
    text_digests = [one.text for one in material.materials if one.kind == "thread" and one.text]
    return "\n\n".join([(await store.blobs.get(key, one)).decode("utf-8", "replace") for one in text_digests])


async def _fetch_linked_files(finder: Toolkit, text: str, store: Store, key: JobKey) -> GatheredMaterial:
    if finder.finds is None:
        return GatheredMaterial()
    linked_files = await finder.finds(text)
    linked_material = GatheredMaterial(faults=linked_files.faults)
    for file in linked_files.files:
        file_material = await read_and_store_file(file.name, file.media_type, file.data, store, key)
        labelled_materials = tuple(
            one.model_copy(update={"lines": file.line_url_template}) for one in file_material.materials
        )
        linked_material += GatheredMaterial(labelled_materials, file_material.faults)
    return linked_material


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
    shared_files: tuple[SharedFile, ...],
    own_attachments: tuple[Attachment, ...],
    thread: ThreadView,
    store: Store,
    key: JobKey,
) -> GatheredMaterial:
    """Fetch and read the files of earlier messages. A file that cannot be fetched becomes a material with a fault.

    Each material names its author and message. Files in `own_attachments`, which are attached to the request, are
    skipped.
    """
    slots = asyncio.Semaphore(MAX_PARALLEL_FILES)
    own_file_ids = {file.file_id for file in own_attachments}

    async def gather_shared_file(shared_file: SharedFile) -> GatheredMaterial:
        async with slots:
            file_material = await gather_attachments([shared_file.file], thread.fetch_attachment, store, key)
        materials = file_material.materials or (
            Material(name=shared_file.file.name, fault=" ".join(file_material.faults)),
        )
        known_faults = {line for each in materials for line in (each.fault, *each.gaps)}
        more = (
            tuple(fault for fault in file_material.faults if fault not in known_faults)
            if file_material.materials
            else ()
        )
        first = materials[0].model_copy(update={"gaps": (*materials[0].gaps, *more)})
        origin_fields = {"author": shared_file.author, "message": shared_file.message}
        signed_materials = tuple(each.model_copy(update=origin_fields) for each in (first, *materials[1:]))
        return GatheredMaterial(signed_materials, file_material.faults if file_material.materials else (first.fault,))

    material_parts = await asyncio.gather(
        *(gather_shared_file(each) for each in shared_files if each.file.file_id not in own_file_ids)
    )
    return sum(material_parts, GatheredMaterial())
