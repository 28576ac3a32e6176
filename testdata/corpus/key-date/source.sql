-- Keys of a time with fractions.
CREATE TABLE t (moment timestamp(6) NOT NULL PRIMARY KEY, amount int);
INSERT INTO t WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300) SELECT CAST(concat('2024-03-1', i % 10, ' 0', i % 9, ':00:00.', 100000 + i) AS char(26)), i FROM n;
