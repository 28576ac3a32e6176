-- A column goes.
CREATE TABLE t (id int PRIMARY KEY, gone int, name varchar(40), amount int);
INSERT INTO t WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300) SELECT i, i, concat('name ', i), i FROM n;
