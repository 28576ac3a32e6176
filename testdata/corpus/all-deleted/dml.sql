DELETE FROM t WHERE id > 0;

INSERT INTO t (id, name, amount) WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200) SELECT i * 2, concat('again ', i), :round FROM n;
