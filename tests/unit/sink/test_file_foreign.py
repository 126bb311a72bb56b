"""A file sink opened on what is not its own: refused with a code, and not one byte of it is changed or shown."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from replicator.config.task import FileSink as FileConfig
from replicator.errors import SinkError, SinkUnavailable
from replicator.model.batch import Batch
from replicator.model.position import Position
from replicator.model.term import Term
from replicator.sink.file import FileSink
from replicator.sink.file_checks import check
from replicator.sink.file_position import MarkFile
from tests.unit.sink.test_file import batch, put

SECRET = "root:x:0:0:the secret of somebody else"
TERM = Term.unlimited("copy", "uid-1")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    folder = tmp_path / "files"
    folder.mkdir()
    return folder / "out.jsonl"


def sink(path: Path | str, directory: Path | None = None) -> FileSink:
    base = directory or Path(path).parent
    return FileSink(FileConfig(type="file", path=str(path)), base)


def refused(given: FileSink, term: Term = TERM) -> SinkError:
    with pytest.raises(SinkError) as raised:
        given.open(term)
    assert SECRET not in json.dumps(raised.value.to_dict())
    assert not isinstance(raised.value, SinkUnavailable)
    return raised.value


def delivered(path: Path, term: Term = TERM) -> bytes:
    made = sink(path)
    made.open(term)
    put(made, batch(4, b"1", b"2"))
    made.close()
    return path.read_bytes()


def same(path: Path) -> Callable[[], bool]:
    """Whether content, times, kind and names of everything beside `path` are as they were."""

    def state() -> list[tuple[str, bytes, int, int]]:
        found = []
        for each in sorted(path.parent.rglob("*")):
            stat = each.lstat()
            content = each.read_bytes() if each.is_file() else b""
            found.append((each.name, content, stat.st_mtime_ns, stat.st_ino))
        return found

    before = state()
    return lambda: state() == before


@pytest.mark.parametrize(
    "content",
    [
        SECRET.encode() * 3,
        SECRET.encode() + b"\n",
        b"\n",
        b"\0" * 100,
        b"\xff\xfe",
        b'{"topic":"shop.t","offset":0}\n',
        b'{"topic":"shop',
    ],
)
def test_a_file_with_content_and_no_mark(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    untouched = same(path)
    assert refused(sink(path)).code == "E3203"
    assert untouched()
    with pytest.raises(SinkError, match="E3203"):
        check(str(path), path.parent)
    assert untouched()


@pytest.mark.parametrize("content", [SECRET, "", "[]", "{}", '{"uid":"uid-1"}', '{"task":"copy","uid":"uid-1"}'])
def test_a_mark_that_is_not_ours(path: Path, content: str) -> None:
    path.with_name("out.jsonl.position").write_text(content)
    untouched = same(path)
    assert refused(sink(path)).code == "E3203"
    assert untouched(), "nor was the data file made"


def test_lines_of_ours_without_their_mark(path: Path) -> None:
    """Lines can't tell which task they are of, nor whether all of them are."""
    delivered(path)
    path.with_name("out.jsonl.position").unlink()
    untouched = same(path)
    assert refused(sink(path)).code == "E3203"
    assert untouched()


@pytest.mark.parametrize("other", [Term.unlimited("copy", "uid-2"), Term.unlimited("other", "uid-1")])
def test_a_task_made_again_and_another_task(path: Path, other: Term) -> None:
    delivered(path)
    untouched = same(path)
    error = refused(sink(path), other)
    assert (error.code, "another file" in error.fix) == ("E3203", True)
    assert untouched()
    for each in (path, path.with_name("out.jsonl.position")):
        each.rename(each.with_name(f"old-{each.name}"))
    delivered(path, other)  # as the error says


def test_a_second_task_while_the_first_has_written_nothing(path: Path) -> None:
    first = sink(path)
    first.open(TERM)
    assert refused(sink(path), Term.unlimited("other", "uid-2")).code == "E3203"
    first.close()
    assert refused(sink(path), Term.unlimited("other", "uid-2")).code == "E3203"


def test_two_paths_that_meet_in_a_mark(path: Path) -> None:
    delivered(path)
    untouched = same(path)
    assert refused(sink(f"{path}.position"), Term.unlimited("other", "uid-2")).code == "E3203"
    assert untouched()


