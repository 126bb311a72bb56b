"""Statements of one packet, against a server that the test plays."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Any

import pytest

from replicator.errors import ReplicatorError, SinkUnavailable
from replicator.mysql import multi_statements
from replicator.mysql.packets import PacketSocket
from replicator.mysql.statement_text import LongText, Text, joined, loading, loads_of

OK = b"\0\0\0\2\0\0\0"
FILE = b"\xfbreplicator"


class Played:
    """A session, as far as `multi_statements` needs one, with what its server answers and hears."""

    def __init__(self) -> None:
        self.packets = PacketSocket(None)
        with socket.create_server(("127.0.0.1", 0)) as listener:
            ours = self.packets.open("127.0.0.1", listener.getsockname()[1], 3)
            self.server, _ = listener.accept()
        self._reader = ours.makefile("rb")
        self.closed = False

    def answers(self, *payloads: bytes) -> None:
        for payload in payloads:
            self.server.sendall(len(payload).to_bytes(3, "little") + b"\1" + payload)

    def heard(self) -> bytes:
        """Everything, without the heads of packets."""
        self.packets.sock.close()
        self._reader.close()
        found = b""
        with self.server.makefile("rb") as reader:
            while head := reader.read(4):
                found += reader.read(int.from_bytes(head[:3], "little"))
        return found

    def error(self, error: Exception) -> ReplicatorError:
        return SinkUnavailable("E3401", str(error))

    def abort(self) -> None:
        self.closed = True


@pytest.fixture
def played() -> Iterator[Any]:
    made = Played()
    yield made
    made.packets.sock.close()
    made.server.close()


def text() -> Text:
    first = loading(b"LOAD 1", lambda: iter((b"a\n", b"b\n")))
    return joined([b"BEGIN", first, b"SET", loading(b"LOAD 2", lambda: iter((b"c\n",))), b"COMMIT"])


def test_rows_are_sent_when_the_server_asks_for_them(played: Any) -> None:
    """In the order of the statements; a request is no answer of a statement."""
    played.answers(OK, FILE, OK, OK, FILE, OK, OK)
    outcome = multi_statements.execute(played, text(), 5, 3)
    assert (outcome.done, outcome.error) == (5, None)
    assert played.heard() == b"\3BEGIN;LOAD 1;SET;LOAD 2;COMMIT" + b"a\nb\nc\n"


@pytest.mark.parametrize("given", [b"BEGIN;COMMIT", text()])
def test_no_server_gets_anything_but_these_rows(played: Any, given: Text, tmp_path: Any) -> None:
    """Whatever file it names, and however often it asks."""
    secret = tmp_path / "secret"
    secret.write_text("not for servers")
    request = b"\xfb" + bytes(secret)
    asked = len(loads_of(given)) + 1
    played.answers(*[request] * asked)
    with pytest.raises(SinkUnavailable, match="asks for a file that no statement has named"):
        multi_statements.execute(played, given, 5, 3)
    assert played.closed
    statement = given if isinstance(given, bytes) else b"".join(given.pieces())
    assert played.heard() == b"\3" + statement + b"".join(line for rows in loads_of(given) for line in rows())


def test_rows_that_can_not_be_made(played: Any) -> None:
    """Whatever it is: the connection is in the middle of a packet."""

    def rows() -> Iterator[bytes]:
        yield b"a\n"
        raise MemoryError

    played.answers(FILE)
    with pytest.raises(MemoryError):
        multi_statements.execute(played, loading(b"LOAD", rows), 1, 3)
    assert played.closed
    with pytest.raises(MemoryError):
        multi_statements.send(played, LongText(9, rows), 3)


def test_a_text_that_is_made_again_has_its_rows_again() -> None:
    made = text()
    for _ in range(2):
        assert [b"".join(rows()) for rows in loads_of(made)] == [b"a\nb\n", b"c\n"]
        assert not isinstance(made, bytes) and len(b"".join(made.pieces())) == len(made)
