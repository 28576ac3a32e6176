-- A column gets the name of one that goes, and keeps its own values.
CREATE TABLE t (id int PRIMARY KEY, name varchar(40) NOT NULL, amount int, total int);
INSERT INTO t WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 400) SELECT i, concat('name ', i), i * 10, i FROM n;