def test_another_file_in_the_place_of_ours(path: Path) -> None:
    """As log rotation leaves it: the mark stays, the data is another's, longer than ours."""
    ours = delivered(path)
    path.rename(path.with_name("rotated"))
    path.write_bytes(SECRET.encode() * (len(ours) // 10))
    untouched = same(path)
    assert refused(sink(path)).code == "E3203"
    assert untouched()


def test_a_changed_byte_within_what_was_committed(path: Path) -> None:
    ours = delivered(path)
    path.write_bytes(ours.replace(b'"offset":1', b'"offset":7') + b'{"topic":"')
    untouched = same(path)
    assert refused(sink(path)).code == "E3203"
    assert untouched()


@pytest.mark.parametrize(
    "tail",
    [
        SECRET.encode(),
        SECRET.encode() + b"\n",
        b'{"other":"json"}\n',
        b'{"topic":"t","offset":9}\n',
        b'{"topic":"t","offset":9,"headers":[{"key":"task","value":"other"}]}\n',
        b"\0\0text",
        b"\n",
    ],
)
def test_what_somebody_else_appended_is_not_cut(path: Path, tail: bytes) -> None:
    ours = delivered(path)
    path.write_bytes(ours + tail)
    untouched = same(path)
    error = refused(sink(path))
    assert (error.code, f"truncate -s {len(ours)} {path}" in error.fix) == ("E3203", True)
    assert untouched()
    os.truncate(path, len(ours))  # as the error says
    again = sink(path)
    assert again.open(TERM) == Position("binlog.000001", 4)
    again.close()
    assert path.read_bytes() == ours


def test_our_own_lines_before_what_somebody_else_appended_stay_too(path: Path) -> None:
    ours = delivered(path)
    path.write_bytes(ours + ours + SECRET.encode())
    untouched = same(path)
    assert f"truncate -s {2 * len(ours)}" in refused(sink(path)).fix
    assert untouched()


def test_restored_backups(path: Path) -> None:
    """Both files of one moment go on; older data under a newer mark is refused; newer data under an older mark goes
    back to that mark."""
    old = delivered(path)
    mark = path.with_name("out.jsonl.position")
    old_mark = mark.read_bytes()
    made = sink(path)
    made.open(TERM)
    put(made, batch(5, b"3"))
    made.close()
    path.write_bytes(old)
    assert refused(sink(path)).code == "E3201"
    mark.write_bytes(old_mark)
    made = sink(path)
    assert made.open(TERM) == Position("binlog.000001", 4)
    put(made, batch(5, b"3"))
    made.close()
    mark.write_bytes(old_mark)
    made = sink(path)
    assert made.open(TERM) == Position("binlog.000001", 4)
    made.close()
    assert path.read_bytes() == old


def test_a_process_killed_before_its_first_commit(path: Path) -> None:
    made = sink(path)
    made.open(TERM)
    made.write(batch(4, b"1"))
    left = path.read_bytes()
    made.close()
    path.write_bytes(left + left[:20])
    made = sink(path)
    assert made.open(TERM) is None
    assert path.read_bytes() == b""
    put(made, batch(4, b"1"))
    made.close()


# What is no file of its own at all


def test_links_devices_pipes_and_sockets(tmp_path: Path, path: Path) -> None:
    target = tmp_path / "passwd"
    target.write_text(SECRET)
    (path.parent / "link").symlink_to(target)
    (path.parent / "dangling").symlink_to(tmp_path / "nothing")
    (path.parent / "folder").mkdir()
    os.link(target, path.parent / "hard")
    os.mkfifo(path.parent / "pipe")
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path.parent / "socket"))
    untouched = same(path.parent)
    for name in ("link", "dangling", "folder", "hard", "pipe", "socket"):
        error = refused(sink(path.parent / name))
        assert error.code in ("E3201", "E3203"), name
        assert untouched(), name
    for device in ("/dev/zero", "/dev/null", "/dev/tty", "/dev/stdout"):
        assert refused(sink(device, Path("/"))).code in ("E3201", "E3202", "E3203"), device
    assert not (tmp_path / "nothing").exists()
    listener.close()


def test_a_file_of_two_names(path: Path) -> None:
    """Empty or even ours: under its other name it is somebody else's."""
    other = path.with_name("other")
    other.touch()
    os.link(other, path)
    assert refused(sink(path)).code == "E3203"
    assert not path.with_name("out.jsonl.position").exists()
    path.unlink()
    ours = delivered(path)
    os.link(path, path.with_name("second"))
    assert refused(sink(path)).code == "E3203"
    assert path.read_bytes() == ours


