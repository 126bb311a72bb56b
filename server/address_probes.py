"""Probes the servers behind the addresses of the address book, as the master Server does, and records what changes.

Nothing follows from a probe but an alarm: only operators set addresses.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from replicator.config.ddns import parse_address
from replicator.coordination.addresses.book import AddressNode
from replicator.coordination.clock import now_ms
from replicator.coordination.records import ProbeRecord
from replicator.errors import CoordinationError
from replicator.net.greetings import Kind, unanswered
from replicator.telemetry.log import get_logger
from server.addresses import AddressOperations

INTERVAL: Final = 5.0
_USERS_ROUNDS: Final = 12
"""After which the tasks that use an address are read again: each time costs a request for each task."""
_log = get_logger("server")

Ask = Callable[[tuple[str, int], Kind], str]
_KINDS: Final[dict[str, Kind]] = {"mysql": "database", "mariadb": "database", "kafka": "kafka"}


class AddressProbes:
    """A separate thread between `start` and `stop`. Nothing that goes wrong in it ends the Server.

    Args:
        is_master: only the master Server probes. Two that do so for a moment record the same.
        host: of this Server, for people.
        ask: see `greetings.unanswered`.
    """

    def __init__(
        self, addresses: AddressOperations, is_master: Callable[[], bool], host: str, ask: Ask = unanswered
    ) -> None:
        self._addresses = addresses
        self._is_master = is_master
        self._host = host
        self._ask = ask
        self._rounds = 0
        self._users: dict[str, list[tuple[str, str]]] = {}
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="address_probes", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()

    def _run(self) -> None:
        with ThreadPoolExecutor(4, thread_name_prefix="probe") as pool:
            while not self._stopped.wait(INTERVAL):
                self.round(pool)

    def round(self, pool: ThreadPoolExecutor) -> None:
        """Probes each address once, if this Server is the master."""
        if not self._is_master():
            return
        try:
            nodes = [node for node in self._addresses.nodes() if node.record is not None]
            if not nodes:
                return
            if self._rounds % _USERS_ROUNDS == 0:
                self._users = self._addresses.users()
            self._rounds += 1
            asked = [(node, kind_of(self._users.get(str(node.name), ()))) for node in nodes]
            for node, why in zip(nodes, pool.map(lambda one: self._probe(*one), asked), strict=True):
                self._note(node, why)
        except CoordinationError as error:
            if not error.transient:
                _log.warning("addresses can't be probed", code=error.code, error=str(error))

    def _probe(self, node: AddressNode, kind: Kind) -> str:
        return self._ask(parse_address(node.address), kind)

    def _note(self, node: AddressNode, why: str) -> None:
        record = changed(node.probe, node.address, why, now_ms(), self._host)
        if record is None:
            return
        self._addresses.note_probe(node.name, record)
        say = _log.info if record.answers else _log.warning
        say("address probed", name=str(node.name), address=record.address, answers=record.answers, found=record.found)


def kind_of(users: Sequence[tuple[str, str]]) -> Kind:
    """How a server is asked: by what the tasks that use its address expect; `any` where there is none, or several."""
    kinds = {_KINDS.get(type_, "any") for _, type_ in users}
    return kinds.pop() if len(kinds) == 1 else "any"


def changed(known: ProbeRecord | None, address: str, why: str, time_ms: int, by: str) -> ProbeRecord | None:
    """The record of a probe; None where it says what is known.

    Args:
        why: the server does not answer; "": it does.
    """
    answers, code = not why, "E4108" if why else ""
    if known is not None and (known.address, known.answers, known.found) == (address, answers, why):
        return None
    same = known is not None and (known.address, known.answers) == (address, answers)
    since = known.since_ms if known is not None and same else time_ms
    return ProbeRecord(address=address, answers=answers, since_ms=since, code=code, found=why, by=by)
