"""Set up everything the Makefile's targets need; runs on the system's bare Python (standard library only).

    python3 dev/bootstrap.py             .venv with the locked requirements, Java and Maven
    python3 dev/bootstrap.py --browser   also Chromium for the Monitor's browser tests

A stamp in .venv remembers the lock and pyproject.toml, so that a second run only compares.
"""

import fcntl
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

TREE = Path(__file__).resolve().parent.parent
VENV = TREE / ".venv"
STAMP = VENV / ".bootstrap-stamp"
LOCK = TREE / "requirements.lock"
INPUTS = (LOCK, TREE / "pyproject.toml")
COMPILED = TREE / "replicator" / "compiled"
COMPILED_STAMP = VENV / ".compiled-stamp"

# Program -> the Debian package that brings it.
PROGRAMS = {"java": "default-jre-headless", "mvn": "maven", "make": "make", "setpriv": "util-linux"}
BROWSER = {"chromium": "chromium", "chromedriver": "chromium-driver"}


class SetupError(Exception):
    """Something the person running this has to do first; the message says what."""


def say(text: str) -> None:
    sys.stderr.write(f"[setup] {text}\n")
    sys.stderr.flush()


def main(arguments: list[str]) -> int:
    if not (3, 11) <= sys.version_info[:2] <= (3, 13):  # this file runs before anything checked the version
        say(f"Python 3.11, 3.12 or 3.13 is needed, not {sys.version.split()[0]}: run with PYTHON=python3.11 make")
        return 1
    try:
        install_packages(missing_packages(browser="--browser" in arguments))
        (TREE / "build").mkdir(exist_ok=True)
        with (TREE / "build" / ".setup.lock").open("w") as handle:
            fcntl.flock(handle, fcntl.LOCK_EX)
            prepare_venv()
            compile_hot_path()
            compile_modules()
    except SetupError as error:
        say(str(error))
        return 1
    return 0


def missing_packages(*, browser: bool) -> list[str]:
    wanted = {**PROGRAMS, **(BROWSER if browser else {})}
    packages = [package for program, package in wanted.items() if shutil.which(program) is None]
    if not VENV.exists() and importlib.util.find_spec("ensurepip") is None:
        packages.append("python3-venv")
    return packages


def install_packages(packages: list[str]) -> None:
    if not packages:
        return
    install = ["apt-get", "install", "-y", "--no-install-recommends", *packages]
    if shutil.which("apt-get") is None:
        raise SetupError(f"missing, and this is no Debian to install them on: {' '.join(packages)}")
    if os.geteuid() != 0:
        raise SetupError(f"missing packages: {' '.join(packages)}; install them with:\n  sudo {' '.join(install)}")
    if not _apt(install):
        _apt(["apt-get", "update"])
        if not _apt(install):
            raise SetupError(f"apt-get could not install {' '.join(packages)}")


def _apt(command: list[str]) -> bool:
    say(" ".join(command))
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    quiet = [command[0], "-q", *command[1:]]
    return subprocess.run(quiet, env=environment, stdin=subprocess.DEVNULL, check=False).returncode == 0


def prepare_venv() -> None:
    wanted = _fingerprint(*INPUTS)
    if STAMP.exists() and STAMP.read_text() == wanted and (VENV / "bin" / "python").exists():
        return
    begun = time.monotonic()
    if not (VENV / "bin" / "python").exists():
        say(f"creating {VENV}")
        _run([sys.executable, "-m", "venv", str(VENV)])
    pip = [str(VENV / "bin" / "python"), "-m", "pip", "install", "--disable-pip-version-check", "--no-input"]
    say("installing the locked requirements (about a minute on a fresh machine)")
    # The lock has every package. Were dependencies resolved, a release published since would be tried, and refused for
    # its missing hash, where one package asks for an extra of another.
    _run([*pip, "--quiet", "--require-hashes", "--no-deps", "-r", str(LOCK)])
    say("installing the project itself, editable")
    _run([*pip, "--quiet", "--no-deps", "--no-build-isolation", "-e", str(TREE)])
    STAMP.write_text(wanted)
    say(f".venv is ready after {time.monotonic() - begun:.0f} s")


def compile_hot_path() -> None:
    """replicator/compiled, in place. Without a C compiler the Python twin runs: slower, and the same otherwise."""
    sources = (TREE / "setup.py", *sorted(COMPILED.glob("*.pyx")), *sorted(COMPILED.glob("*.pxd")))
    wanted = _fingerprint(*INPUTS, *sources)
    if COMPILED_STAMP.exists() and COMPILED_STAMP.read_text() == wanted:
        return
    if not any(shutil.which(compiler) for compiler in ("cc", "gcc", "clang")):
        say("no C compiler: the decoder runs in Python (apt-get install gcc, then make setup)")
        return
    say("compiling the decoder (about half a minute)")
    command = [str(VENV / "bin" / "python"), "setup.py", "--quiet", "build_ext", "--inplace"]
    done = subprocess.run(command, cwd=TREE, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode != 0 or not all(_is_built(source) for source in COMPILED.glob("*.pyx")):
        say(f"the decoder could not be compiled and runs in Python:\n{done.stderr[-2000:]}")
        return
    COMPILED_STAMP.write_text(wanted)


def compile_modules() -> None:
    """The bytecode of our packages. Many images set PYTHONDONTWRITEBYTECODE: each process would compile them again,
    which is a third of the time that a Core needs to start."""
    ours = ("replicator", "core", "server", "monitor", "dev")
    _run([str(VENV / "bin" / "python"), "-m", "compileall", "-q", *ours])


def _is_built(source: Path) -> bool:
    """A module that can't be built is optional to setuptools: it succeeds, and leaves the old one in its place."""
    return any(built.stat().st_mtime >= source.stat().st_mtime for built in COMPILED.glob(f"{source.stem}.*.so"))


def _fingerprint(*paths: Path) -> str:
    digest = hashlib.sha256(f"{TREE} {sys.version_info[:2]}".encode())
    for path in paths:
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _run(command: list[str]) -> None:
    if subprocess.run(command, cwd=TREE, stdin=subprocess.DEVNULL, check=False).returncode != 0:
        raise SetupError(f"failed: {' '.join(command)}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
