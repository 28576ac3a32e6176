-- A unique key that has NULLs is none.
CREATE TABLE t (code varchar(20), amount int, CONSTRAINT t_code UNIQUE (code));
INSERT INTO t WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30) SELECT CASE WHEN i > 2 THEN concat('c', i) END, i FROM n;
