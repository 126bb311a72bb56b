"""Runs a page of documentation: its `console` blocks in one shell, its `sql` blocks as root, its files into the folder.

What a command printed is compared with what the page shows after numbers, ids and runs of blanks have been made equal;
a `...` in the page stands for any text.
"""

from __future__ import annotations

import contextlib
import os
import re
import select
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_JOB_ENDED = re.compile(r"^bash: line \d+: +\d+ Killed .*\n", re.MULTILINE)  # bash's word of a background job
_END = "end-of-command-7f3a"
_LEVELLED = (
    (re.compile(r"\x1b\[[0-9;]*m"), ""),
    (re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "ID"),
    (re.compile(r"<= (?=\d)"), ""),  # a lag that is not measured to the end yet
    (re.compile(r"\d+([.:,]\d+)*"), "N"),
    (re.compile(r"[-─━═]{3,}"), "---"),
    (re.compile(r"[ \t]+"), " "),
)


@dataclass(frozen=True, slots=True)
class Command:
    line: str
    shown: str
    """What the page says that it prints."""


@dataclass(frozen=True, slots=True)
class Block:
    language: str
    text: str

    @property
    def file_name(self) -> str:
        """Of a block that begins with `# NAME`, what it is saved as."""
        found = re.match(r"# (\S+\.\w+)\n", self.text)
        return found.group(1) if found else ""

    def commands(self) -> Iterator[Command]:
        for part in re.split(r"^\$ ", self.text, flags=re.MULTILINE)[1:]:
            line, _, shown = part.replace("\\\n", "").partition("\n")
            yield Command(line, shown.strip("\n"))


def blocks(page: str) -> list[Block]:
    return [Block(found.group(1), found.group(2)) for found in _BLOCK.finditer(page)]


def levelled(text: str) -> str:
    for pattern, by in _LEVELLED:
        text = pattern.sub(by, text)
    return "\n".join(line.strip() for line in text.strip().splitlines())


def alike(shown: str, printed: str) -> bool:
    pattern = ".*".join(re.escape(part) for part in levelled(shown).split("..."))
    return re.fullmatch(pattern, levelled(printed), re.DOTALL) is not None


class Shell:
    """bash that is given one line after another; background jobs and variables last until `close`."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(
            ["bash", "--norc", "--noprofile"],
            cwd=folder,
            env={**os.environ, **environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # what it starts in the background is ended with it
        )

    def run(self, line: str, timeout: float) -> str:
        """What `line` printed, on either stream. TimeoutError with it when it does not end."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(f"{line}\necho {_END}\n".encode())
        self._process.stdin.flush()
        printed, deadline = b"", time.monotonic() + timeout
        end = f"{_END}\n".encode()
        while not printed.endswith(end):
            ready, _, _ = select.select([self._process.stdout], [], [], max(0.0, deadline - time.monotonic()))
            piece = os.read(self._process.stdout.fileno(), 65536) if ready else b""
            if not piece:
                raise TimeoutError(f"$ {line}\n{printed.decode(errors='replace')}")
            printed += piece
        return _JOB_ENDED.sub("", printed.removesuffix(end).decode(errors="replace"))

    def close(self) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(b'for job in $(jobs -p); do kill "$job"; done; wait; exit\n')
        self._process.stdin.close()
        try:
            self._process.wait(60)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(10)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.stdout.close()


@dataclass(slots=True)
class Reader:
    """Follows a page. `substitutes`: what the page says -> what it is here (addresses of servers)."""

    shell: Shell
    sql: Callable[[str], object]
    folder: Path
    substitutes: Mapping[str, str]
    timeout: float = 120.0
    differences: list[str] = field(default_factory=list)
    printed: list[str] = field(default_factory=list)

    def follow(self, page: str) -> None:
        """Everything in order; what differs is collected, so that one run shows all of it."""
        for block in blocks(page):
            text = self._here(block.text)
            if block.language == "console":
                for command in block.commands():
                    self._run(command)
            elif block.language == "sql":
                for statement in text.split(";\n"):
                    if statement.strip():
                        self.sql(statement.strip().rstrip(";"))
            elif block.file_name:
                (self.folder / block.file_name).write_text(text)

    def _run(self, command: Command) -> None:
        printed = self.shell.run(self._here(command.line), self.timeout)
        self.printed.append(f"$ {command.line}\n{printed}")
        if not alike(command.shown, printed):
            self.differences.append(f"$ {command.line}\n--- shown\n{command.shown}\n--- printed\n{printed}")

    def _here(self, text: str) -> str:
        for said, here in self.substitutes.items():
            text = text.replace(said, here)
        return text
