-- A key of three columns, in another order than the table's.
CREATE TABLE t (line int, day date, customer varchar(10), amount int, PRIMARY KEY (customer, day, line));
INSERT INTO t WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 400) SELECT i % 3, CAST(concat('2024-0', 1 + i % 9, '-1', i % 10) AS date), concat('c', i % 5, 'x', i / 90), i FROM n;
