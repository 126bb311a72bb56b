"""A pid file belongs to a running process: never to one that has ended, nor to another one of the same pid."""

from __future__ import annotations

import fcntl
import json
import os
import threading
from pathlib import Path
from typing import Any

import msgspec
import pytest

from replicator.errors import ProcessError
from replicator.host import process_record
from replicator.host.pid_file import default_folder, held
from replicator.host.process_record import ProcessRecord, decode, encode, service_of, start_time
from replicator.host.running_process import RunningProcess, find, in_folder
from tests.support.held_process import held_process, signals
from tests.support.present import present


class Log:
    def __init__(self) -> None:
        self.lines: list[str] = []

    def info(self, event: str, **fields: Any) -> None:
        self.lines.append(f"{event} {fields}")


def record() -> ProcessRecord:
    return ProcessRecord.of("core", "zk1:2181", "bus/", host="host-a")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "core.pid"


def test_the_first_line_is_the_pid(file: Path) -> None:
    with held(file, record(), Log()):
        lines = file.read_text().splitlines()
        assert lines[0] == str(os.getpid())
        assert json.loads(lines[1])["root"] == "/bus"
    assert not file.exists()


def test_a_running_process_is_found_and_stopped(file: Path) -> None:
    with held_process(file) as process:
        found = present(find(file))
        assert found.record.pid == process.pid and found.record.host == "host-a"
        assert found.stop(30) and found.in_order
        assert process.wait(10) == 0 and not file.exists()
    assert find(file) is None


def test_without_descriptors_of_processes(file: Path) -> None:
    """As before Linux 5.3."""
    with held_process(file) as process:
        found = present(find(file))
        with_pid = RunningProcess(file, found.record, None)
        assert not with_pid._ended(0.1)
        threading.Thread(target=process.wait).start()  # else it stays a zombie
        assert with_pid.stop(30) and with_pid.in_order


def test_the_file_of_a_killed_process_is_stale(file: Path) -> None:
    with held_process(file) as process:
        process.kill()
        process.wait(10)
        assert file.exists() and find(file) is None
    with held(file, record(), Log()):
        assert present(find(file)).record.pid == os.getpid(), "it is taken over"


def test_a_reused_pid_is_not_found_although_the_file_is_locked(file: Path) -> None:
    """Another process has the pid now, and a third one the file: each check alone would be deceived."""
    with held_process(file) as process:
        was = msgspec.structs.replace(present(find(file)).record, started=1)
        with file.open("r+b") as raw:
            raw.write(encode(was))
            raw.truncate()
        assert find(file) is None
        stale = RunningProcess(file, was, None)
        stale._signal()
        assert signals(process) == 0


def test_another_start_of_the_machine(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with held_process(file):
        assert find(file) is not None
        monkeypatch.setattr(process_record, "boot_id", lambda: "another")
        assert find(file) is None


def test_a_second_process_is_refused_and_told_who_has_the_file(file: Path) -> None:
    with held_process(file) as process:
        with pytest.raises(ProcessError, match=f"pid {process.pid}") as caught, held(file, record(), Log()):
            pass
        assert caught.value.code == "E5051"
        assert present(find(file)).record.pid == process.pid, "its file is as it was"


def test_a_look_at_the_lock_does_not_refuse_a_start(file: Path) -> None:
    file.touch()
    with file.open() as look:
        fcntl.flock(look, fcntl.LOCK_SH)
        threading.Timer(0.2, lambda: fcntl.flock(look, fcntl.LOCK_UN)).start()
        with held(file, record(), Log()):
            assert find(file) is not None


@pytest.mark.parametrize("content", [b"important\n", b"\x00\x01", b"host: a\n"])
def test_a_file_with_other_content_is_not_overwritten(file: Path, content: bytes) -> None:
    file.write_bytes(content)
    with pytest.raises(ProcessError, match="E5052"), held(file, record(), Log()):
        pass
    assert file.read_bytes() == content


@pytest.mark.parametrize("where", ["missing/core.pid", ".", "link"])
def test_a_path_that_can_not_be_one(tmp_path: Path, where: str) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "target")
    with pytest.raises(ProcessError, match="E5052"), held(tmp_path / where, record(), Log()):
        pass
    assert not (tmp_path / "target").exists()


def test_a_folder_of_its_own_that_can_not_be_written_is_logged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    log = Log()
    with held(None, record(), log) as stopping:
        stopping()
    assert len(log.lines) == 1 and "`replicator core stop` does not find this process" in log.lines[0]


def test_several_processes_have_files_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    with held_process(None) as first, held_process(None) as second, held_process(None, "server"):
        second.kill()
        second.wait(10)
        assert [one.record.pid for one in in_folder(default_folder(), "core")] == [first.pid]
        assert len(list(default_folder().glob("core-*.pid"))) == 1, "the file of the killed one is gone"
        first.kill()
        first.wait(10)
        with held_process(None) as third:
            assert [path.stem for path in default_folder().glob("core-*.pid")] == [f"core-{third.pid}"]
        assert default_folder().stat().st_mode & 0o077 == 0


def test_two_who_stop_a_process_send_one_signal(file: Path) -> None:
    with held_process(file, behaviour="waits") as process:
        stops = [threading.Thread(target=present(find(file)).stop, args=(0.5,)) for _ in range(4)]
        for stop in stops:
            stop.start()
        for stop in stops:
            stop.join()
        assert not present(find(file)).stop(0.1)
        assert signals(process) == 1


def test_an_end_by_an_error_is_not_in_order(file: Path) -> None:
    with held_process(file, behaviour="breaks") as process:
        found = present(find(file))
        assert found.stop(30) and not found.in_order
        assert process.wait(10) != 0


@pytest.mark.parametrize("data", [b"", b"12\n", b"12\n{}", b'13\n{"kind":', b"\xff\n\xff", encode(record()) + b"more"])
def test_what_is_no_record(data: bytes) -> None:
    assert decode(data) is None


def test_a_record_with_another_pid_in_the_first_line_is_none() -> None:
    data = encode(record())
    assert decode(data) == record() and decode(b"1" + data) is None


def test_start_times() -> None:
    assert start_time(os.getpid()) == record().started > 0
    assert start_time(1 << 22) is None


@pytest.mark.parametrize(
    ("exec_pid", "cgroup", "service"),
    [
        ("7", "0::/system.slice/mysql-replicator-core.service\n", "mysql-replicator-core.service"),
        ("7", "0::/user.slice/user-1.slice/user@1.service/app.slice/bus.service\n", "--user bus.service"),
        ("8", "0::/system.slice/cron.service\n", ""),
        ("", "0::/system.slice/cron.service\n", ""),
        ("7", "0::/user.slice/user-0.slice/session-3.scope\n", ""),
    ],
)
def test_the_service_of_a_process(tmp_path: Path, exec_pid: str, cgroup: str, service: str) -> None:
    (tmp_path / "cgroup").write_text(cgroup)
    assert service_of({"SYSTEMD_EXEC_PID": exec_pid}, 7, tmp_path / "cgroup") == service
    assert service_of({"SYSTEMD_EXEC_PID": exec_pid}, 7, tmp_path / "none") == ""
