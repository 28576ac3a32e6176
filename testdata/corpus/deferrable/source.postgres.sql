-- A unique constraint that is only looked at in the end.
CREATE TABLE t (id int PRIMARY KEY, place int NOT NULL, amount int, CONSTRAINT one UNIQUE (place) DEFERRABLE INITIALLY DEFERRED);
INSERT INTO t SELECT i, i, i FROM generate_series(1, 300) i;
