"""The actions that the Monitor offers, and which of them a login may do. Pure.

The Server decides; what is said here only keeps buttons away from people for whom they would not work.
"""

from __future__ import annotations

from typing import Final

import msgspec

from replicator.model.principal import Principal


class Action(msgspec.Struct, frozen=True, kw_only=True):
    """
    Attributes:
        name: in the path of its page.
        title: of its button; done: what is said after it.
        words: of the command line.
        verb: in the path of the API; arguments: that it always has.
        checked: the API can check it without doing it.
        of_machine: else of a task.
        choice: what has to be chosen first: "to" (a host), "table", "position", or "" for nothing.
        hint: what it does, in one sentence.
        flags: that its command always has; reasoned: the API takes a reason.
    """

    name: str
    title: str
    done: str
    words: str
    verb: str
    hint: str
    arguments: dict[str, str] = {}
    checked: bool = True
    of_machine: bool = False
    choice: str = ""
    flags: tuple[str, ...] = ()
    reasoned: bool = True


_ALL: Final = (
    Action(
        name="pause",
        title="Pause",
        done="Pause was ordered. The task stops at its next transaction boundary.",
        words="task pause",
        verb="pause",
        hint="Stops the task at a transaction boundary. It stays paused, also after a fail-over, until it is resumed.",
    ),
    Action(
        name="resume",
        title="Resume",
        done="Resume was ordered. The task continues at its position.",
        words="task resume",
        verb="resume",
        hint="Continues a paused task at the position at which it was paused.",
    ),
    Action(
        name="switchover",
        title="Switchover",
        done="The switchover was ordered. The task is handed over at its next transaction boundary.",
        words="task switchover",
        verb="switchover",
        choice="to",
        hint="Hands the task over to a standby at a transaction boundary. No row is lost or sent twice.",
    ),
    Action(
        name="retry",
        title="Retry",
        done="The retry was ordered. The task starts again at its position.",
        words="task retry",
        verb="retry",
        hint="Starts a failed task again, after the cause of its failure was removed.",
    ),
    Action(
        name="restart",
        title="Restart",
        done="The restart was ordered. The worker ends at its next transaction boundary, and another one continues.",
        words="task restart",
        verb="restart",
        hint="Ends the worker process at a transaction boundary and starts another one on the same Core.",
    ),
    Action(
        name="check",
        title="Check",
        done="The check was ordered. Its result is on the page of checks after some seconds.",
        words="check",
        verb="check",
        checked=False,
        flags=("--via-core",),
        reasoned=False,
        hint="Checks configuration, source and sink from the host of the Core that leads the task. Nothing is changed.",
    ),
    Action(
        name="position",
        title="Set position",
        done="The position was set.",
        words="task position set",
        verb="position",
        choice="position",
        hint="Sets the position from which a paused or failed task continues. Rows may be sent again or never be sent.",
    ),
    Action(
        name="lift-quarantine",
        title="Lift quarantine",
        done="The end of the quarantine was ordered. The task delivers rows of the table again from here.",
        words="task quarantine",
        verb="quarantine",
        arguments={"release": "true"},
        checked=False,
        choice="table",
        hint="Delivers rows of a table again. Rows that the quarantine has left out are not delivered by this.",
    ),
    Action(
        name="drain",
        title="Drain",
        done="The drain was ordered. The Core hands its tasks over one after the other.",
        words="machine drain",
        verb="drain",
        checked=False,
        of_machine=True,
        hint="Hands all tasks of the machine over to other Cores, one after the other. It takes no others until the "
        "drain ends.",
    ),
    Action(
        name="undrain",
        title="End drain",
        done="The drain has ended. The Core takes tasks again.",
        words="machine undrain",
        verb="undrain",
        checked=False,
        of_machine=True,
        hint="Lets the Core of the machine take tasks again. Tasks stay where they are.",
    ),
)
OF_TASK: Final = tuple(action for action in _ALL if not action.of_machine)
OF_MACHINE: Final = tuple(action for action in _ALL if action.of_machine)


def find(actions: tuple[Action, ...], name: str) -> Action | None:
    return next((action for action in actions if action.name == name), None)


class Rights(msgspec.Struct, frozen=True):
    """What a page may offer. server: address of the Server, "" without one; may_act, may_drain, may_audit: by role and
    selector of the login; may_log_in: nobody is logged in, and somebody could."""

    server: str = ""
    may_act: bool = False
    may_drain: bool = False
    may_audit: bool = False
    may_log_in: bool = False


def rights_of(server: str, principal: Principal | None, *, in_session: bool, offered: bool) -> Rights:
    if not server or principal is None or not in_session:
        return Rights(server, may_log_in=bool(server) and offered and principal is None)
    operates = principal.may("operator")
    everywhere = not principal.selector
    return Rights(
        server,
        may_act=operates,
        may_drain=operates and everywhere,
        may_audit=principal.may("admin") and everywhere,
    )
