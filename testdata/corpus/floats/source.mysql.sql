-- Binary fractions, which no short text says exactly, and a zero with a sign.
CREATE TABLE t (id int PRIMARY KEY, f float, d double, amount int);
INSERT INTO t WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300) SELECT i, i / 3, i / 7e-300, i FROM n;
INSERT INTO t VALUES (1000, -0e0, -0e0, 1), (1001, 3.402823e38, 1.7976931348623157e308, 1), (1002, 1.17549e-38, 5e-324, 1);
