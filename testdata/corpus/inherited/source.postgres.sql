-- A table with children has their rows as well.
CREATE TABLE t (id int PRIMARY KEY, amount int);
CREATE TABLE child (more int) INHERITS (t);
INSERT INTO t SELECT i, i FROM generate_series(1, 30) i;
