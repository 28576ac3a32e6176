-- CHAR keys, whose spaces at the end are padding.
CREATE TABLE t (code char(12) PRIMARY KEY, amount int);
INSERT INTO t WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300) SELECT concat('c ', i), i FROM n;
