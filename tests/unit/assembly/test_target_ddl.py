"""Statements of the source as records for a database: names, policy, and batches of their own."""

from __future__ import annotations

import re
from typing import Any, ClassVar

import msgspec
import pytest

from replicator.assembly.planners import Planners
from replicator.config.load import parse_task
from replicator.decode.decoder import BinlogDecoder
from replicator.decode.native.compiled_decoder import CompiledDecoder, decoder_class
from replicator.model.batch import Batch
from replicator.model.metadata_event import Moment, Statement, StatementSettings, TableChange, TableKey
from replicator.model.position import Position
from replicator.model.table import Column, Declared, Table
from replicator.model.target_statement import TargetStatement
from replicator.model.target_table import STATEMENT
from tests.unit.decode.binlog_writer import server_error
from tests.unit.transform.changes import ANN, USERS, Script

MOMENT = Moment(1_700_000_000, 0, 0, "", "", "binlog.000001", 4, 100, 1)


def planners(transforms: dict[str, Any] | None = None, sink: dict[str, Any] | None = None, **source: Any) -> Planners:
    data = {
        "name": "copy",
        "source": {"type": "mysql", "user": "u", "password": "env:P", "tables": ["shop.*", "!shop.log"], **source},
        "sink": {"type": "mysql", "user": "w", "password": "env:P", **(sink or {})},
        "transforms": transforms or {},
    }
    return Planners(parse_task(data))


def told(made: Planners, text: str, *changes: TableChange, kind: str = "") -> TargetStatement | None:
    words = kind or " ".join(text.split()[:2]).upper()
    messages = made.narrator.statement(Statement("shop", text, words, changes), MOMENT)
    if not messages:
        return None
    (message,) = messages
    assert message.topic == STATEMENT
    return msgspec.json.decode(message.value or b"", type=TargetStatement)


def table(name: str, *columns: tuple[str, str], charset: str | None = None) -> Table:
    made = tuple(
        Column(
            place, column, 3, declared=Declared(kind, charset=charset, collation=f"{charset}_x" if charset else None)
        )
        for place, (column, kind) in enumerate(columns)
    )
    return Table("shop", name, made, charset=charset)


RENAMED = {"rename": [{"tables": ["shop.*"], "database": "store"}]}


def test_names_of_the_target() -> None:
    statement = told(planners(RENAMED), "ALTER TABLE item ADD c INT")
    assert statement is not None
    assert (statement.action, statement.sql) == ("apply", "ALTER TABLE `store`.`item` ADD c INT")
    assert statement.tables == (("store", "item"),)
    assert statement.source == "ALTER TABLE item ADD c INT"
    assert statement.time_s == MOMENT.event_s


def test_databases() -> None:
    made = planners(RENAMED, {"ddl": "apply"})
    statement = told(made, "DROP DATABASE shop")
    assert statement is not None
    assert (statement.sql, statement.databases) == ("DROP DATABASE `store`", ("store",))
    partly = planners({"rename": [{"tables": ["shop.a*"], "database": "store"}]}, {"ddl": "apply"})
    refused = told(partly, "DROP DATABASE shop")
    assert refused is not None
    assert refused.action == "stop" and "only some tables" in refusal(refused)


def refusal(statement: TargetStatement) -> str:
    assert statement.sql == "" and statement.fix
    return statement.refusal


@pytest.mark.parametrize(
    ("ddl", "text", "action"),
    [
        (None, "ALTER TABLE item ADD c INT", "apply"),
        (None, "DROP TABLE item", "apply"),
        (None, "DROP DATABASE shop", "stop"),
        (None, "CREATE VIEW v AS SELECT 1", None),
        ("stop", "ALTER TABLE item ADD c INT", "stop"),
        ("stop", "GRANT ALL ON *.* TO x", None),
        ("ignore", "DROP TABLE item", None),
        ({"drop_table": "ignore"}, "DROP TABLE item", None),
        ({"drop_table": "stop"}, "DROP TABLE item", "stop"),
        ({"drop_table": "stop"}, "TRUNCATE TABLE item", "apply"),
        ({"others": "stop"}, "CREATE VIEW v AS SELECT 1", "stop"),
        (None, "ALTER TABLE log ADD c INT", None),
    ],
)
def test_policy(ddl: Any, text: str, action: str | None) -> None:
    statement = told(planners(sink={} if ddl is None else {"ddl": ddl}), text)
    assert (statement.action if statement is not None else None) == action