@pytest.mark.parametrize("kind", ["link", "file", "pipe", "gone"])
def test_a_file_that_is_replaced_between_the_look_and_the_opening(
    tmp_path: Path, path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    target = tmp_path / "passwd"
    target.touch()  # an empty file would be taken
    path.touch()
    real = os.stat

    def stat(name: Any, **how: Any) -> os.stat_result:
        found = real(name, **how)
        if name == path.name:
            path.rename(path.with_name(f"moved-{len(list(path.parent.iterdir()))}"))
            if kind == "link":
                path.symlink_to(target)
            elif kind == "file":
                path.touch()
            elif kind == "pipe":
                os.mkfifo(path)
        return found

    monkeypatch.setattr("replicator.host.files.os.stat", stat)
    if kind == "gone":
        made = sink(path)
        made.open(TERM)  # as if it had never been there
        made.close()
    else:
        assert refused(sink(path)).code == "E3201"
        assert not path.with_name("out.jsonl.position").exists()
    assert target.stat().st_size == 0


def test_links_where_the_mark_goes(tmp_path: Path, path: Path) -> None:
    target = tmp_path / "passwd"
    target.write_text(SECRET)
    mark = path.with_name("out.jsonl.position")
    mark.symlink_to(target)
    assert refused(sink(path)).code == "E3203"
    mark.unlink()
    mark.symlink_to(tmp_path / "nothing")
    assert refused(sink(path)).code == "E3203"
    mark.unlink()
    made = sink(path)
    made.open(TERM)
    for draft in ("out.jsonl.position.new", ".out.jsonl.position.new"):
        (path.parent / draft).symlink_to(target)
    put(made, batch(4, b"1"))
    made.close()
    assert target.read_text() == SECRET


def test_paths_that_lead_out_of_the_directory(tmp_path: Path, path: Path) -> None:
    base = path.parent
    outside = tmp_path / "outside"
    outside.mkdir()
    (base / "escape").symlink_to(outside)
    (base / "in").mkdir()
    for given in (
        "../outside/x",
        "in/../../outside/x",
        str(outside / "x"),
        "escape/x",
        str(base / "escape" / "x"),
        f"{base}-beside/x",
        "/etc/passwd",
        str(base),
        ".",
        "x\0y",
        "missing/x",
    ):
        assert refused(sink(given, base)).code == "E3202", given
    assert list(outside.iterdir()) == []
    assert refused(sink("x", base / "missing")).code == "E3202"


def test_relative_and_absolute_paths_below_the_directory(path: Path) -> None:
    base = path.parent
    (base / "in").mkdir()
    for given in ("a", "in/b", "./in//c", str(base / "in" / "d")):
        made = sink(given, base)
        made.open(TERM)
        put(made, batch(4, b"1"))
        made.close()
    assert {each.name for each in (base / "in").iterdir()} >= {"b", "c", "d"}


def test_without_a_directory_no_file_is_written(path: Path) -> None:
    error = refused(FileSink(FileConfig(type="file", path=str(path)), None))
    assert (error.code, "--file-sink-directory" in error.fix) == ("E3202", True)
    assert not path.exists()


def test_a_directory_that_becomes_a_link_while_we_write(tmp_path: Path, path: Path) -> None:
    """The mark is replaced in the directory that was opened, wherever its name leads by then."""
    made = sink(path)
    made.open(TERM)
    moved = path.parent.rename(tmp_path / "moved")
    outside = tmp_path / "outside"
    outside.mkdir()
    path.parent.symlink_to(outside)
    put(made, batch(4, b"1"))
    made.close()
    assert list(outside.iterdir()) == []
    assert (moved / "out.jsonl.position").exists()


def test_a_mark_made_by_somebody_else_after_we_looked(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the look and the first mark: not replaced."""
    mark = path.with_name("out.jsonl.position")
    real = MarkFile.read

    def read(self: MarkFile, term: Term) -> object:
        found = real(self, term)
        if path.exists():
            mark.write_text(SECRET)
        return found

    monkeypatch.setattr(MarkFile, "read", read)
    assert refused(sink(path)).code == "E3203"
    assert mark.read_text() == SECRET


def test_batches_without_records_need_no_proof(path: Path) -> None:
    made = sink(path)
    made.open(TERM)
    made.write(Batch([], Position("binlog.000001", 9), True))
    made.commit(Position("binlog.000001", 9))
    made.close()
    assert path.read_bytes() == b""
