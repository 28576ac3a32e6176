-- A UUID key, which the server orders in its own way.
CREATE TABLE t (id uuid PRIMARY KEY, amount int);
INSERT INTO t WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 400) SELECT md5(i), i FROM n;
