-- A key of binary fractions, which no text writes as it is.
CREATE TABLE t (id float PRIMARY KEY, amount int);
INSERT INTO t WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30) SELECT i / 3, i FROM n;
