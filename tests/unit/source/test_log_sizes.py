"""The server is asked for its list of files as rarely as possible."""

from __future__ import annotations

from typing import Any

from replicator.errors import SourceError
from replicator.model.behind import Behind
from replicator.model.position import Position
from replicator.source.mysql import log_sizes
from replicator.source.mysql.log_sizes import LogSizes
from replicator.source.mysql.logs import Log


class Server:
    identity = "server-uuid"


class Bench:
    def __init__(self, monkeypatch: Any) -> None:
        self.now, self.asked = 100.0, 0
        self.files: list[Log] | None = [Log("b.000001", 1000), Log("b.000002", 500)]
        self.sizes = LogSizes(lambda: self.now)
        monkeypatch.setattr(log_sizes, "logs", self.logs)

    def logs(self, session: object) -> list[Log]:
        self.asked += 1
        if self.files is None:
            raise SourceError("E2105", "refused")
        return self.files

    def behind(self, delivered: Position, end: Position, server: Any = Server) -> Behind:
        return self.sizes.behind(None, server, delivered, end)  # type: ignore[arg-type]


END = Position("b.000003", 40)


def test_the_list_is_kept_for_a_minute(monkeypatch) -> None:
    bench = Bench(monkeypatch)
    assert bench.behind(Position("b.000003", 10), END) == Behind(30)
    assert bench.asked == 0, "one file needs no list"
    assert bench.behind(Position("b.000001", 100), END) == Behind(1440)
    assert bench.behind(Position("b.000002", 100), END) == Behind(440)
    assert bench.asked == 1
    bench.now += 61
    assert bench.behind(Position("b.000002", 100), END) == Behind(440)
    assert bench.asked == 2


def test_another_server_of_the_group_is_asked_at_once(monkeypatch) -> None:
    bench = Bench(monkeypatch)
    bench.behind(Position("b.000001", 100), END)

    class Other:
        identity = "another-uuid"

    bench.files = [Log("b.000001", 7000), Log("b.000002", 5)]
    assert bench.behind(Position("b.000001", 100), END, Other).bytes == 6945
    assert bench.asked == 2
    of_the_first = Position("b.000001", 100, server="server-uuid@1")
    assert bench.behind(of_the_first, END, Other).bytes is None, "its files are other ones"


def test_an_account_that_may_not_list_them(monkeypatch) -> None:
    bench = Bench(monkeypatch)
    bench.files = None
    assert bench.behind(Position("b.000001", 100), END) == Behind()
    assert bench.behind(Position("b.000001", 100), END) == Behind()
    assert bench.asked == 1
