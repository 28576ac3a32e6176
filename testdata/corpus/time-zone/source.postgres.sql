-- What a moment without a time zone is with one depends on whoever changes it: where that is UTC, the server changes its catalog alone.
CREATE TABLE t (id int PRIMARY KEY, moment timestamp NOT NULL);
INSERT INTO t SELECT i, '2024-01-01 12:00' FROM generate_series(1, 30) i;
