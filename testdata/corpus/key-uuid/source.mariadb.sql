-- A UUID key, which the server orders in its own way.
CREATE TABLE t (id uuid PRIMARY KEY, amount int);
INSERT INTO t WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 400) SELECT concat(lpad(hex(i * 65521), 8, '0'), '-0000-4000-8000-', lpad(hex(i * 7919), 12, '0')), i FROM n;
