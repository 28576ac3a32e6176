-- No primary key, but a unique one that has no NULLs.
CREATE TABLE t (code varchar(20) NOT NULL, amount int, CONSTRAINT t_code UNIQUE (code));
INSERT INTO t WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300) SELECT concat('c', i), i FROM n;
