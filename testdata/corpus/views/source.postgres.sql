-- Views on the table.
CREATE TABLE t (id int PRIMARY KEY, name text, amount int);
INSERT INTO t SELECT i, 'n' || i, i FROM generate_series(1, 300) i;
CREATE VIEW big AS SELECT id, name FROM t WHERE id > 10;
CREATE VIEW bigger AS SELECT b.id FROM big b WHERE b.id > 20;
COMMENT ON VIEW big IS 'the big ones';
