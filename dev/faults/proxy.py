"""A TCP proxy that disturbs connections as a bad network does."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
import threading
from collections.abc import Coroutine
from types import TracebackType
from typing import Any, Literal, Self, TypeAlias

from dev.servers.ports import free_port

Direction: TypeAlias = Literal["both", "up", "down"]
"""up: from the client to the server; down: from the server to the client."""

_CHUNK = 64 << 10
_RESET = struct.pack("ii", 1, 0)  # SO_LINGER with no time: close() sends RST


class Hold:
    """A connection that stops before given bytes, as `Proxy.hold_before` makes it; the other ones go on."""

    def __init__(self, needle: bytes, loop: asyncio.AbstractEventLoop) -> None:
        self.needle = needle
        self._loop = loop
        self._reached = threading.Event()
        self._released = asyncio.Event()

    @property
    def reached(self) -> bool:
        """A connection waits here, or has waited."""
        return self._reached.is_set()

    def wait(self, timeout: float = 30.0) -> None:
        """Until a connection waits. Raises TimeoutError."""
        if not self._reached.wait(timeout):
            raise TimeoutError(f"nothing with {self.needle!r} came within {timeout} s")

    def release(self) -> None:
        """It goes on; or nothing is waited for any more."""
        self._loop.call_soon_threadsafe(self._released.set)

    async def pass_by(self, data: bytes) -> None:
        """Waits, if this is what it is for."""
        if not self._released.is_set() and not self.reached and self.needle in data:
            self._reached.set()
            await self._released.wait()


class Way:
    """What happens to bytes that go one way."""

    def __init__(self) -> None:
        self.open = asyncio.Event()
        self.open.set()
        self.delay = 0.0
        self.rate = 0.0
        self.left: int | None = None
        self.needle = b""
        self.holds: list[Hold] = []
        self.cuts = 0
        self.passed = 0


class Proxy:
    """`with Proxy(server.port) as proxy: connect to proxy.address`. Verbs take effect at once, also for connections
    that stand; they may be called from any thread.

    Args:
        target: port on 127.0.0.1 that connections are passed on to.
        listener: a socket that listens already, in another network namespace for instance.
        source: address that the server sees connections come from, one of 127.0.0.0/8; "": 127.0.0.1.
    """

    def __init__(
        self, target: int, *, port: int | None = None, listener: socket.socket | None = None, source: str = ""
    ) -> None:
        self.target = target
        self._source = (source, 0) if source else None
        self._listener = listener
        self.port = listener.getsockname()[1] if listener else port or free_port()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name=f"proxy-{self.port}", daemon=True)
        self._ready = threading.Event()
        self._refusing = False
        self._connections: set[asyncio.StreamWriter] = set()

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    # Verbs

    def pass_(self) -> None:
        """Everything goes through again; what was held back first."""

        def do() -> None:
            self._refusing = False
            for way in self._ways.values():
                way.delay = way.rate = 0.0
                way.left = None
                way.needle = b""
                for hold in way.holds:
                    hold.release()
                way.holds.clear()
                way.open.set()

        self._do(do)

    def black_hole(self, direction: Direction = "both") -> None:
        """Nothing arrives, nothing is refused: connections stand, new ones are accepted, bytes are held back."""
        self._each(direction, lambda way: way.open.clear())

    def delay(self, seconds: float, direction: Direction = "both") -> None:
        """Every piece arrives so much later; order is kept."""
        self._each(direction, lambda way: setattr(way, "delay", seconds))

    def throttle(self, bytes_per_second: float, direction: Direction = "both") -> None:
        self._each(direction, lambda way: setattr(way, "rate", bytes_per_second))

    def cut_after(self, count: int, direction: Direction = "down") -> None:
        """Resets the connection that carries the `count`-th next byte, before that byte arrives; once."""
        self._each(direction, lambda way: setattr(way, "left", count))

    def cut_before(self, needle: bytes, direction: Direction = "down") -> None:
        """Resets the connection that carries `needle` in one piece, before that piece arrives; once."""
        self._each(direction, lambda way: setattr(way, "needle", needle))

    def hold_before(self, needle: bytes, direction: Literal["up", "down"] = "up") -> Hold:
        """The connection that carries `needle` in one piece waits before that piece; once."""
        hold = Hold(needle, self._loop)
        self._do(lambda: self._ways[direction].holds.append(hold))
        return hold

    def reset(self) -> None:
        """Ends all connections with RST; new ones are accepted."""
        self._do(self._reset)

    def refuse(self) -> None:
        """Ends all connections and those to come, until `pass_`."""

        def do() -> None:
            self._refusing = True
            self._reset()

        self._do(do)

    def passed(self, direction: Literal["up", "down"]) -> int:
        """Bytes that have arrived so far."""
        return self._ways[direction].passed

    def cuts(self, direction: Literal["up", "down"]) -> int:
        """How often `cut_after` and `cut_before` have found what they waited for."""
        return self._ways[direction].cuts

    # Life

    def __enter__(self) -> Self:
        self._thread.start()
        self._ready.wait(10)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(10)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._ways = {"up": Way(), "down": Way()}
        where = {"sock": self._listener} if self._listener else {"host": "127.0.0.1", "port": self.port}
        server = self._loop.run_until_complete(asyncio.start_server(self._serve, **where))
        self._ready.set()
        self._loop.run_forever()
        server.close()
        self._reset()
        while tasks := asyncio.all_tasks(self._loop):  # a connection that was just accepted brings new ones
            for task in tasks:
                task.cancel()
            self._loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
            self._reset()
        self._loop.run_until_complete(asyncio.sleep(0))  # connections end a turn after they were aborted
        self._loop.close()

    def _each(self, direction: Direction, change: Any) -> None:
        names = ("up", "down") if direction == "both" else (direction,)
        self._do(lambda: [change(self._ways[name]) for name in names])

    def _do(self, action: Any) -> None:
        """In the loop's thread; returns when done."""

        async def run() -> None:
            action()

        asyncio.run_coroutine_threadsafe(run(), self._loop).result(10)

    def _reset(self) -> None:
        for writer in list(self._connections):
            _abort(writer)
        self._connections.clear()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._refusing:
            _abort(writer)
            return
        try:
            their_reader, their_writer = await asyncio.open_connection(
                "127.0.0.1", self.target, local_addr=self._source
            )
        except OSError:
            _abort(writer)
            return
        except asyncio.CancelledError:  # the proxy closes
            _abort(writer)
            raise
        self._connections |= {writer, their_writer}
        try:
            await _first(
                self._carry(self._ways["up"], reader, their_writer),
                self._carry(self._ways["down"], their_reader, writer),
            )
        finally:
            for end in (writer, their_writer):
                self._connections.discard(end)
                end.close()

    async def _carry(self, way: Way, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(_CHUNK):
                await way.open.wait()
                if way.delay:
                    await asyncio.sleep(way.delay)
                if way.rate:
                    await asyncio.sleep(len(data) / way.rate)
                await way.open.wait()
                for hold in way.holds[:]:
                    await hold.pass_by(data)
                if (way.needle and way.needle in data) or (way.left is not None and len(data) > way.left):
                    way.left, way.needle = None, b""
                    way.cuts += 1
                    self._reset()
                    return
                if way.left is not None:
                    way.left -= len(data)
                way.passed += len(data)
                writer.write(data)
                await writer.drain()


async def _first(*carriers: Coroutine[Any, Any, None]) -> None:
    """Until one side has ended."""
    tasks = [asyncio.ensure_future(carrier) for carrier in carriers]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()


def _abort(writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError, ValueError):
        raw = writer.get_extra_info("socket")
        if raw is not None:
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
    writer.transport.abort()
