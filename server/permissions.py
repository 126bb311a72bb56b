"""Which role each operation of the API requires. An operation that is not in the table is refused."""

from __future__ import annotations

from typing import Final, NamedTuple

from replicator.errors import ProcessError
from replicator.model.principal import Principal, Role


class Rule(NamedTuple):
    """role: None for requests without a login; everywhere: not for logins that are limited to some tasks by a selector;
    own: users may do it to themselves, whatever their role; secret: the body or the answer has a
    secret, so that nothing of it is kept for an idempotency key."""

    role: Role | None
    everywhere: bool = False
    own: bool = False
    secret: bool = False


_READ: Final = Rule("viewer")
_OPERATE: Final = Rule("operator")
_CONFIGURE: Final = Rule("admin")
_ADMINISTER: Final = Rule("admin", everywhere=True)

RULES: Final[dict[str, Rule]] = {
    "readHealth": Rule(None),
    "readDocument": _READ,
    "readDocs": _READ,
    "readDocsFile": _READ,
    "readLogin": _READ,
    "listTasks": _READ,
    "readTask": _READ,
    "readHistory": _READ,
    "readPositions": _READ,
    "readSchema": _READ,
    "listMachines": _READ,
    "readMachine": _READ,
    "expectMachine": Rule("operator", everywhere=True),
    "unexpectMachine": Rule("operator", everywhere=True),
    "listProcesses": _READ,
    # Log lines are of all tasks.
    "readLog": Rule("operator", everywhere=True),
    "readCluster": _READ,
    "readOutgoing": _READ,
    "listAddresses": _READ,
    "readAddress": _READ,
    "listVersions": _READ,
    "listSecrets": _READ,
    "readVersion": _READ,
    "compareVersions": _READ,
    "listSilences": _READ,
    "silenceAlerts": _OPERATE,
    "unsilenceAlerts": _OPERATE,
    "listGroups": _READ,
    "readGroup": _READ,
    "rebalanceGroup": Rule("operator", everywhere=True),
    "drainMachine": Rule("operator", everywhere=True),
    "undrainMachine": Rule("operator", everywhere=True),
    "pinTask": _OPERATE,
    "unpinTask": _OPERATE,
    "moveTask": _OPERATE,
    "listSources": _READ,
    "readSource": _READ,
    "lockSource": Rule("operator", everywhere=True),
    "unlockSource": Rule("operator", everywhere=True),
    "listCutovers": _READ,
    "readCutover": _READ,
    # The tasks are compared with the selector of the login where they are known (`cutovers`).
    "beginCutover": _OPERATE,
    "cancelCutover": _OPERATE,
    "pauseTask": _OPERATE,
    "resumeTask": _OPERATE,
    "switchoverTask": _OPERATE,
    "maintainTask": _OPERATE,
    "maintainAll": Rule("operator", everywhere=True),
    "retryTask": _OPERATE,
    "restartTask": _OPERATE,
    "readCheck": _READ,
    "checkTask": _OPERATE,
    "skip": _OPERATE,
    "setPosition": _OPERATE,
    "quarantineTable": _OPERATE,
    "replayTable": _OPERATE,
    "startSnapshot": _OPERATE,
    "pauseSnapshot": _OPERATE,
    "resumeSnapshot": _OPERATE,
    "stopSnapshot": _OPERATE,
    "defineTable": _OPERATE,
    "reportVerification": _OPERATE,
    "readEditLock": _READ,
    "beginEdit": _CONFIGURE,
    "endEdit": _CONFIGURE,
    "createTask": _CONFIGURE,
    "replaceTask": _CONFIGURE,
    "deleteTask": _CONFIGURE,
    "forkTask": _CONFIGURE,
    "rollbackTask": _CONFIGURE,
    "setSecret": _CONFIGURE._replace(secret=True),
    "renewSecrets": _CONFIGURE,
    # Whoever sets an address decides where the passwords and rows of tasks go, as with a configuration.
    "setAddress": _ADMINISTER,
    "deleteAddress": _ADMINISTER,
    "listTokens": _ADMINISTER,
    "createToken": _ADMINISTER._replace(secret=True),
    "revokeToken": _ADMINISTER,
    "listUsers": _ADMINISTER,
    "createUser": _ADMINISTER._replace(secret=True),
    "setPassword": Rule("admin", everywhere=True, own=True, secret=True),
    "setUserRole": _ADMINISTER,
    "removeUser": _ADMINISTER,
    "readAudit": _ADMINISTER,
    "replaceOutgoing": _ADMINISTER,
    "removeOutgoing": _ADMINISTER,
}


def rule_of(operation: str) -> Rule:
    """Raises ProcessError E5072 for an operation without one."""
    rule = RULES.get(operation)
    if rule is None:
        fix = "Report it: the operation has no rule in the Server."
        raise ProcessError("E5072", "no role may do this", found=operation or "an unknown operation", fix=fix)
    return rule


def has_secret(operation: str) -> bool:
    return operation in RULES and RULES[operation].secret


def check(principal: Principal, operation: str, own_name: str = "") -> None:
    """own_name: the user that the operation is about. Raises ProcessError E5072, which names the role that is
    needed."""
    rule = rule_of(operation)
    if rule.role is None or (rule.own and principal.kind == "user" and principal.name == own_name):
        return
    if not principal.may(rule.role):
        raise ProcessError(
            "E5072",
            f"{principal.label} may not do this",
            found=f"role {principal.role}, operation {operation}",
            wanted=f"role {rule.role}" + (" or a role above it" if rule.role != "admin" else ""),
        )
    if rule.everywhere and principal.selector:
        raise ProcessError(
            "E5072",
            f"{principal.label} may not do this",
            found=f"role {principal.role} for tasks with {principal.selector}, operation {operation}",
            wanted=f"role {rule.role} without a selector",
        )
