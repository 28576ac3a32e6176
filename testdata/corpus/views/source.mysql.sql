-- Views on the table.
CREATE TABLE t (id int PRIMARY KEY, name varchar(60), amount int);
INSERT INTO t WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300) SELECT i, concat('n', i), i FROM n;
CREATE VIEW big AS SELECT id, name FROM t WHERE id > 10;