def test_excluded_columns() -> None:
    before, after = table("item", ("id", "INT"), ("pin", "INT")), table("item", ("id", "INT"), ("pin", "CHAR"))
    made = planners({"columns": [{"tables": ["shop.item"], "exclude": ["pin"]}]})
    change = TableChange("ALTER", "shop", "item", after, None, before)
    assert told(made, "ALTER TABLE item MODIFY pin CHAR(4)", change) is None
    kept = told(made, "ALTER TABLE item MODIFY pin CHAR(4), ADD KEY (id)", change)
    assert kept is not None and kept.sql == "ALTER TABLE `shop`.`item` ADD KEY (id)"
    unknown = told(made, "ALTER TABLE item MODIFY pin CHAR(4)")
    assert unknown is not None and "not known" in refusal(unknown)


def test_the_character_set_that_a_table_inherits() -> None:
    change = TableChange("CREATE", "shop", "item", table("item", ("a", "TEXT"), charset="latin1"))
    statement = told(planners(), "CREATE TABLE item (a TEXT) ENGINE=InnoDB", change)
    assert statement is not None
    assert statement.sql == (
        "CREATE TABLE `shop`.`item` (a TEXT) DEFAULT CHARACTER SET latin1 COLLATE latin1_x ENGINE=InnoDB"
    )
    said = told(planners(), "CREATE TABLE item (a TEXT) CHARSET=utf8mb4", change)
    assert said is not None and said.sql.endswith("(a TEXT) CHARSET=utf8mb4")


@pytest.mark.parametrize(
    ("text", "keyed", "refused"),
    [
        ("ALTER TABLE item ADD n INT AUTO_INCREMENT UNIQUE", False, True),
        ("ALTER TABLE item ADD n INT AUTO_INCREMENT UNIQUE", True, False),
        ("ALTER TABLE item ADD u CHAR(36) DEFAULT (UUID())", True, True),
        ("ALTER TABLE item MODIFY u CHAR(36) DEFAULT (UUID())", True, False),
        ("ALTER TABLE item ADD n INT DEFAULT (1 + 1)", True, False),
        ("ALTER TABLE item AUTO_INCREMENT = 5", False, False),
    ],
)
def test_columns_whose_values_each_server_chooses(text: str, keyed: bool, refused: bool) -> None:
    before = msgspec.structs.replace(table("item", ("id", "INT")), primary_key=(0,) if keyed else ())
    statement = told(planners(), text, TableChange("ALTER", "shop", "item", before, None, before))
    assert statement is not None
    assert (statement.action == "stop") == refused


def test_letters_that_a_server_folds() -> None:
    change = TableChange("ALTER", "shop", "item", table("item", ("id", "INT")))
    statement = told(planners(RENAMED), "ALTER TABLE Shop.Item ADD c INT", change)
    assert statement is not None and statement.sql == "ALTER TABLE `store`.`item` ADD c INT"


class TestOnlineSchemaChange:
    """gh-ost: RENAME TABLE item TO _item_del, _item_gho TO item."""

    TEXT = "RENAME TABLE item TO _item_del, _item_gho TO item"

    def told(self, before: Table, after: Table, keys: tuple[TableKey, ...] = ()) -> TargetStatement | None:
        kept = (TableKey("PRIMARY", ("id",), True),)
        return told(
            planners(RENAMED),
            self.TEXT,
            TableChange("RENAME", "shop", "item", before, ("shop", "_item_del"), before, kept),
            TableChange("RENAME", "shop", "_item_gho", after, ("shop", "item"), None, keys or kept),
        )

    def test_the_difference_is_an_alter_table(self) -> None:
        before = table("item", ("id", "INT"), ("a", "INT"), ("z", "INT"))
        after = table("item", ("id", "INT"), ("a", "BIGINT"), ("n", "DATE"), ("z", "INT"))
        statement = self.told(before, after, (TableKey("PRIMARY", ("id",), True), TableKey("k", ("a", "n"))))
        assert statement is not None
        assert statement.sql == (
            "ALTER TABLE `store`.`item` MODIFY COLUMN `a` BIGINT NULL, ADD COLUMN `n` DATE NULL AFTER `a`, "
            "ADD KEY `k` (`a`, `n`)"
        )

    def test_nothing_changes(self) -> None:
        same = table("item", ("id", "INT"))
        assert self.told(same, same) is None

    def test_a_column_that_may_be_renamed_is_refused(self) -> None:
        statement = self.told(table("item", ("id", "INT"), ("a", "INT")), table("item", ("id", "INT"), ("b", "INT")))
        assert statement is not None and "may have become the other" in refusal(statement)


