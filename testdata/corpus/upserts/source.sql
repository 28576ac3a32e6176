-- Statements that insert or update, as the row is there or not.
CREATE TABLE t (id int PRIMARY KEY, name varchar(40) NOT NULL, amount int, UNIQUE (name));
INSERT INTO t WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 400) SELECT i, concat('name ', i), i * 10 FROM n;
