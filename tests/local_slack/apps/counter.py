"""Files: reads each CSV that is attached, and answers with one of its own."""
import asyncio
import csv
import io
import os

import aiohttp
from slack_bolt.adapter.socket_mode.async_handler import AsyncSocketModeHandler
from slack_bolt.async_app import AsyncApp

app = AsyncApp(token=os.environ["SLACK_BOT_TOKEN"])


@app.event({"type": "message", "subtype": "file_share"})
async def count(event, client, say):
    for file in event["files"]:
        if file["filetype"] != "csv":
            await say(f"{file['name']} is a {file['pretty_type']}.", thread_ts=event["ts"])
            continue
        async with aiohttp.ClientSession() as session:
            headers = {"Authorization": f"Bearer {client.token}"}
            async with session.get(file["url_private_download"], headers=headers) as response:
                rows = list(csv.DictReader(io.StringIO(await response.text())))
        sums = {name: sum(int(row[name]) for row in rows) for name in rows[0] if rows[0][name].isdigit()}
        content = "column,sum\n" + "".join(f"{name},{total}\n" for name, total in sums.items())
        await client.files_upload_v2(
            channel=event["channel"],
            thread_ts=event["ts"],
            filename="sums.csv",
            title="Sums",
            content=content,
            initial_comment=f"{len(rows)} rows",
        )


@app.event("message")
async def ignore():
    pass


async def main():
    await AsyncSocketModeHandler(app, os.environ["SLACK_APP_TOKEN"]).start_async()


if __name__ == "__main__":
    asyncio.run(main())
