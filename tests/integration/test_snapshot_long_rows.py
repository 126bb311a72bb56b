"""Rows that are longer than a packet, and chunks of long rows."""

from __future__ import annotations

import contextlib
import zlib
from collections.abc import Callable, Iterator

import msgspec
import pytest

from dev.servers import MariaDB, MySQL
from replicator import compiled
from replicator.config.task import MySQLSource as Config
from replicator.mysql.row_images.packet_rows import PacketRows
from replicator.pipeline.ports import Chunk
from replicator.source.mysql import MySQLSource
from replicator.source.mysql.snapshot import MySQLSnapshotSource, selected_rows

MB = 1 << 20


def chunks(server: MySQL | MariaDB, table: str, most: int) -> Iterator[Chunk]:
    settings = {"type": server.release.flavour, "port": server.port, "user": "replicator", "password": "env:X"}
    config = Config.model_validate(settings | {"tables": ["d.*"]})
    passed = MySQLSource(config, "t", "replicator").end_position()
    with contextlib.closing(MySQLSnapshotSource(config, "replicator").open("")) as reader:
        found = reader.begin(table)
        assert found is not None
        while True:
            chunk = reader.read(found, most, passed)
            yield chunk
            if chunk.final:
                return
            found = msgspec.structs.replace(found, done=chunk.last, chunks=found.chunks + 1)


@pytest.mark.parametrize("in_c", [False, True], ids=["python", "compiled"])
@pytest.mark.parametrize("flavour", ["mysql", "mariadb"])
def test_long_rows(
    flavour: str,
    make_mysql: Callable[..., MySQL],
    make_mariadb: Callable[..., MariaDB],
    monkeypatch: pytest.MonkeyPatch,
    *,
    in_c: bool,
) -> None:
    if not in_c:
        monkeypatch.setattr(selected_rows, "CompiledRows", PacketRows)
    elif not compiled.available():
        pytest.skip(compiled.why_not())
    longest = ["--max-allowed-packet=160M"]
    server: MySQL | MariaDB
    if flavour == "mysql":
        server = make_mysql(extra_args=longest)
    else:
        server = make_mariadb(extra_args=[*longest, "--innodb-log-file-size=512M"])
    server.execute("CREATE DATABASE d")
    server.execute("CREATE TABLE d.t (id INT PRIMARY KEY, v LONGBLOB, w INT NOT NULL DEFAULT 7)")
    sizes = {1: 3, 2: 64 * MB, 3: 16 * MB - 20, 4: 0, 5: 64 * MB, **dict.fromkeys(range(6, 26), MB)}
    for number, size in sizes.items():
        server.execute("INSERT INTO d.t (id, v) VALUES (%s, REPEAT(%s, %s))", (number, chr(64 + number), size))
    found = {}
    for chunk in chunks(server, "d.t", 100):
        assert len(chunk.images.data) <= selected_rows.ENOUGH + 64 * MB + 100
        for start, end in zip([0, *chunk.images.ends], chunk.images.ends, strict=False):
            image = memoryview(chunk.images.data)[start:end]
            size = int.from_bytes(image[5:9], "little")
            assert bytes(image[9 + size :]) == b"\7\0\0\0"
            found[int.from_bytes(image[1:5], "little")] = size, zlib.crc32(image[9 : 9 + size])
    wanted = {number: (size, zlib.crc32(bytes((64 + number,)) * size)) for number, size in sizes.items()}
    assert found == wanted
