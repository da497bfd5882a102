"""Scripted server: a model server that says the same at once, `python -m memoryos.bench.scripted_server`.

It speaks as much of HTTP and of the OpenAI API as a stream of chat completions needs, writes its port to stdout, and
ends with its stdin.
"""

from __future__ import annotations

import asyncio
import json
import sys
from asyncio import StreamReader, StreamWriter

WORDS = "How many hives do you keep there, and what do your bees find to eat in spring?".split()

_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
_LENGTH = b"content-length:"


def events() -> list[bytes]:
    """The events of an answer."""
    told = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "scripted"}
    deltas: list[tuple[dict[str, str], str | None]] = [({"content": f"{word} "}, None) for word in WORDS]
    made = [
        json.dumps({**told, "choices": [{"index": 0, "delta": delta, "finish_reason": end}]}).encode()
        for delta, end in (*deltas, ({}, "stop"))
    ]
    return [b"data: %s\n\n" % one for one in (*made, b"[DONE]")]


async def _answer(reader: StreamReader, writer: StreamWriter) -> None:
    parts = [b"%x\r\n%s\r\n" % (len(one), one) for one in events()]
    try:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            length = next((line for line in head.split(b"\r\n") if line.startswith(_LENGTH)), b":0")
            await reader.readexactly(int(length.partition(b":")[2]))
            writer.write(_HEAD + parts[0])
            await writer.drain()
            writer.write(b"".join(parts[1:]) + b"0\r\n\r\n")
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


async def _serve() -> None:
    server = await asyncio.start_server(_answer, "127.0.0.1", 0)
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(_serve())
