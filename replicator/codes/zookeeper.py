"""Error codes of ZooKeeper."""

from __future__ import annotations

from typing import Final

from replicator.codes.entry import Entry, table

CODES: Final[dict[str, Entry]] = table(
    "zookeeper",
    {
        "E4001": (
            "ZooKeeper not reachable",
            "No connection to ZooKeeper could be made.",
            "Check that a majority of the ZooKeeper servers runs and is reachable from this host, and --zookeeper. The "
            "process retries.",
        ),
        "E4002": (
            "request not confirmed",
            "ZooKeeper is not connected: the request was not sent, or its outcome is unknown.",
            "A process repeats the request itself. After a command, see `replicator task describe NAME`, and repeat "
            "the "
            "command if it was not carried out.",
        ),
        "E4003": (
            "session expired",
            "The ZooKeeper session has expired and its ephemeral znodes are deleted.",
            "None required: the process joins the election again, at the end of the queue.",
        ),
        "E4004": (
            "znode missing",
            "The znode does not exist.",
            "Repeat the command. A znode that is missing again was deleted manually, or the root znode is another one: "
            "check --root.",
        ),
        "E4005": (
            "znode exists",
            "The znode already exists.",
            "Repeat the command: another process has made the same change in the meantime.",
        ),
        "E4006": (
            "version conflict",
            "Another process has changed it.",
            "Read it again, and repeat the change if it is still wanted.",
        ),
        "E4007": (
            "not authorized",
            "A ZooKeeper ACL denies the operation.",
            "Run `replicator check --security` with the login of an administrator: it names the nodes whose ACL "
            "deviates. `replicator cluster secure` sets them.",
        ),
        "E4008": (
            "leadership lost",
            "The lease has ended or the election znode is gone. The task stops sending.",
            "None required: the process joins the election again, at the end of the queue.",
        ),
        "E4009": (
            "znode not readable",
            "A znode has content that no version of mysql-replicator has written.",
            "Delete the znode that is named if another program has created it. A configuration is written again by "
            "`replicator task apply -f FILE`, a task by `replicator cluster restore FILE --task NAME --overwrite`.",
        ),
        "E4010": (
            "newer format",
            "A znode was written by a newer version.",
            "Upgrade this process to the version that the other processes have. See `replicator docs upgrade`.",
        ),
        "E4011": (
            "too large",
            "The request exceeds the ZooKeeper limit of 1 MB.",
            "Shorten the configuration: patterns instead of lists of tables, shorter filters.",
        ),
        "E4012": (
            "position behind",
            "The new position of a task is before its last commit. It was not written.",
            "See `replicator task position get NAME`; `replicator task fork` reads from an earlier position.",
        ),
        "E4050": (
            "group without room",
            "No Core of the group has capacity for the weight of the task. Where the task runs already, it continues.",
            "Start another Core with `--group`, raise `--capacity`, or lower `weight` or `standbys` of tasks; "
            "`replicator group describe GROUP` shows the load, and `replicator docs operations` explains groups.",
        ),
        "E4051": (
            "group without a Core",
            "No Core of the group is online and takes tasks. Where the task runs already, it continues.",
            "Start a Core with `--group GROUP`, or end a drain: `replicator machine undrain HOST`.",
        ),
        "E4030": (
            "login refused",
            "ZooKeeper does not accept the login of this process, or the login is not an identity of /security.",
            "Check user and password of --zookeeper-config, and the identities: `replicator cluster identities`. See "
            "`replicator docs security`. The process retries and reads its files again.",
        ),
        "E4031": (
            "server certificate not accepted",
            "The certificate of a ZooKeeper server is not valid: another authority, expired, or of another host name.",
            "Correct the certificate of the server, or `ca` of --zookeeper-config. The process retries.",
        ),
        "E4032": (
            "client certificate not accepted",
            "A ZooKeeper server refuses the certificate of this process, or requires one.",
            "Set `cert` and `key` of --zookeeper-config to a certificate that the servers accept. The process retries.",
        ),
        "E4033": (
            "TLS on one side only",
            "The port speaks TLS and this process does not, or the reverse.",
            "Use the secureClientPort in --zookeeper together with `tls = yes`, or the clientPort without.",
        ),
        "E4034": (
            "ZooKeeper not secured",
            "ZooKeeper is on another machine, and this process has no TLS or no login.",
            "Set --zookeeper-config: see `replicator docs security`. With --insecure-zookeeper the process starts, "
            "and its health check says so.",
        ),
        "E4035": (
            "root without identities",
            "The process has a login, and the root znode has no record of identities, so every znode would be open.",
            "Run `replicator cluster init`, or `replicator cluster secure` for existing tasks. Until then start with "
            "--insecure-zookeeper.",
        ),
        "E4036": (
            "login or TLS file not usable",
            "A file or value of the ZooKeeper login cannot be used.",
            "Correct the value: `replicator docs security` shows the keys of --zookeeper-config.",
        ),
        "E4037": (
            "login of another role",
            "The login is known at /security, for another kind of process.",
            "Give each of Core, Server and Monitor its own login: `replicator cluster identities` lists them.",
        ),
        "E4038": (
            "identities cannot be changed so",
            "The change would leave a role without an identity, or the record exists already.",
            "See `replicator cluster identities`, and `replicator docs security` for the order of the steps.",
        ),
    },
)
