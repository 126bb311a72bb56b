"""Canal's protobuf messages (docs/canal.proto), as classes of the protobuf library.

The descriptors are built here and not generated, so that no build step and no version of a compiler is needed.
Fields are sent when they are set, also with a value that is their default, as Canal does.
"""

from __future__ import annotations

from typing import Any, Final

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

PACKAGE: Final = "com.alibaba.otter.canal.protocol"

ENUMS: Final[dict[str, dict[str, int]]] = {
    "PacketType": {"MESSAGES": 7},
    "EntryType": {"TRANSACTIONBEGIN": 1, "ROWDATA": 2, "TRANSACTIONEND": 3},
    "EventType": {
        "INSERT": 1,
        "UPDATE": 2,
        "DELETE": 3,
        "CREATE": 4,
        "ALTER": 5,
        "ERASE": 6,
        "QUERY": 7,
        "TRUNCATE": 8,
        "RENAME": 9,
        "CINDEX": 10,
        "DINDEX": 11,
        "GTID": 12,
        "XACOMMIT": 13,
        "XAROLLBACK": 14,
    },
    "Type": {"ORACLE": 1, "MYSQL": 2, "PGSQL": 3},
}
MESSAGES: Final[dict[str, str]] = {
    "Packet": "PacketType type 3, bytes body 5",
    "Messages": "int64 batch_id 1, bytes* messages 2",
    "Pair": "string key 1, string value 2",
    "Header": "int32 version 1, string logfileName 2, int64 logfileOffset 3, int64 serverId 4, string serverenCode 5, "
    "int64 executeTime 6, Type sourceType 7, string schemaName 8, string tableName 9, int64 eventLength 10, "
    "EventType eventType 11, Pair* props 12, string gtid 13",
    "Entry": "Header header 1, EntryType entryType 2, bytes storeValue 3",
    "Column": "int32 index 1, int32 sqlType 2, string name 3, bool isKey 4, bool updated 5, bool isNull 6, "
    "Pair* props 7, string value 8, int32 length 9, string mysqlType 10",
    "RowData": "Column* beforeColumns 1, Column* afterColumns 2, Pair* props 3",
    "RowChange": "int64 tableId 1, EventType eventType 2, bool isDdl 10, string sql 11, RowData* rowDatas 12, "
    "Pair* props 13, string ddlSchemaName 14",
    "TransactionBegin": "int64 executeTime 1, string transactionId 2, Pair* props 3, int64 threadId 4",
    "TransactionEnd": "int64 executeTime 1, string transactionId 2, Pair* props 3",
}
"""message -> its fields: type, `*` where it is repeated, name, number."""

_Field: Final = descriptor_pb2.FieldDescriptorProto
_SCALARS: Final = {
    "int32": _Field.TYPE_INT32,
    "int64": _Field.TYPE_INT64,
    "bool": _Field.TYPE_BOOL,
    "string": _Field.TYPE_STRING,
    "bytes": _Field.TYPE_BYTES,
}


def _file() -> descriptor_pb2.FileDescriptorProto:
    file = descriptor_pb2.FileDescriptorProto(name="canal.proto", package=PACKAGE, syntax="proto2")
    for name, numbers in ENUMS.items():
        enum = file.enum_type.add(name=name)
        for value, number in numbers.items():
            enum.value.add(name=value, number=number)
    for name, fields in MESSAGES.items():
        message = file.message_type.add(name=name)
        for field in fields.split(", "):
            _add(message, *field.split())
    return file


def _add(message: descriptor_pb2.DescriptorProto, type_: str, name: str, number: str) -> None:
    kind = type_.rstrip("*")
    field = message.field.add(name=name, number=int(number))
    field.label = _Field.LABEL_REPEATED if type_.endswith("*") else _Field.LABEL_OPTIONAL
    if kind in _SCALARS:
        field.type = _SCALARS[kind]
    else:
        field.type = _Field.TYPE_ENUM if kind in ENUMS else _Field.TYPE_MESSAGE
        field.type_name = f".{PACKAGE}.{kind}"


_pool: Final = descriptor_pool.DescriptorPool()
_pool.Add(_file())


def _class(name: str) -> Any:
    return message_factory.GetMessageClass(_pool.FindMessageTypeByName(f"{PACKAGE}.{name}"))


Packet: Final = _class("Packet")
Messages: Final = _class("Messages")
Pair: Final = _class("Pair")
Header: Final = _class("Header")
Entry: Final = _class("Entry")
Column: Final = _class("Column")
RowData: Final = _class("RowData")
RowChange: Final = _class("RowChange")
TransactionBegin: Final = _class("TransactionBegin")
TransactionEnd: Final = _class("TransactionEnd")


def packet(batch: int, entry: Any) -> bytes:
    """What a Kafka record holds: a batch of one entry."""
    body = Messages(batch_id=batch, messages=(entry.SerializeToString(),))
    return bytes(Packet(type=ENUMS["PacketType"]["MESSAGES"], body=body.SerializeToString()).SerializeToString())