class TestMergedTables:
    """shop_00.item, shop_01.item -> shop.item."""

    RENAME: ClassVar = {"tables": ["shop_*.item"], "database": "shop"}
    ADD: ClassVar = {"match": r"shop_(\d+)\.item", "columns": {"shard": "$1"}, "key": True}

    def told(self, text: str, *changes: TableChange, disjoint: bool = False) -> TargetStatement | None:
        rename = self.RENAME | ({"keys": "disjoint"} if disjoint else {})
        transforms = {"rename": [rename]} | ({} if disjoint else {"add": [self.ADD]})
        made = planners(transforms, {"ddl": "apply"}, tables=["shop_*.*"])
        words = " ".join(text.replace("OR REPLACE ", "").split()[:2]).upper()
        messages = made.narrator.statement(Statement("shop_00", text, words, changes), MOMENT)
        return msgspec.json.decode(messages[0].value or b"", type=TargetStatement) if messages else None

    def item(self, *columns: tuple[str, str]) -> Table:
        return msgspec.structs.replace(table("item", *columns), database="shop_00", primary_key=(0,))

    def test_what_the_sink_compares(self) -> None:
        before, after = self.item(("id", "INT")), self.item(("id", "INT"), ("a", "INT"))
        change = TableChange("ALTER", "shop_00", "item", after, None, before)
        made = self.told("ALTER TABLE item ADD a INT, ADD UNIQUE (a)", change)
        assert made is not None and made.shard is not None and made.shard.before is not None
        assert made.sql == "ALTER TABLE `shop`.`item` ADD a INT, ADD UNIQUE (a, `shard`)"
        assert [column.name for column in made.shard.before.columns] == ["id", "shard"]
        assert [column.name for column in made.shard.after.columns] == ["id", "a", "shard"]
        assert made.shard.indexes == (TableKey("", ("a", "shard"), True),)
        created = self.told("CREATE TABLE item (id INT PRIMARY KEY)", TableChange("CREATE", "shop_00", "item", before))
        assert created is not None and created.shard is not None and created.shard.before is None

    @pytest.mark.parametrize("disjoint", [False, True])
    @pytest.mark.parametrize(
        ("text", "verb", "reason"),
        [
            ("DROP TABLE item", "DROP", "several tables that are merged"),
            ("TRUNCATE TABLE item", "TRUNCATE", "several tables that are merged"),
            ("RENAME TABLE item TO log", "RENAME", "is renamed"),
            ("CREATE OR REPLACE TABLE item (id INT)", "CREATE", "several tables that are merged"),
            ("ALTER TABLE item TRUNCATE /* all */ PARTITION p", "ALTER", "several tables that are merged"),
            ("ALTER TABLE item DROP PARTITION p", "ALTER", "several tables that are merged"),
            ("ALTER TABLE item ADD a INT AUTO_INCREMENT UNIQUE", "ALTER", "values of a when each"),
            ("ALTER TABLE item ADD a TIMESTAMP DEFAULT CURRENT_TIMESTAMP", "ALTER", "values of a when each"),
            ("ALTER TABLE item ADD b INT", "", "names shop_00.item|definition is not known|merged"),
        ],
    )
    def test_refused(self, text: str, verb: Any, reason: str, *, disjoint: bool) -> None:
        known = self.item(("id", "INT"))
        new_name = ("shop_00", "log") if verb == "RENAME" else None
        changes = [TableChange(verb, "shop_00", "item", known, new_name, known)] if verb else []
        made = self.told(text, *changes, disjoint=disjoint)
        assert made is not None and re.search(reason, refusal(made)), made
        if verb == "DROP" and not disjoint:
            assert "`shard` = '00'" in made.fix

    def test_databases(self) -> None:
        created = self.told("CREATE DATABASE shop_02")
        assert created is not None and "only some tables" in refusal(created)
        made = planners({"rename": [self.RENAME]}, {"ddl": "apply"}, tables=["shop_*.item"])
        new = told(made, "CREATE DATABASE shop_02")
        assert new is not None and new.sql == "CREATE DATABASE IF NOT EXISTS `shop`"
        dropped = told(made, "DROP DATABASE shop_02")
        assert dropped is not None and "other databases go to shop" in refusal(dropped)

    def test_an_online_schema_change(self) -> None:
        before, after = self.item(("id", "INT")), self.item(("id", "INT"), ("a", "INT"))
        made = self.told(
            "RENAME TABLE item TO _item_del, _item_gho TO item",
            TableChange("RENAME", "shop_00", "item", before, ("shop_00", "_item_del"), before),
            TableChange("RENAME", "shop_00", "_item_gho", after, ("shop_00", "item"), None),
        )
        assert made is not None and made.shard is not None and made.shard.before is not None
        assert made.sql == "ALTER TABLE `shop`.`item` ADD COLUMN `a` INT NULL AFTER `id`"
        assert len(made.shard.after.columns) == 1 + len(made.shard.before.columns)
        clock = Declared("DATETIME", has_default=True, default="NOW()", default_is_expression=True)
        timed = msgspec.structs.replace(after.columns[1], declared=clock)
        refused = self.told(
            "RENAME TABLE item TO _item_del, _item_gho TO item",
            TableChange("RENAME", "shop_00", "item", before, ("shop_00", "_item_del"), before),
            TableChange(
                "RENAME",
                "shop_00",
                "_item_gho",
                msgspec.structs.replace(after, columns=(after.columns[0], timed)),
                ("shop_00", "item"),
            ),
        )
        assert refused is not None and "values of a when each" in refusal(refused)


