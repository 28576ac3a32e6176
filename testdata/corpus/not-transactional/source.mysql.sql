-- A table whose engine has no transactions.
CREATE TABLE t (id int PRIMARY KEY, amount int) ENGINE = MyISAM;
INSERT INTO t WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30) SELECT i, i FROM n;
