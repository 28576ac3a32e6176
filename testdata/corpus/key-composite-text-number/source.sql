-- The numbers in a key are where the shards' bounds would be misread as texts.
CREATE TABLE t (kind varchar(5), no int, amount int, PRIMARY KEY (kind, no));
INSERT INTO t WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 400) SELECT concat('', i % 4), 400 - i, i FROM n;
