"""The plain packages as their manuals show them: BinLogStreamReader -> json.dumps -> KafkaProducer.send.

The envelope, the key and the tombstones are the same as ours, and the producer's defaults are left alone (idempotent,
acks=all). It gives less than ours: no positions, no exactly_once, no bound on memory.
"""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Iterator
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

from kafka import KafkaProducer
from pymysqlreplication import BinLogStreamReader
from pymysqlreplication.row_event import DeleteRowsEvent, UpdateRowsEvent, WriteRowsEvent

from dev.bench.job import Job

_EPOCH = datetime(1970, 1, 1)


def run(job: Job) -> int:
    """Sends the first `job.rows` of the segment. Returns how many."""
    producer = KafkaProducer(
        bootstrap_servers=[job.bootstrap],
        key_serializer=lambda key: json.dumps(key, separators=(",", ":")).encode(),
        value_serializer=lambda value: None if value is None else _dump(value),
    )
    stream = BinLogStreamReader(
        connection_settings={"host": job.host, "port": job.port, "user": job.user, "passwd": job.password},
        server_id=7001,
        only_events=[WriteRowsEvent, UpdateRowsEvent, DeleteRowsEvent],
        log_file=job.file,
        log_pos=job.start,
        resume_stream=True,
        is_mariadb=job.flavor == "mariadb",
        enable_logging=False,
    )
    rows = 0
    errors: list[BaseException] = []
    for key, value in _changes(stream, job.name):
        producer.send(job.name, key=key, value=value).add_errback(errors.append)
        if value["op"] == "d":
            producer.send(job.name, key=key, value=None).add_errback(errors.append)
        rows += 1
        if rows == job.rows:
            break
    producer.flush()
    producer.close()
    stream.close()
    if errors:
        raise errors[0]
    return rows


def _dump(value: dict[str, Any]) -> bytes:
    return json.dumps(value, default=_plain, separators=(",", ":"), ensure_ascii=False).encode()


def _plain(value: Any) -> Any:
    """Values that json does not know, as the envelope wants them."""
    if isinstance(value, datetime):
        return int((value - _EPOCH).total_seconds() * 1000)
    if isinstance(value, Decimal):
        unscaled = int(value.scaleb(2))
        return base64.b64encode(unscaled.to_bytes((unscaled.bit_length() + 8) // 8, "big", signed=True)).decode()
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, date | timedelta):
        return str(value)
    raise TypeError(type(value).__name__)


def _changes(stream: Any, name: str) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    for event in stream:
        now = time.time()
        source = {
            "version": "3.6.1.Final", "connector": "mysql", "name": name, "ts_ms": event.timestamp * 1000,
            "snapshot": "false", "db": event.schema, "sequence": None, "ts_us": event.timestamp * 1_000_000,
            "ts_ns": event.timestamp * 1_000_000_000, "table": event.table, "server_id": 1, "gtid": None,
            "file": stream.log_file, "pos": stream.log_pos, "row": 0, "thread": None, "query": None,
        }  # fmt: skip
        for number, row in enumerate(event.rows):
            before, after, op = _images(event, row)
            identity = after or before
            assert identity is not None
            value = {
                "before": _texts(before), "after": _texts(after), "source": {**source, "row": number},
                "transaction": None, "op": op,
                "ts_ms": int(now * 1e3), "ts_us": int(now * 1e6), "ts_ns": int(now * 1e9),
            }  # fmt: skip
            yield {"id": identity["id"]}, value


def _images(event: Any, row: dict[str, Any]) -> tuple[dict[str, Any] | None, dict[str, Any] | None, str]:
    if isinstance(event, WriteRowsEvent):
        return None, row["values"], "c"
    if isinstance(event, UpdateRowsEvent):
        return row["before_values"], row["after_values"], "u"
    return row["values"], None, "d"


def _texts(image: dict[str, Any] | None) -> dict[str, Any] | None:
    """TIMESTAMP and JSON columns travel as text; the reader gives the latter parsed, with bytes for keys."""
    if image is None:
        return None
    image["updated"] = image["updated"].isoformat(timespec="milliseconds") + "Z"
    if isinstance(image["payload"], dict):
        decoded = {_text(key): _text(value) for key, value in image["payload"].items()}
        image["payload"] = json.dumps(decoded, separators=(",", ":"))
    return image


def _text(value: Any) -> Any:
    return value.decode() if isinstance(value, bytes) else value
