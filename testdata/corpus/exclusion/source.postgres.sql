-- A constraint that is neither unique nor a check.
CREATE TABLE t (id int PRIMARY KEY, during int4range NOT NULL, amount int, CONSTRAINT apart EXCLUDE USING gist (during WITH &&));
INSERT INTO t SELECT i, int4range(i * 10, i * 10 + 5), i FROM generate_series(1, 300) i;
