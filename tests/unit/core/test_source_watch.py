"""What a worker asks its source, beside the stream."""

from __future__ import annotations

from core.source_watch import ask
from replicator.errors import SourceUnavailable
from replicator.model.batch import Batch
from replicator.model.behind import Behind
from replicator.model.checkpoint import Checkpoint
from replicator.model.position import Position
from replicator.model.source_end import SourceEnd
from replicator.pipeline.status import PipelineStatus
from tests.support.scripted import row

NOW = 1_760_000_000_000


def at(offset: int) -> Position:
    return Position("b.1", offset)


class Store:
    retention_headroom_s: float | None = None

    def __init__(self, position: Position | None) -> None:
        self._position = position

    def load(self) -> Checkpoint | None:
        return Checkpoint(self._position) if self._position is not None else None


class Asked:
    """A source whose log ends at b.1:900."""

    def __init__(self) -> None:
        self.about: list[Position | None] = []
        self.away = False

    def observe(self, delivered: Position | None = None) -> SourceEnd:
        self.about.append(delivered)
        if self.away:
            raise SourceUnavailable("E2001", "gone")
        return SourceEnd(at(900), 0, Behind(900 - delivered.offset if delivered else None))


def opened(place: int) -> PipelineStatus:
    status = PipelineStatus(lambda: NOW)
    status.opened(at(place), polls=False)
    return status


def test_the_distance_is_that_of_what_is_delivered() -> None:
    status, source = opened(500), Asked()
    ask(source, status, Store(at(100)))
    assert source.about == [at(100)]
    assert status.behind == Behind(800)


def test_a_task_that_has_read_everything_and_not_delivered_it_is_behind() -> None:
    status, source = opened(900), Asked()
    status.delivered(NOW - 5000, 0, outstanding=True, progress=False)
    ask(source, status, Store(at(100)))
    assert status.behind == Behind(800)
    status.delivered(0, NOW, outstanding=False, progress=True)
    ask(source, status, Store(at(900)))
    assert status.behind == Behind(0)


def test_a_source_that_shows_it_has_nothing_more_ends_it_without_being_asked() -> None:
    status, source = opened(500), Asked()
    ask(source, status, Store(at(500)))
    assert status.behind == Behind(400)
    status.place = at(900)
    status.decoded(Batch([row(1)], at(900), True, 1, 1, 10, NOW, first_ms=NOW))
    for size in (0, 60, 0):  # a pause behind a heartbeat
        status.read(size, 0.5, backlog=False)
    assert status.behind == Behind(0)


def test_a_source_that_does_not_answer_leaves_it_unknown() -> None:
    status, source = opened(500), Asked()
    ask(source, status, Store(at(100)))
    source.away = True
    ask(source, status, Store(at(100)))
    assert status.behind == Behind()


def test_a_task_without_a_position() -> None:
    status, source = opened(500), Asked()
    ask(source, status, Store(None))
    assert source.about == [None]
    assert status.behind == Behind()
