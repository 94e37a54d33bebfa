"""The same 15 calls by hand, with the same SDK and the same bodies: what nobody can do with less than.

Reads the bodies that the bot sent and makes them again in the same order of
dependence, keeping nothing and posting nothing. Each line of standard input,
`JOBS SIDE_BY_SIDE`, is one measurement, answered by one line of JSON.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import statistics
import sys
import time
from pathlib import Path
from typing import Any

from openai import AsyncOpenAI, DefaultAioHttpClient

Bodies = dict[str, list[dict[str, Any]]]


async def call(client: AsyncOpenAI, body: dict[str, Any]) -> str:
    """One call, streamed where the bot streamed it. Gives the text or the first call's arguments."""
    if body.get("stream"):
        pieces = []
        async for chunk in await client.chat.completions.create(**body):
            pieces += [choice.delta.content or "" for choice in chunk.choices]
        return "".join(pieces)
    reply = await client.chat.completions.create(**body)
    message = reply.choices[0].message
    if message.tool_calls:
        return str(json.loads(message.tool_calls[0].function.arguments))
    return message.content or ""


async def part(client: AsyncOpenAI, bodies: list[dict[str, Any]]) -> None:
    """A specialist's turns, one after the other."""
    for body in bodies:
        await call(client, body)


async def job(client: AsyncOpenAI, bodies: Bodies) -> None:
    """The whole job: plan, four side by side, the fifth, the sixth, the answer."""
    json.loads(await call(client, bodies["planner"][0]))
    async with asyncio.TaskGroup() as group:
        for name in ("w1", "w2", "w3", "w4"):
            group.create_task(part(client, bodies[name]))
    await part(client, bodies["w5"])
    await part(client, bodies["w6"])
    await call(client, bodies["synthesizer"][0])


async def measure(client: AsyncOpenAI, bodies: Bodies, jobs: int, side_by_side: int) -> dict[str, float]:
    """Median wall seconds, CPU milliseconds a job, jobs a second, and the memory held by now in MB."""
    gate = asyncio.Semaphore(side_by_side)
    walls: list[float] = []

    async def one() -> None:
        async with gate:
            start = time.perf_counter()
            await job(client, bodies)
            walls.append(time.perf_counter() - start)

    cpu, began = time.process_time(), time.perf_counter()
    await asyncio.gather(*(one() for _ in range(jobs)))
    return {
        "wall": statistics.median(walls),
        "cpu": (time.process_time() - cpu) / jobs * 1000,
        "rate": jobs / (time.perf_counter() - began),
        "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


async def main(url: str, bodies: Bodies, *, aiohttp: bool) -> None:
    """Measure for as long as somebody asks. Says `ready` first."""
    http = DefaultAioHttpClient() if aiohttp else None
    async with AsyncOpenAI(base_url=url, api_key="bench", max_retries=0, http_client=http) as client:
        await job(client, bodies)
        print("ready", flush=True)
        while line := await asyncio.to_thread(sys.stdin.readline):
            jobs, side_by_side = map(int, line.split())
            print(json.dumps(await measure(client, bodies, jobs, side_by_side)), flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--url", required=True)
    parser.add_argument("--bodies", type=Path, required=True)
    parser.add_argument("--aiohttp", action="store_true", help="with the SDK's transport over aiohttp")
    options = parser.parse_args()
    asyncio.run(main(options.url, json.loads(options.bodies.read_text()), aiohttp=options.aiohttp))
