-- Values of megabytes, in the row and out of it.
CREATE TABLE t (id int PRIMARY KEY, body longblob, note mediumtext, amount int);
INSERT INTO t WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20) SELECT i, repeat(unhex('00FF275C0A'), i * 40000), repeat('ä', i * 30000), i FROM n;
