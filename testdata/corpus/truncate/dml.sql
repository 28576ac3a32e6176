TRUNCATE t;
INSERT INTO t SELECT i, 'round :round', i FROM generate_series(1, 100 + :round % 300) i;

UPDATE t SET amount = amount + 1 WHERE id % 40 = :round % 40;
