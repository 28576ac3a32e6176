-- Values of megabytes, in the row and out of it.
CREATE TABLE t (id int PRIMARY KEY, body bytea, note text, amount int);
ALTER TABLE t ALTER body SET STORAGE EXTERNAL;
INSERT INTO t SELECT i, decode(repeat('00ff275c0a', i * 40000), 'hex'), repeat('ä', i * 30000), i FROM generate_series(1, 20) i;
