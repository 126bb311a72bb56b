"""Runs each case's statements on a server of its flavour and keeps the binlog file that they filled."""

from dev.servers import MariaDB, MySQL
from tests.data.binlog import FOLDER

_COLUMNS = (
    "id int primary key, y year, i int, n int unsigned, name varchar(50), big bigint unsigned not null default 3, "
    "d decimal(10,2), ts timestamp(3) null, e enum('a','ü') character set latin1, s set('x','y'), bl blob, c char(10), "
    "bt bit(9), f float, db double, tm time(2), dt datetime, da date, l longtext character set latin1, p point"
)
_TRANSACTIONS = f"""
create table t ({_COLUMNS});
insert into t values (1,2020,-5,4000000000,'héllo',18446744073709551615,'12.34','2020-01-01 00:00:01.234','ü','x,y',
'bin','c',5,1.5,2.5,'-01:02:03.45','2020-02-03 04:05:06','2020-02-03','é',point(1,2)),
(2,null,null,null,null,4,null,null,null,
null,null,null,null,null,null,null,null,null,null,null);
update t set name='b' where id=1;
update t set id=3 where id=1;
delete from t where id=2;
create table other.u (id int primary key);
begin;
insert into t (id) values (10);
insert into other.u values (1);
savepoint sp1;
insert into t (id) values (11);
rollback to sp1;
insert into t (id) values (12);
update t set i=1 where id>=10;
commit;
create table cs select id, name from t;
create table my (id int primary key) engine=myisam;
insert into my values (1),(2),(3);
begin;
insert into my values (4);
insert into t (id) values (20);
rollback;
xa start 'x1';
insert into t (id) values (40);
xa end 'x1';
xa commit 'x1' one phase;
truncate my"""
_STATEMENT = """
create table t (id int primary key, v int);
insert into t values (1,1);
set session binlog_format=STATEMENT;
update t set v=v+1 where id=1"""
_PREPARED = """
create table t (id int primary key, v int);
xa start 'x2';
insert into t values (1,1);
xa end 'x2';
xa prepare 'x2'"""
_COMPRESSIBLE = "insert into t values (1, repeat('a', 2000))"

MYSQL = {
    "transactions": _TRANSACTIONS
    + """;
set gtid_next='automatic:tag_1';
insert into t (id) values (50);
set gtid_next='automatic';
create table v (a text invisible, b varchar(9) character set latin1, e vector(2), j json, primary key (b(3)));
insert into v (a,b,e,j) values ('a','ö',to_vector('[1,2]'),'{"k":1}')""",
    "statement": _STATEMENT,
    "prepared": _PREPARED,
    "compressed": f"create table t (id int, v text);set binlog_transaction_compression=ON;{_COMPRESSIBLE}",
    "partial": """create table t (id int primary key, j json);
insert into t values (1, json_object('a', repeat('x', 500), 'b', 1));
set binlog_row_value_options=PARTIAL_JSON;
update t set j=json_set(j, '$.b', 2)""",
    "image": """create table t (id int primary key, v int);
set session binlog_row_image=MINIMAL;
insert into t values (1,1);
update t set v=2""",
    "metadata": "set global binlog_row_metadata=MINIMAL;create table t (id int);insert into t values (1);"
    "set global binlog_row_metadata=FULL",
}
MARIADB = {
    "transactions": _TRANSACTIONS
    + """;
create table v (u uuid, a varchar(9) character set latin1, i inet6, b text, primary key (u, a));
insert into v values ('00000000-0000-0000-0000-000000000001','é','::1','é');
set statement max_statement_time=100 for insert into v values ('00000000-0000-0000-0000-000000000002','b','::1','x')""",
    "statement": _STATEMENT,
    "prepared": _PREPARED,
    "compressed": "create table t (id int, v text);set global log_bin_compress=ON;" + _COMPRESSIBLE,
    "columns": "create table t (id int, v varchar(300) compressed, w text compressed);insert into t values (1,'a','b')",
}


def record(server: MySQL | MariaDB, case: str, statements: str) -> None:
    with server:
        for database in ("shop", "other"):
            server.execute(f"CREATE DATABASE {database}")
        server.execute("FLUSH BINARY LOGS")
        name = server.execute("SHOW BINARY LOGS")[-1][0]
        connection = server.connect(database="shop")
        with connection.cursor() as cursor:
            for statement in statements.split(";"):
                cursor.execute(statement.strip())
        server.execute("FLUSH BINARY LOGS")
        connection.close()
        (FOLDER / f"{case}.bin").write_bytes((server.folder / "data" / name).read_bytes())


def main() -> None:
    for case, statements in MYSQL.items():
        record(MySQL(fast=True), f"mysql_{case}", statements)
    for case, statements in MARIADB.items():
        record(MariaDB(fast=True), f"mariadb_{case}", statements)
    off = ["--gtid-mode=OFF", "--enforce-gtid-consistency=OFF"]
    record(MySQL(fast=True, extra_args=off), "mysql_anonymous", _TRANSACTIONS)
    record(MySQL(fast=True, extra_args=["--binlog-checksum=NONE"]), "mysql_unchecked", _TRANSACTIONS)


if __name__ == "__main__":
    main()
