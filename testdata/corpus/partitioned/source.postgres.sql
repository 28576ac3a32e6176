-- A partitioned table is no table of its own.
CREATE TABLE t (id int NOT NULL, day date NOT NULL, amount int, PRIMARY KEY (id, day)) PARTITION BY RANGE (day);
CREATE TABLE t_rest PARTITION OF t DEFAULT;
INSERT INTO t SELECT i, '2024-01-01', i FROM generate_series(1, 30) i;
