"""Where the stream waits while the rows of a consistent view are delivered. Guarded by `Handoff.changed`."""

from __future__ import annotations

from replicator.errors import SourceUnavailable
from replicator.model.origin import Origin
from replicator.model.position import Position
from replicator.model.position_order import Relation, reached


class StreamHold:
    """First the stream stops where it is, so that it does not pass the view's place before that is known; then it goes
    on to that place, transaction by transaction, and stops there.

    Attributes:
        asked: the stream shall stop.
        stopped: it has.
        place: of the view; None: not known yet.
        arrived: the stream is there.
    """

    def __init__(self) -> None:
        self.asked = self.stopped = self.arrived = False
        self.place: Position | None = None

    @property
    def holds(self) -> bool:
        """Nothing of the stream may be delivered."""
        return self.arrived or (self.stopped and self.place is None)

    def seen(self, position: Position) -> None:
        """The stream is there, between transactions.

        Raises:
            SourceUnavailable: E2225, it does not come to the view's place.
        """
        if not self.asked or self.arrived:
            return
        if self.place is None:
            self.stopped = True
            return
        relation = relation_of(position, self.place)
        self.arrived = relation == "same"
        if relation in ("ahead", "unknown"):
            raise SourceUnavailable(
                "E2225",
                "the stream does not come to the place of the consistent view",
                found=str(position),
                wanted=str(self.place),
            )


def relation_of(position: Position, place: Position) -> Relation:
    """Where `position` of the stream is, seen from the end of the log at one moment."""
    origin = Origin.parse(position.server)
    if origin.server != Origin.parse(place.server).server:
        return "unknown"
    by_sets = bool(position.gtid and place.gtid)
    if origin.created == 0:
        # Behind a fail-over: the file is one of the former server until this one has written something.
        if not by_sets:
            return "unknown"
    elif position.log != place.log:
        return "unknown"
    elif position.order == place.order:
        return "same"
    elif position.order < place.order:
        return "behind"
    if not (by_sets and reached(position, place)):
        return "behind" if origin.created == 0 else "ahead"
    return "same" if reached(place, position) else "ahead"
