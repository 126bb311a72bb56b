"""The selector that kafka-python gets from us."""

from __future__ import annotations

import selectors
import socket

import pytest

from replicator.sink.kafka.sockets import QuietSelector


class Loud(socket.socket):
    def __repr__(self) -> str:
        raise AssertionError("nobody asked")


def test_a_socket_that_is_not_registered_is_not_described() -> None:
    with QuietSelector() as selector, Loud() as unknown:
        with pytest.raises(KeyError):
            selector.get_key(unknown)
        selector.register(unknown, selectors.EVENT_READ, "data")
        assert selector.get_key(unknown).data == "data"
        assert selector.get_key(unknown.fileno()).fileobj is unknown
        assert selector.unregister(unknown).data == "data"


def test_a_closed_socket_is_an_error_as_ever() -> None:
    with QuietSelector() as selector, selectors.DefaultSelector() as plain:
        closed = socket.socket()
        closed.close()
        for each in (selector, plain):
            with pytest.raises((KeyError, ValueError)):
                each.get_key(closed)
