-- double to float: digits go.
CREATE TABLE t (id int PRIMARY KEY, d double precision);
INSERT INTO t WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300) SELECT i, i * 0.5 FROM n;
UPDATE t SET d = 0.1 WHERE id = 123;
