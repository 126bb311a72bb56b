"""Error codes of configurations."""

from __future__ import annotations

from typing import Final

from replicator.codes.entry import Entry, table

CODES: Final[dict[str, Entry]] = table(
    "config",
    {
        "E1001": ("syntax error", "The text is not valid YAML or JSON.", "Correct the syntax at the line shown."),
        "E1002": (
            "unknown key",
            "The configuration has a key that does not exist. Unknown keys are never ignored.",
            "Remove or correct the key.",
        ),
        "E1003": (
            "invalid value",
            "A value of wrong type or out of range.",
            "Correct the value; `replicator explain task` describes every key of a configuration.",
        ),
        "E1004": ("missing key", "A required key is absent.", "Add it."),
        "E1005": (
            "literal secret",
            "Configurations hold references to secrets, never secrets.",
            "Use env:NAME or file:/path.",
        ),
        "E1006": (
            "secret not resolvable",
            "The variable or file that the reference names does not exist or cannot be read.",
            "Set the variable, or create the file, on every host whose Core may run the task.",
        ),
        "E1007": ("invalid name", "Kafka or ZooKeeper does not allow this name.", "Choose another name."),
        "E1008": ("too large", "The text is too long or too deeply nested.", "Shorten the text, or remove levels."),
        "E1009": (
            "identity changed",
            "A key on which the meaning of the stored position depends cannot be changed.",
            "Restore the former value, or create a task with another name.",
        ),
        "E1010": (
            "invalid filter",
            "The syntax of the filter is wrong (`replicator docs transforms`).",
            "Correct the filter.",
        ),
        "E1011": (
            "transforms do not match tables",
            "A transform names a table or column that the source does not have.",
            "Correct the transform.",
        ),
        "E1012": (
            "secret not allowed",
            "The process does not allow tasks to use this secret, TLS file or command.",
            (
                "Move it to an allowed directory, or start the Cores with --secrets-directory, "
                "--secrets-env-prefix or --commands-directory."
            ),
        ),
        "E1013": (
            "state in a configuration",
            "Tables are put in quarantine by commands, not by the configuration.",
            ("Remove the key and use `replicator task quarantine NAME DATABASE.TABLE`; --release ends the quarantine."),
        ),
        "E1014": (
            "file not readable",
            "The file of the task does not exist or cannot be read.",
            "Check the path given with -f, and the permissions of the file.",
        ),
        "E1040": (
            "sealed secret of another field",
            "A sealed secret opens only in the field, task and installation that it was sealed for. This one was "
            "copied, or changed.",
            "`replicator task secret set NAME FIELD` seals it for this field.",
        ),
        "E1041": (
            "cluster key missing",
            "The secret is sealed under a cluster key that this host does not have.",
            "Copy the cluster key file to the host, mode 0600, and start the process with --cluster-key-file.",
        ),
        "E1042": (
            "sealed secret outside the cluster",
            "Sealed secrets are opened by Cores alone, for the tasks that they run.",
            "Use env:NAME or file:/path in files for `run -f`, `check -f` and `verify -f`.",
        ),
        "E1043": (
            "cluster key file not usable",
            "The file is missing, open to other users, or has no key.",
            "`replicator cluster new-key FILE` makes one; `chmod 600 FILE`.",
        ),
        "E1044": (
            "no such secret field",
            "The task has no secret in this field.",
            "`replicator task secret list NAME` shows the fields; others are added by `replicator task apply`.",
        ),
        "E1045": (
            "secrets under an old key",
            "Some secrets could not be sealed under the new key. Keep the old key until they are.",
            "Correct what each error says, then `replicator cluster rotate-key` again.",
        ),
        "E1046": (
            "secret not available",
            "The program of a `command:` secret failed, printed nothing, or took longer than 20 s. It is run again.",
            "Run it as the user of the Core, and correct what it says. The task retries.",
        ),
        "E1050": (
            "outgoing address not allowed",
            "The list of outgoing addresses of this host or of the cluster does not have the address of a server that "
            "the task uses, or that a server of it named (a broker, for instance), or an address that was to be set in "
            "the address book. Nothing was sent to it.",
            "Correct the address in the configuration, or add it to the list (`replicator docs security`): "
            "--allow-outgoing of each Core and Server, or `replicator cluster outgoing set`. Then "
            "`replicator task retry NAME`.",
        ),
        "E1051": (
            "invalid list of outgoing addresses",
            "An entry is neither a host name nor a network, or there is none.",
            "Correct the entry: db1.example.com, *.example.com, 10.0.0.0/8, [2001:db8::/32]:9092; `none` alone permits "
            "nothing.",
        ),
        "E1030": (
            "invalid label",
            "A key or a value of `labels` has characters that are not allowed, or there are too many labels.",
            "Correct the label (`replicator explain labels`).",
        ),
        "E1031": (
            "invalid selector",
            "The text does not choose tasks by their labels.",
            "Write requirements separated by commas: env=prod, env!=prod, 'env in (a,b)', env, '!env'.",
        ),
    },
)
