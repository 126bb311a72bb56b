"""One connection to one broker, against a scripted one."""

from __future__ import annotations

import math
import socket
import threading
import time

import pytest

from replicator.kafka.address import Address, resolve
from replicator.kafka.connection import Connection
from replicator.kafka.failure import ConnectionFailure
from replicator.kafka.security import PLAINTEXT
from tests.support.driving import address, connect, ready, until
from tests.support.scripted_broker import Conversation, ScriptedBroker, frame

KEY, VERSION = 3, 12


def greet(client: Conversation) -> None:
    client.greet()


def send(connection: Connection, *body: bytes, token: object = None, flexible: bool = True) -> None:
    connection.send(KEY, VERSION, body or (b"body",), flexible=flexible, token=token, now=time.monotonic())


def test_a_request_and_its_reply() -> None:
    def play(client: Conversation) -> None:
        client.greet({KEY: (0, 9), 0: (3, 11)}, **{"transaction.version": 2})
        request = client.request(flexible=True)
        assert (request.key, request.version, request.client_id, request.body) == (KEY, VERSION, "test", b"one two")
        client.reply(request, b"answer", flexible=True)

    with ScriptedBroker(play) as broker:
        connection = connect(broker)
        assert not connection.ready
        ready(connection)
        assert connection.version(KEY, 1, 12) == 9 and connection.version(0, 12, 13) is None
        assert connection.version(0, 0, 2) is None and connection.version(77, 0, 5) is None
        assert (connection.features, connection.features_epoch) == ({"transaction.version": 2}, 7)
        send(connection, b"one ", b"two", token="mine")
        assert (connection.unanswered, connection.unsent) == (1, 0)
        (reply,) = until(connection, len)
        assert (reply.token, reply.key, reply.version, bytes(reply.body)) == ("mine", KEY, VERSION, b"answer")
        assert connection.unanswered == 0 and connection.deadline == math.inf
        connection.close()
        assert connection.fd == -1 and not connection.ready and connection.abandoned() == []


def test_a_broker_that_knows_only_version_0_of_api_versions_is_asked_again() -> None:
    def play(client: Conversation) -> None:
        request = client.request()
        assert request.version == 3
        client.reply(request, b"\0\x23\0\0\0\1\0\x12\0\0\0\2")  # error 35, and what it knows of ApiVersions
        client.greet({KEY: (0, 5)})

    with ScriptedBroker(play) as broker:
        connection = ready(connect(broker))
        assert connection.version(KEY, 0, 9) == 5 and connection.features == {}
        connection.close()


@pytest.mark.parametrize("cut", [1, 3, 7])
def test_replies_in_pieces_of_any_size(cut: int) -> None:
    def play(client: Conversation) -> None:
        client.greet()
        requests = [client.request(flexible=True) for _ in range(20)]
        data = b"".join(
            frame(each.correlation, b"%d " % n + b"x" * (n * 11), flexible=True) for n, each in enumerate(requests)
        )
        for at in range(0, len(data), cut):
            client.raw(data[at : at + cut])

    with ScriptedBroker(play) as broker:
        connection = ready(connect(broker))
        for number in range(20):
            send(connection, token=number)
        replies = until(connection, lambda found: len(found) == 20)
        assert [reply.token for reply in replies] == list(range(20))
        assert [bytes(reply.body) for reply in replies] == [b"%d " % n + b"x" * (n * 11) for n in range(20)]
        connection.close()


def test_replies_are_read_while_a_request_is_still_leaving() -> None:
    """The broker answers the first requests and does not read on before they have arrived."""
    answered = threading.Event()

    def play(client: Conversation) -> None:
        client.greet()
        first = client.request(flexible=True)
        client.reply(first, b"first", flexible=True)
        assert answered.wait(10)
        large = client.request(flexible=True)
        assert large.body == b"a" * 3_000_000 + b"b" * 5_000_000 + b"c"
        client.reply(large, b"second", flexible=True)

    with ScriptedBroker(play) as broker:
        connection = ready(connect(broker))
        send(connection, token=1)
        send(connection, b"a" * 3_000_000, b"b" * 5_000_000, b"c", token=2)
        assert connection.unsent > 0
        (reply,) = until(connection, len)
        assert reply.token == 1 and connection.unsent > 0
        answered.set()
        assert [reply.token for reply in until(connection, len)] == [2] and connection.unsent == 0
        connection.close()


