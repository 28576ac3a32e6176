-- Fractions of seconds that the new type has no place for.
CREATE TABLE t (id int PRIMARY KEY, moment timestamp(6) NOT NULL);
INSERT INTO t WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300) SELECT i, TIMESTAMP '2024-01-01 00:00:00' FROM n;
UPDATE t SET moment = '2024-01-01 00:00:00.750000' WHERE id = 123;
