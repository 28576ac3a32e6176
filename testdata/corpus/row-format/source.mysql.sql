-- Another row format, and options that are kept.
CREATE TABLE t (id int PRIMARY KEY, note text, amount int) ROW_FORMAT = COMPRESSED KEY_BLOCK_SIZE = 8 STATS_PERSISTENT = 0 COMMENT = 'it''s "the" table';
INSERT INTO t WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300) SELECT i, repeat('x', i), i FROM n;
