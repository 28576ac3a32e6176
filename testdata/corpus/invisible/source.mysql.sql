-- An invisible column: SELECT * does not have it.
CREATE TABLE t (id int PRIMARY KEY, secret int INVISIBLE, amount int);
INSERT INTO t (id, secret, amount) WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300) SELECT i, i * 3, i FROM n;
