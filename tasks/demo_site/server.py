"""A small HTTP server on loopback for the demonstration site, in a thread of its own."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from tasks.demo_site.site import DemoSite, SiteAnswer


async def listen(site: DemoSite, port: int = 0) -> tuple[asyncio.Server, int]:
    """Listens on 127.0.0.1; gives the server and its port."""
    server = await asyncio.start_server(lambda reader, writer: _talk(site, reader, writer), "127.0.0.1", port)
    return server, server.sockets[0].getsockname()[1]


@contextmanager
def served(site: DemoSite, port: int = 0, named: bool = False) -> Iterator[str]:
    """Serves the site while the block runs; gives its address, which it also calls its own unless it is `named`."""
    _ = site.notes  # made before anybody waits for an answer
    loop = asyncio.new_event_loop()
    server, port = loop.run_until_complete(listen(site, port))
    address = f"http://127.0.0.1:{port}"
    if not named:
        site.address = address
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        yield address
    finally:
        loop.call_soon_threadsafe(_stop, server, loop)
        thread.join()
        loop.close()


def _stop(server: asyncio.Server, loop: asyncio.AbstractEventLoop) -> None:
    server.close()
    tasks = asyncio.all_tasks(loop)
    for task in tasks:
        task.cancel()
    asyncio.gather(*tasks, return_exceptions=True).add_done_callback(lambda _: loop.stop()) if tasks else loop.stop()


async def _talk(site: DemoSite, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answers requests on one connection until it is closed or an answer ends it."""
    try:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            first, *lines = head.decode("latin-1").split("\r\n")
            method, target, *_ = (*first.split(" "), "", "")
            headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
            answer = site.answer(target, headers) if method in ("GET", "HEAD") else SiteAnswer(405)
            if not await _send(writer, answer, method == "HEAD"):
                return
    except (ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, asyncio.CancelledError):
        return
    finally:
        writer.close()


async def _send(writer: asyncio.StreamWriter, answer: SiteAnswer, head_only: bool) -> bool:
    """Sends one answer; says whether the connection can take another."""
    if answer.seconds:
        await asyncio.sleep(answer.seconds)
    claimed = answer.headers.get("content-length")
    keep = not answer.endless and claimed is None
    length = {} if answer.endless or claimed else {"content-length": str(len(answer.body))}
    if answer.status == 304:
        length = {}
    headers = {**answer.headers, **length, "connection": "keep-alive" if keep else "close"}
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    writer.write(f"HTTP/1.1 {answer.status} Answer\r\n{lines}\r\n".encode("latin-1"))
    if not head_only:
        writer.write(answer.body)
        while answer.endless:
            writer.write(answer.endless)
            await writer.drain()
            await asyncio.sleep(0.05 if len(answer.endless) == 1 else 0)
    await writer.drain()
    return keep
