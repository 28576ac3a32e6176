-- A UUID key.
CREATE TABLE t (id uuid PRIMARY KEY, amount int);
INSERT INTO t SELECT md5(i::text)::uuid, i FROM generate_series(1, 400) i;
