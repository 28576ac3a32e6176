-- Rows that exchange a unique value: one by one, neither can be written first.
CREATE TABLE t (id int PRIMARY KEY, code varchar(20) NOT NULL, amount int, UNIQUE (code));
INSERT INTO t WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 400) SELECT i, concat('c', i), i FROM n;
