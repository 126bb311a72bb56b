"""Examples of the OpenAPI document: a body for each operation that has one, and an answer for each schema."""

from __future__ import annotations

from typing import Any, Final

_TIME: Final = 1_764_081_600_000
_NAME: Final = "orders"
_GTID: Final = "3e11fa47-71ca-11e1-9e33-c80aa9429562:1-981"
_POSITION: Final = "binlog.000003:4711"
CONFIG: Final[dict[str, Any]] = {
    "name": _NAME,
    "labels": {"env": "prod"},
    "source": {
        "type": "mysql",
        "host": "db.example.com",
        "port": 3306,
        "user": "replicator",
        "password": "env:REPL_PASSWORD",
        "tables": ["shop.*"],
    },
    "sink": {"type": "kafka", "bootstrap_servers": ["kafka.example.com:9092"]},
}
_REASON: Final = {"reason": "new switches"}
_PROBLEM: Final = {
    "code": "E2001",
    "what": "db.example.com:3306 can't be reached",
    "found": "connection refused",
    "wanted": "",
    "fix": "Check that the server runs.",
    "position": "",
}
_ENTRY: Final = {
    "time_ms": _TIME,
    "position": _POSITION,
    "file": "binlog.000003",
    "offset": 4711,
    "gtid": _GTID,
    "rows": 1200,
    "transactions": 310,
}
_TASK: Final = {
    "apiVersion": "v1",
    "kind": "Task",
    "name": _NAME,
    "version": 3,
    "state": "running",
    "desired": "running",
    "host": "core-a",
    "standbys": ["core-b"],
    "instances": [],
    "position": _POSITION,
    "gtid": _GTID,
    "lag_s": 0.1,
    "config": CONFIG,
}
_TOKEN: Final = {
    "name": "ci",
    "role": "operator",
    "selector": "env=prod",
    "created_by": "token:server@127.0.0.1",
    "created_ms": _TIME,
    "expires_ms": _TIME + 90 * 86_400_000,
    "expired": False,
    "secret": "",
}
_PROCESS: Final = {
    "id": "2f1b7c0e4f2d4d0e9d7f0d7b1f6a2c3e",
    "type": "server",
    "name": "server-a",
    "pid": 4711,
    "address": "https://server-a:8080",
}
_USER: Final = {
    "apiVersion": "v1",
    "kind": "User",
    "name": "ann",
    "role": "admin",
    "selector": "",
    "created_by": "token:server@127.0.0.1",
    "created_ms": _TIME,
    "version": 0,
}
_GROUP: Final = {
    "apiVersion": "v1",
    "kind": "Group",
    "name": "blue",
    "capacity": 100,
    "weight": 1,
    "unplaced": 0,
    "short": 0,
    "members": [
        {"host": "core-a", "capacity": 100, "weight": 1, "draining": False, "leaving": False, "tasks": [_NAME]}
    ],
    "tasks": [{"name": _NAME, "weight": 1, "standbys": 0, "pin": "", "hosts": ["core-a"], "problem": None}],
}
_VERSION: Final = {
    "number": 3,
    "time_ms": _TIME,
    "by": "ann@10.0.0.7",
    "change": "configured",
    "reason": "larger batches",
    "restores": None,
    "current": True,
}
_ADDRESS: Final = {
    "name": "shop/orders",
    "version": 4,
    "address": "db2.example.com:3306",
    "role": "primary",
    "by": "ann@10.0.0.7",
    "time_ms": _TIME,
    "reason": "db1 is being replaced",
    "tasks": [_NAME],
    "probe": {"answers": True, "address": "db2.example.com:3306", "since_ms": _TIME, "code": "", "found": ""},
    "problem": None,
    "earlier": [],
}

BODIES: Final[dict[str, Any]] = {
    "createTask": CONFIG,
    "replaceTask": CONFIG,
    "pauseTask": _REASON,
    "resumeTask": _REASON,
    "switchoverTask": {"to": "core-b", **_REASON},
    "rebalanceGroup": _REASON,
    "pinTask": {"to": "core-b", **_REASON},
    "unpinTask": _REASON,
    "moveTask": {"to": "core-b", **_REASON},
    "drainMachine": _REASON,
    "undrainMachine": _REASON,
    "maintainAll": {"on": "true", **_REASON},
    "maintainTask": {"on": "true", **_REASON},
    "retryTask": _REASON,
    "restartTask": _REASON,
    "setPosition": {"file": "binlog.000003", "offset": "4711", "reason": "restored from a backup"},
    "skip": {"transaction": "3e11fa47-71ca-11e1-9e33-c80aa9429562:982", "reason": "a row that is too large"},
    "forkTask": {"name": "orders_again", "at": "2026-11-25T12:00:00Z"},
    "quarantineTable": {"table": "shop.cart", "reason": "a column that is not understood"},
    "replayTable": {"table": "shop.cart"},
    "startSnapshot": {"tables": ["shop.cart"], "where": "id > 1000"},
    "pauseSnapshot": _REASON,
    "resumeSnapshot": _REASON,
    "stopSnapshot": _REASON,
    "reportVerification": {
        "uid": "0b7f7c0e4f2d4d0e9d7f0d7b1f6a2c3e",
        "version": 3,
        "began_ms": _TIME,
        "ended_ms": _TIME + 60_000,
        "host": "ops-1",
        "whole": True,
        "tables": [],
    },
    "defineTable": {"statement": "CREATE TABLE shop.cart (id INT PRIMARY KEY)", "reason": "a comment in the middle"},
    "setSecret": {"field": "source.password", "secret": "correct horse battery staple", "reason": "rotated"},
    "rollbackTask": {"to": "2", "reason": "batches were too large"},
    "setAddress": {"address": "db2.example.com:3306", "role": "primary", "reason": "db1 is being replaced"},
    "createToken": {"name": "ci", "role": "operator", "selector": "env=prod", "expires_s": 7_776_000},
    "createUser": {"name": "ann", "password": "correct horse battery", "role": "admin"},
    "setPassword": {"password": "correct horse battery"},
    "setUserRole": {"role": "operator", "selector": "env=prod"},
}