def test_hundreds_of_pieces_leave_in_order() -> None:
    pieces = [bytes([n % 256]) * (1 + n * 37) for n in range(400)]

    def play(client: Conversation) -> None:
        client.greet()
        request = client.request(flexible=True)
        assert request.body == b"".join(pieces)
        client.reply(request, b"", flexible=True)

    with ScriptedBroker(play) as broker:
        connection = ready(connect(broker))
        connection.send(KEY, VERSION, pieces, flexible=True, token=1, now=time.monotonic())
        assert until(connection, len)
        connection.close()


def test_a_reply_to_something_else_ends_the_connection_after_those_before_it() -> None:
    def play(client: Conversation) -> None:
        client.greet()
        first, second, _ = (client.request(flexible=True) for _ in range(3))
        client.raw(frame(first.correlation, b"a", flexible=True) + frame(second.correlation + 5, b"b", flexible=True))
        assert client.closed_by() is ConnectionResetError

    with ScriptedBroker(play) as broker:
        connection = ready(connect(broker))
        for token in "abc":
            send(connection, token=token)
        assert [reply.token for reply in until(connection, lambda _: False)] == ["a"]
        assert connection.failure is not None and connection.failure.kind == "protocol"
        assert connection.abandoned() == ["b", "c"] and connection.abandoned() == []
        send(connection, token="late")
        assert connection.abandoned() == ["late"], "after the end nothing is lost without a word"


def test_an_unasked_reply_ends_the_connection() -> None:
    with ScriptedBroker(lambda client: client.greet().raw(frame(9, b"")).closed_by()) as broker:
        connection = ready(connect(broker))
        until(connection, lambda _: False)
        assert connection.failure is not None and connection.failure.kind == "protocol"


@pytest.mark.parametrize(
    ("sent", "kind", "final"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "protocol", True),
        (b"\x15\x03\x01\0\2\2\x50", "tls", True),
        (b"\0\0\0\2\0\0", "protocol", False),
        (b"\x7f\xff\xff\xff", "protocol", False),
        (b"\0\0\0\6\0\0\0\1\0\0", "protocol", False),
        (frame(1, b"\0\0\xff\xff"), "protocol", False),
        (b"", "closed", False),
    ],
    ids=["http", "tls", "short", "long", "torn", "impossible", "hangs up"],
)
def test_what_is_no_kafka_broker(sent: bytes, kind: str, final: bool) -> None:
    with ScriptedBroker(lambda client: (client.request(), client.raw(sent))) as broker:
        connection = ready(connect(broker))
        assert connection.failure is not None
        assert (connection.failure.kind, connection.failure.final) == (kind, final), connection.failure


def test_a_silent_broker_times_out_by_a_reset() -> None:
    gone: list[object] = []

    def play(client: Conversation) -> None:
        client.greet()
        client.request(flexible=True)
        gone.append(client.closed_by())

    with ScriptedBroker(play) as broker:
        connection = ready(connect(broker, request_timeout=0.3))
        send(connection, token=1)
        until(connection, lambda _: False)
        assert connection.failure is not None and connection.failure.kind == "timeout"
        assert connection.abandoned() == [1]
    assert gone == [ConnectionResetError]


def test_bytes_that_the_kernel_still_has_are_dropped() -> None:
    """Nothing of a session that has given up arrives later."""
    closed = threading.Event()
    got: list[int] = []

    def play(client: Conversation) -> None:
        client.greet()
        assert closed.wait(10)
        count = 0
        try:
            while piece := client.socket.recv(1 << 16):
                count += len(piece)
        except ConnectionResetError:
            got.append(count)

    with ScriptedBroker(play) as broker:
        connection = ready(connect(broker))
        send(connection, b"x" * 50_000_000, token=1)
        assert connection.unsent > 0
        connection.close()
        closed.set()
        assert connection.abandoned() == [1]
    assert got and got[0] < 50_000_000


def test_slow_progress_is_no_time_out() -> None:
    """A large request over a slow line takes longer than the limit, which counts from the last sign of life."""

    def play(client: Conversation) -> None:
        client.greet()
        client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 << 10)
        got = 0
        while got < 6_000_000:
            got += len(client.socket.recv(64 << 10))
            time.sleep(0.01)
        client.raw(frame(2, b"done", flexible=True))

    with ScriptedBroker(play) as broker:
        connection = ready(connect(broker, request_timeout=0.6))
        begun = time.monotonic()
        send(connection, b"x" * 6_000_000, token=1)
        replies = until(connection, len)
        assert replies and time.monotonic() - begun > 0.6, connection.failure
        connection.close()


