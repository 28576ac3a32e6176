-- No key at all: rows cannot be found again.
CREATE TABLE t (code varchar(20), amount int);
INSERT INTO t WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30) SELECT concat('c', i), i FROM n;
