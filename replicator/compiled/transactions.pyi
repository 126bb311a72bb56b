from replicator.decode.plan.deferred_fields import DeferredText
from replicator.decode.transactions.transaction_state import Gtid

ABI: int

class Transactions:
    """See `decode.transactions.transaction_state.TransactionState`, which has the same attributes."""

    offset: int
    at: int
    start: int
    phase: int
    gtid: Gtid
    commit_us: int
    length: int
    row: int
    messages: int
    row_events: int
    deferred: DeferredText | None
    standalone: bool
    skipped: bool
    finished_records: int
    finished_rows: int
    finished_size: int
    finished_transactions: int
    finished_skipped: int
    pending_rows: int
    pending_size: int
    pending_messages: int
    source_ms: int
    first_ms: int
    moved: bool
    inflated: int
    most_pending: int
    ts_us: int
    now_ns: int
    event_s: int
    pos: int
    server_id: int
    thread: int | str
    gtid_json: str
    executed_json: str
    tsid_json: str
    query_json: str
    file_json: str
    position: bytes
    row_flags: int
    table_rows: int
    query: bytes | None
    query_start: int
    query_told: bool

    @property
    def kind(self) -> int: ...
    @property
    def boundary(self) -> int: ...
    @property
    def boundary_at(self) -> int: ...
    @property
    def boundary_s(self) -> int: ...
    @property
    def ordinary(self) -> bool: ...
    def uuid(self, row: int) -> str: ...
    def executed(self) -> list[tuple[str, int, int] | tuple[int, int, int]]: ...
