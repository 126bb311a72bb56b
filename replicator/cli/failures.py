"""Errors of commands: one line on stderr and an exit status.

0 ok · 1 error · 2 usage · 3 not found · 4 conflict or precondition · 5 unreachable · 6 authentication
7 wait timed out · 10 check warned · 11 check failed · 130 interrupted · 141 reader of our output is gone
"""

from __future__ import annotations

import click

from replicator.errors import ReplicatorError

ERROR, USAGE, NOT_FOUND, CONFLICT, UNREACHABLE, AUTH, TIMEOUT = 1, 2, 3, 4, 5, 6, 7
CHECK_WARNED, CHECK_FAILED = 10, 11
INTERRUPTED = 130
BROKEN_PIPE = 141

_STATUS = {
    "E1009": CONFLICT,
    "E2001": UNREACHABLE,
    "E3001": UNREACHABLE,
    "E3301": UNREACHABLE,
    "E3304": AUTH,
    "E3401": UNREACHABLE,
    "E3403": AUTH,
    "E4001": UNREACHABLE,
    "E4002": UNREACHABLE,
    "E4003": UNREACHABLE,
    "E4004": NOT_FOUND,
    "E4005": CONFLICT,
    "E4006": CONFLICT,
    "E4007": AUTH,
    "E4012": CONFLICT,
    "E4070": TIMEOUT,
    "E4071": CONFLICT,
    "E4072": CONFLICT,
    "E4073": CONFLICT,
    "E4074": TIMEOUT,
    "E4075": CONFLICT,
    "E4076": TIMEOUT,
    "E4077": CONFLICT,
    "E4078": CONFLICT,
    "E4101": NOT_FOUND,
    "E4103": CONFLICT,
    "E5003": NOT_FOUND,
    "E5004": CONFLICT,
    "E5005": UNREACHABLE,
    "E5006": AUTH,
    "E5007": CONFLICT,
    "E5009": TIMEOUT,
    "E5016": CONFLICT,
    "E5070": CONFLICT,
    "E5071": NOT_FOUND,
    "E5072": AUTH,
    "E5075": CONFLICT,
    "E5084": UNREACHABLE,
    "E5085": AUTH,
    "E5086": UNREACHABLE,
    "E5087": UNREACHABLE,
    "E5088": UNREACHABLE,
    "E5089": UNREACHABLE,
    "E5050": NOT_FOUND,
    "E5053": CONFLICT,
    "E5054": CONFLICT,
    "E5090": NOT_FOUND,
    "E5092": CONFLICT,
    "E5120": NOT_FOUND,
    "E5121": CONFLICT,
    "E5122": CONFLICT,
    "E5123": NOT_FOUND,
    "E5124": CONFLICT,
    "E5103": CONFLICT,
    "E5104": CONFLICT,
    "E5105": CONFLICT,
    "E5150": CONFLICT,
    "E5151": CONFLICT,
    "E5152": TIMEOUT,
    "E5153": NOT_FOUND,
    "E5154": CONFLICT,
    "E5161": CONFLICT,
    "E5162": NOT_FOUND,
    "E5163": NOT_FOUND,
    "E5140": USAGE,
    "E5141": USAGE,
    "E5142": NOT_FOUND,
}


def exit_status(error: ReplicatorError) -> int:
    return _STATUS.get(error.code, ERROR)


def show(error: ReplicatorError, colour: bool | None = None, *, of: str = "") -> None:
    """One line per problem on stderr. A task file with several shows them all. `of`: the task or the file, where the
    command is of several."""
    for one in getattr(error, "errors", ()) or (error,):
        head, _, rest = " ".join(str(one).split()).partition(":")
        line = f"{click.style(head, fg='red', bold=True)}:{rest}"
        click.echo(f"{of}: {line}" if of else line, err=True, color=colour)
