from collections.abc import Callable
from typing import Any, NamedTuple

from typing_extensions import disjoint_base

class KazooState:
    SUSPENDED: str
    CONNECTED: str
    LOST: str

class EventType:
    CREATED: str
    DELETED: str
    CHANGED: str
    CHILD: str
    NONE: str

@disjoint_base
class WatchedEvent(NamedTuple):
    type: str
    state: str
    path: str

@disjoint_base
class ZnodeStat(NamedTuple):
    czxid: int
    mzxid: int
    ctime: int
    mtime: int
    version: int
    cversion: int
    aversion: int
    ephemeralOwner: int
    dataLength: int
    numChildren: int
    pzxid: int

@disjoint_base
class Callback(NamedTuple):
    type: str
    func: Callable[..., Any]
    args: tuple[Any, ...]
