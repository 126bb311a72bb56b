"""Error codes of processes: command line, Server, Core and their workers."""

from __future__ import annotations

from typing import Final

from replicator.codes.entry import Entry, table

CODES: Final[dict[str, Entry]] = table(
    "process",
    {
        "E5120": (
            "no such group",
            "There is no group of this name.",
            "See `replicator group get`; `replicator core --group NAME` starts a Core of a group.",
        ),
        "E5121": (
            "host cannot take the task",
            "The host is not an online member of the task's group that takes tasks, or has no room for it.",
            "See `replicator group describe GROUP`.",
        ),
        "E5122": (
            "task without a group",
            "Only a task with `group:` is pinned and moved; others run on any Core without a group.",
            "Use `replicator task switchover NAME --to HOST`, or set `group:` of the task.",
        ),
        "E5123": (
            "no such machine",
            "No machine of this name is online, expected, drained, or has ended on purpose.",
            "See `replicator machine get`.",
        ),
        "E5124": (
            "machine is online",
            "A machine that reports cannot be forgotten: it is expected again with its next report.",
            "Stop its Core or agent first.",
        ),
        "E5001": (
            "port in use",
            "Another process listens on the port.",
            "Choose another --listen address, or stop that process.",
        ),
        "E5002": (
            "host name in use",
            "Another Core, or another agent, has the same name.",
            "Start each with its own --host.",
        ),
        "E5003": ("no such task", "There is no task of this name.", "See `replicator task get`."),
        "E5004": ("task exists", "A task of this name exists.", "Use another name, or `task apply`."),
        "E5005": (
            "server not reachable",
            "The Server does not answer.",
            "Check that the Server runs, and --server or REPLICATOR_SERVER.",
        ),
        "E5006": (
            "not authorized",
            "The token is missing or wrong.",
            "Give the Server's token file with --token-file, or REPLICATOR_TOKEN.",
        ),
        "E5007": ("invalid state", "The task's state does not allow it.", "See `replicator task describe NAME`."),
        "E5008": (
            "worker process ended",
            "The worker process ended without an error message, or did not run for 10 s and was killed.",
            "See the logs of the Core and of the kernel (out of memory?). The worker is restarted.",
        ),
        "E5009": (
            "wait timed out",
            "The condition was not met in time.",
            "`replicator task describe NAME` shows the state; repeat the command to wait on.",
        ),
        "E5010": ("state file", "The local state file cannot be used.", "Check the path given with --state."),
        "E5011": (
            "internal error",
            "An unexpected error occurred in mysql-replicator.",
            "Report it with the log of the process.",
        ),
        "E5012": (
            "invalid address",
            "The process cannot listen on this address.",
            "Set --listen HOST:PORT to an address of this machine.",
        ),
        "E5013": ("no such route", "The API does not have this path or method.", "See /api/v1/openapi.json."),
        "E5014": (
            "schema history",
            "The schema history of a task cannot be read.",
            "Run the version that wrote it, or a newer one.",
        ),
        "E5015": (
            "task complete",
            "It has reached `source.until`.",
            "None required. To continue, remove `source.until`.",
        ),
        "E5016": (
            "not the failed transaction",
            "Only the transaction that a task has failed at can be skipped.",
            "`replicator task skip NAME --dry-run` shows that transaction.",
        ),
        "E5017": (
            "state file of another sink",
            "A state file belongs to one task and one sink, and this one belongs to another sink.",
            "Give the right file with --state.",
        ),
        "E5018": (
            "worker not started",
            "The host has no memory, too many processes or open files, or the Core's socket was removed.",
            "See the log of the Core; restart it if its socket under TMPDIR was removed.",
        ),
        "E5019": (
            "too few descriptors",
            "The limit of open files of this process is too low to lead a task.",
            "Raise it: LimitNOFILE= in the unit of the Core, or `ulimit -n`.",
        ),
        "E5020": (
            "foreign request",
            ("The Host header of a request is not a name of this process, or a page of another site sent the request."),
            "Use the address that the process listens on, or start it with --allowed-host NAME.",
        ),
        "E5021": (
            "plain HTTP",
            "On a network address, tokens and contents would be sent unencrypted.",
            (
                "A listener: give --tls-certificate and --tls-key, or listen on 127.0.0.1. A client: use https://. "
                "--insecure-http (REPLICATOR_INSECURE_HTTP=1 for clients) allows it."
            ),
        ),
        "E5031": (
            "target behind source",
            "`replicator verify` found rows that differ, and the target does not reach the position of the source.",
            "Start the task and wait until it has caught up; then run `replicator verify` again.",
        ),
        "E5032": (
            "verification not possible",
            (
                "`replicator verify` requires a sink of type kafka, mysql or mariadb, options that apply to this sink, "
                "and tables that do not change all the time."
            ),
            "Name such a task, and with --table tables that it replicates.",
        ),
        "E5033": (
            "state of verification not usable",
            "The file of --state cannot be read or written, or belongs to another task.",
            "Give another file, or delete it to begin again.",
        ),
        "E5040": (
            "result of another task",
            "A verification ended after its task was deleted and created again, so its result is not kept.",
            "Run `replicator verify NAME` again.",
        ),
        "E5041": (
            "repair not possible at present",
            "`verify --repair` locks the task's position row, and requires a task that only replicates changes.",
            "Bring the task into the state that is wanted; then run `replicator verify --repair` again.",
        ),
        "E5042": (
            "table cannot be repaired",
            "The two sides have no primary key with the same order, or the table is in quarantine.",
            "Correct the rows at the target by other means, or give the table a primary key.",
        ),
        "E5043": (
            "more rows to repair than allowed",
            "More rows differ than --max-repairs permits, so nothing is written: the target may be the wrong one.",
            "Look at the differences; then raise --max-repairs, or fill the table again.",
        ),
        "E5044": (
            "topics cannot be verified",
            "`replicator verify` reads records of whole rows in Debezium's format (JSON with the envelope), Maxwell's, "
            "and Canal's flat messages.",
            "Compare with a task that writes the same tables in one of these formats to other topics.",
        ),
        "E5045": (
            "topics are not repaired",
            "Records of a topic are not changed. A snapshot writes the present rows of a table behind them.",
            "`replicator task snapshot start NAME --table DATABASE.TABLE`; rows that only the topic has stay there.",
        ),
        "E5060": (
            "topics not deleted",
            "The task is deleted, and Kafka still has some of its topics.",
            "Delete them with Kafka's tools (kafka-topics.sh --delete --topic TOPIC), as an account that may.",
        ),
        "E5061": (
            "task without topics",
            "--purge-topics applies to tasks with `sink.type: kafka`.",
            "Omit --purge-topics; --purge deletes the position of a task of any kind.",
        ),
        "E5062": (
            "task was created again",
            "Topics are deleted behind their task, and a task of the name was there again: it may write to them.",
            "If they shall go, delete the new task with --purge-topics.",
        ),
        "E5050": (
            "no such process",
            "No running process of this kind has a pid file that `stop` looks at.",
            (
                "If it runs, start `stop` as its user; give --pid-file if it was started with it. See `replicator docs "
                "operations`."
            ),
        ),
        "E5051": (
            "pid file in use",
            "A running process has locked the pid file.",
            "Stop that process, or start this one with another --pid-file.",
        ),
        "E5052": (
            "pid file not usable",
            "The pid file cannot be read or written, or is another kind of file.",
            "Correct the path or its permissions, or give another --pid-file.",
        ),
        "E5053": (
            "several processes",
            "Several running processes fit what was given to `stop`. None was stopped.",
            "Choose one with --pid, --host, --zookeeper, --root or --pid-file.",
        ),
        "E5054": (
            "process of a service manager",
            "The process is a service of systemd, which would start it again.",
            "Stop the service with `systemctl stop`.",
        ),
        "E5055": (
            "ended by an error",
            "The process was killed, or an error ended it, while it was stopping. A Core that starts later sends again "
            "what was not acknowledged.",
            "See the log of the process.",
        ),
        "E5080": (
            "TLS files not usable",
            "The certificate, key or authorities given for TLS cannot be read or do not belong together.",
            "Give PEM files: the certificate with its chain, and its key without a password.",
        ),
        "E5081": (
            "TLS key readable by others",
            "Other users of the machine can read the key, so others than the process can impersonate it.",
            "Give it to the user of the process with mode 600. Root may own it with mode 640.",
        ),
        "E5082": (
            "malformed HTTP request",
            (
                "The request is not valid HTTP/1.1, is too large, or could be read in two ways (two lengths, lines "
                "without CR LF)."
            ),
            "Use another client; if there is a proxy in between, see what it sends.",
        ),
        "E5083": (
            "HTTP request too slow",
            "The request was not complete within the time that is allowed for its head or body.",
            "Repeat it over a faster connection.",
        ),
        "E5084": (
            "too many connections",
            "The process serves as many connections as --max-connections allows, or as many from this address.",
            "Close some, try again later, or raise --max-connections or --max-connections-per-address.",
        ),
        "E5085": (
            "too many failed logins",
            "After several failed logins from an address each further attempt has to wait, up to a minute.",
            "Check the token, or user and password, and try again after the time given.",
        ),
        "E5086": (
            "TLS certificate not trusted",
            "The certificate is not signed by an authority that the other side trusts, or a certificate is missing.",
            (
                "Give the authority of the server with --ca-file or REPLICATOR_CA_FILE; where the server requires a "
                "client certificate, also --client-certificate and --client-key."
            ),
        ),
        "E5087": (
            "TLS certificate of another name",
            "The certificate of the server does not contain the host name of the address.",
            "Use a host name that the certificate contains, or give the server a certificate with this name.",
        ),
        "E5088": (
            "TLS certificate expired",
            "The certificate has expired, or is not valid yet by the clock of this machine.",
            "Renew it; check the clock of this machine.",
        ),
        "E5089": (
            "HTTP and HTTPS mixed up",
            "The address begins with http:// and the server expects TLS, or the other way round.",
            "Use https:// for a process with --tls-certificate, and http:// for one without.",
        ),
        "E5090": (
            "no such version",
            "The task has no such version of its configuration, or does not keep it: of all, the newest 100 are kept.",
            "`replicator task versions NAME` lists the versions that are kept.",
        ),
        "E5091": (
            "editor failed",
            "The editor could not be started or reported an error, so nothing was changed.",
            "Set EDITOR to the command of an editor that waits until the file is closed, such as `vi`.",
        ),
        "E5092": (
            "prune refused",
            "`apply --prune` would delete every task that the selector or the applied set covers.",
            "Check the path given with -f, and the selector. To delete all of them: `replicator task delete`.",
        ),
        "E5093": (
            "configuration of the command line",
            "The file of contexts cannot be read or written, or has no such context.",
            "`replicator config get-contexts` lists the contexts; `replicator config set-context` writes one.",
        ),
    },
)
