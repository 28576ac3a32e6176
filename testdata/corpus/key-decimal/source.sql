-- A decimal key, with negative ones.
CREATE TABLE t (id decimal(20,6) PRIMARY KEY, amount int);
INSERT INTO t WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 400) SELECT (i - 200) * 12345678.123456, i FROM n;
