-- A new unique key on values that are not: naming the rows, before anything is changed.
CREATE TABLE t (id int PRIMARY KEY, code varchar(20));
INSERT INTO t WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300) SELECT i, concat('c', i) FROM n;
UPDATE t SET code = 'c17' WHERE id = 288;
