-- A chain of names.
CREATE TABLE t (id int PRIMARY KEY, amount int, total int);
INSERT INTO t SELECT i, i, i * 10 FROM generate_series(1, 300) i;
