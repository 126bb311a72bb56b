-- binlog_format = STATEMENT in one session (rows arrive as SQL text, not as row events). Own database.
SET NAMES utf8mb4;
SET SESSION time_zone = '+00:00';
SET timestamp = 1700005000;
CREATE DATABASE zoos CHARACTER SET utf8mb4;
USE zoos;
CREATE TABLE s (id INT NOT NULL PRIMARY KEY, v VARCHAR(30));
INSERT INTO s VALUES (1,'row format');
SET SESSION binlog_format = STATEMENT;
INSERT INTO s VALUES (2,'statement format');
UPDATE s SET v = 'statement update' WHERE id = 1;
DELETE FROM s WHERE id = 2;
SET SESSION binlog_format = MIXED;
INSERT INTO s VALUES (3,'mixed format');
SET SESSION binlog_format = ROW;
INSERT INTO s VALUES (4,'row format again');
