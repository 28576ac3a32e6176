-- A table that is published.
CREATE TABLE t (id int PRIMARY KEY, name text, amount int);
INSERT INTO t SELECT i, 'n' || i, i FROM generate_series(1, 300) i;