def test_a_broker_that_throttles_us_is_no_silent_one() -> None:
    """It answers, and does not read the connection for as long as it says (KIP-219)."""

    def play(client: Conversation) -> None:
        client.greet()
        first, second = (client.request(flexible=True) for _ in range(2))
        client.reply(first, b"slow down", flexible=True)
        time.sleep(0.9)
        client.reply(second, b"", flexible=True)

    with ScriptedBroker(play) as broker:
        connection = ready(connect(broker, request_timeout=0.4))
        for token in (1, 2):
            send(connection, token=token)
        assert until(connection, len)
        connection.excuse(time.monotonic() + 0.8)
        assert [reply.token for reply in until(connection, len)] == [2], connection.failure
        connection.close()


def test_a_broker_that_does_not_take_the_connection_times_out() -> None:
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        others = []
        for _ in range(3):
            other = socket.socket()
            other.setblocking(False)
            other.connect_ex(full.getsockname())
            others.append(other)
        connection = Connection(
            resolve(*full.getsockname())[0], PLAINTEXT, client_id="", now=time.monotonic(), connect_timeout=0.2
        )
        ready(connection)
        assert connection.failure is not None and connection.failure.kind == "timeout"
        for other in others:
            other.close()


def test_nobody_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        host, port = server.getsockname()
    connection = Connection(resolve(host, port)[0], PLAINTEXT, client_id="", now=time.monotonic())
    ready(connection)
    assert connection.failure is not None and connection.failure.kind == "refused" and not connection.failure.final
    assert connection.fd == -1 and connection.deadline == math.inf and not connection.wants_write


def test_a_broker_that_resets_the_connection() -> None:
    def resets(client: Conversation) -> None:
        client.greet().request(flexible=True)
        client.reset()

    with ScriptedBroker(resets) as broker:
        connection = ready(connect(broker))
        send(connection, token=1)
        until(connection, lambda _: False)
        assert connection.failure is not None and connection.failure.kind == "closed"
        assert connection.abandoned() == [1]


def test_replies_that_came_before_a_failed_write_are_not_lost() -> None:
    ended = threading.Event()

    def play(client: Conversation) -> None:
        client.greet()
        client.reply(client.request(flexible=True), b"first", flexible=True)
        client.socket.close()
        ended.set()

    with ScriptedBroker(play) as broker:
        connection = ready(connect(broker))
        send(connection, token=1)
        assert ended.wait(10)
        for token in range(2, 10):
            send(connection, token=token)
            time.sleep(0.01)
        assert connection.failure is None and connection.deadline == -math.inf
        found = connection.advance(readable=False, writable=False, now=time.monotonic())
        assert [reply.token for reply in found] in ([1], [])  # a reset may have eaten it
        assert connection.failure is not None and connection.failure.kind == "closed"
        assert connection.abandoned()[-8:] == list(range(2, 10))


def test_a_request_before_the_greeting_is_a_fault_of_ours() -> None:
    with ScriptedBroker(greet) as broker:
        connection = connect(broker)
        with pytest.raises(RuntimeError):
            send(connection)
        connection.close()


def test_the_socket_is_as_it_should_be() -> None:
    with ScriptedBroker(lambda client: client.greet().closed_by()) as broker:
        connection = connect(broker)
        fd = connection.fd
        ready(connection)
        with socket.socket(fileno=socket.dup(fd)) as same:
            assert same.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
            assert same.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
            assert same.getsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT) == 256 << 10
        assert connection.fd == fd
        connection.close()


def test_a_host_without_an_address() -> None:
    with pytest.raises(ConnectionFailure) as caught:
        resolve("no-such-host.invalid", 9092)
    assert caught.value.kind == "resolve" and not caught.value.final
    with pytest.raises(ConnectionFailure):
        resolve("a" * 300, 9092)


def test_an_address_as_people_write_it() -> None:
    assert str(Address(socket.AF_INET6, ("::1", 9092, 0, 0), "::1", 9092)) == "[::1]:9092"
    with ScriptedBroker(greet) as broker:
        assert str(address(broker)) == broker.address
