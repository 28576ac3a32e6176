-- NULLs do not clash with each other.
CREATE TABLE t (id int PRIMARY KEY, code varchar(20));
INSERT INTO t WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300) SELECT i, CASE WHEN i % 3 > 0 THEN concat('c', i) END FROM n;
