"""Build a cache folder at most once: locked against other processes, complete or absent, never half there."""

from __future__ import annotations

import fcntl
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from dev.errors import ServerUnavailable
from dev.paths import cache_root
from dev.progress import say, step


def folder_once(name: str, build: Callable[[Path], None]) -> Path:
    """The cache folder `name`; `build` fills a temporary one, which is renamed only when it is complete."""
    root = cache_root()
    final = root / name
    if final.is_dir():
        return final
    with _locked(root / f".{name}.lock", name):
        if final.is_dir():
            return final
        for left in root.glob(f".{name}-????????*"):  # drafts of a killed process; the lock says that nobody builds
            shutil.rmtree(left) if left.is_dir() else left.unlink()
        draft = Path(tempfile.mkdtemp(prefix=f".{name}-", dir=root))
        try:
            with step(f"fetching {name} into {root}"):
                build(draft)
            draft.chmod(0o755)
            draft.rename(final)
        finally:
            shutil.rmtree(draft, ignore_errors=True)
    return final


@contextmanager
def _locked(path: Path, name: str) -> Iterator[None]:
    with path.open("w") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"another process is fetching {name}: waiting for it")
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def run(
    owner: str,
    command: list[str],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    text_in: str | None = None,
    timeout: float = 900,
) -> str:
    """Run one command; its failure becomes ServerUnavailable with the end of what it said."""
    try:
        done = subprocess.run(
            command,
            cwd=cwd,
            env=env,
            check=False,
            capture_output=True,
            text=True,
            timeout=timeout,
            **({"input": text_in} if text_in is not None else {"stdin": subprocess.DEVNULL}),
        )
    except FileNotFoundError as error:
        raise ServerUnavailable(owner, f"{command[0]} is not installed (run `make setup`)") from error
    except subprocess.TimeoutExpired as error:
        raise ServerUnavailable(owner, f"`{command[0]}` did not finish within {timeout:.0f} s") from error
    if done.returncode != 0:
        said = "\n".join((done.stdout + done.stderr).strip().splitlines()[-15:])
        raise ServerUnavailable(owner, f"`{' '.join(command)[:200]}` failed with {done.returncode}:\n{said}")
    return str(done.stdout)