ANSWERS: Final[dict[str, Any]] = {
    "Task": _TASK,
    "TaskList": {"apiVersion": "v1", "kind": "TaskList", "items": [_TASK]},
    "HistoryList": {
        "apiVersion": "v1",
        "kind": "History",
        "name": _NAME,
        "items": [
            {
                "number": 12,
                "event": "pause",
                "time_ms": _TIME,
                "host": "",
                "epoch": 0,
                "position": "",
                "by": "ann@10.0.0.7",
                "reason": "new switches",
                "seconds": 0.0,
            }
        ],
    },
    "SecretList": {
        "apiVersion": "v1",
        "kind": "SecretList",
        "name": _NAME,
        "items": [{"field": "source.password", "source": "sealed, key 54b571a6"}],
    },
    "Renewed": {"apiVersion": "v1", "kind": "Renewed", "name": _NAME, "fields": ["source.password"]},
    "MachineList": {
        "apiVersion": "v1",
        "kind": "MachineList",
        "items": [{"name": "core-a", "age_s": 0.4, "host": "core-a", "tasks": {_NAME: "running"}}],
    },
    "Group": _GROUP,
    "GroupList": {"apiVersion": "v1", "kind": "GroupList", "items": [_GROUP]},
    "Moves": {
        "apiVersion": "v1",
        "kind": "Moves",
        "items": [{"task": _NAME, "before": ["core-a"], "after": ["core-b"]}],
        "done": True,
    },
    "Drain": {"apiVersion": "v1", "kind": "Drain", "host": "core-a", "draining": True, "tasks": [_NAME]},
    "ProcessList": {"apiVersion": "v1", "kind": "ProcessList", "items": [_PROCESS]},
    "ProcessLog": {
        "apiVersion": "v1",
        "kind": "ProcessLog",
        "process": _PROCESS,
        "lines": "2026-11-25T12:00:00Z [info] registered component=server\n",
    },
    "Accepted": {
        "apiVersion": "v1",
        "kind": "Command",
        "id": "command-0000000004",
        "task": _NAME,
        "verb": "switchover",
        "to": "core-b",
    },
    "Maintained": {"apiVersion": "v1", "kind": "Maintenance", "task": _NAME, "on": True},
    "PositionHistory": {"apiVersion": "v1", "kind": "PositionHistory", "name": _NAME, "items": [_ENTRY]},
    "PositionChanged": {
        "apiVersion": "v1",
        "kind": "PositionChanged",
        "task": _NAME,
        "before": _ENTRY,
        "after": _ENTRY | {"offset": 4},
        "direction": "back",
        "repeats": "4707 bytes of binlog.000003",
        "skips": "",
        "done": True,
    },
    "Skipped": {
        "apiVersion": "v1",
        "kind": "Skipped",
        "task": _NAME,
        "transaction": "3e11fa47-71ca-11e1-9e33-c80aa9429562:982",
        "begins": _POSITION,
        "rows": 0,
        "problem": _PROBLEM,
        "after": _ENTRY,
        "done": True,
    },
    "Schema": {"apiVersion": "v1", "kind": "Schema", "name": _NAME, "items": []},
    "VersionList": {"apiVersion": "v1", "kind": "VersionList", "name": _NAME, "items": [_VERSION]},
    "TaskVersion": {
        "apiVersion": "v1",
        "kind": "TaskVersion",
        "name": _NAME,
        "number": 3,
        "time_ms": _TIME,
        "by": "ann@10.0.0.7",
        "config": CONFIG,
    },
    "VersionDiff": {
        "apiVersion": "v1",
        "kind": "VersionDiff",
        "name": _NAME,
        "from": 2,
        "to": 3,
        "diff": "--- orders version 2\n+++ orders version 3\n-  port: 3306\n+  port: 3307\n",
    },
    "Address": {"apiVersion": "v1", "kind": "Address"} | _ADDRESS,
    "AddressList": {"apiVersion": "v1", "kind": "AddressList", "items": [_ADDRESS]},
    "TokenList": {"apiVersion": "v1", "kind": "TokenList", "items": [_TOKEN]},
    "TokenCreated": {
        "apiVersion": "v1",
        "kind": "TokenCreated",
        "token": _TOKEN | {"secret": "repl_8b1a9953c4611296_..."},
    },
    "User": _USER,
    "UserList": {"apiVersion": "v1", "kind": "UserList", "items": [_USER]},
    "Login": {
        "apiVersion": "v1",
        "kind": "Login",
        "login": "token",
        "name": "ci",
        "label": "token:ci",
        "role": "operator",
        "selector": "env=prod",
    },
    "Audit": {
        "apiVersion": "v1",
        "kind": "Audit",
        "items": [
            {
                "time_ms": _TIME,
                "by": "ann",
                "role": "admin",
                "address": "10.0.0.7",
                "server": "server-a",
                "operation": "replaceTask",
                "task": _NAME,
                "outcome": "done",
                "status": 200,
                "changes": [{"key": "source.port", "before": 3306, "after": 3307}],
            }
        ],
    },
    "Cluster": {"apiVersion": "v1", "kind": "Cluster", "installation": "3f0c9a1be27d"},
    "Health": {"apiVersion": "v1", "kind": "Health", "status": "ok", "zookeeper": "connected", "warnings": []},
}