def test_other_servers() -> None:
    made = planners(None, {"type": "mariadb"})
    statement = told(made, "CREATE TABLE item (a TEXT COLLATE utf8mb4_0900_ai_ci)")
    assert statement is not None and "COLLATE uca1400_nopad_ai_ci" in statement.sql
    refused = told(made, "ALTER TABLE item ADD doc JSON")
    assert refused is not None and "JSON" in refusal(refused)
    named = told(made, "ALTER TABLE item ADD json INT")
    assert named is not None and named.action == "apply"
    back = planners(None, {"type": "mysql"}, type="mariadb")
    statement = told(back, "CREATE TABLE item (a TEXT, doc JSON) COLLATE=utf8mb4_uca1400_ai_ci")
    assert statement is not None
    assert statement.sql.endswith(
        "(a TEXT, doc LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin) COLLATE=utf8mb4_0900_ai_ci"
    )


@pytest.mark.parametrize("kind", [BinlogDecoder, CompiledDecoder])
def test_statements_are_in_batches_of_their_own(kind: type[BinlogDecoder]) -> None:
    if kind is CompiledDecoder and decoder_class() is BinlogDecoder:
        pytest.skip("the compiled code is not there")
    made = planners()
    script = Script().change(USERS, "insert", ANN)
    script.gtid(1).query("ALTER TABLE user ADD c INT", "shop")
    script.change(USERS, "insert", ANN).change(USERS, "insert", ANN)
    decoder = kind(
        made.stream,
        narrator=made.narrator,
        position=Position("binlog.000001", 4),
        flavor="mysql",
        framing="file",
        server_error=server_error,
    )
    batches: list[Batch] = decoder.feed(script.raw)
    while decoder.more:
        batches += decoder.feed(b"")
    shown = [(batch.barrier, batch.boundary, [record[0] == STATEMENT for record in batch.records]) for batch in batches]
    shown = [entry for entry in shown if entry[2]]
    assert shown == [(False, True, [False]), (True, True, [True]), (False, True, [False, False])]


def test_settings_travel_with_the_statement() -> None:
    settings = StatementSettings(1 << 20, "Europe/Berlin", False)
    (message,) = planners().narrator.statement(
        Statement("shop", "DROP TABLE item", "DROP TABLE", settings=settings), MOMENT
    )
    assert msgspec.json.decode(message.value or b"", type=TargetStatement).settings == settings
