-- A table that is not logged stays so.
CREATE UNLOGGED TABLE t (id int PRIMARY KEY, amount int);
INSERT INTO t SELECT i, i FROM generate_series(1, 300) i;
