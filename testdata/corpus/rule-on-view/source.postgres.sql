-- A rule of a view that writes to the table: it would go on to write to the old one.
CREATE TABLE t (id int PRIMARY KEY, amount int);
INSERT INTO t SELECT i, i FROM generate_series(1, 30) i;
CREATE VIEW front AS SELECT 1 AS id;
CREATE RULE behind AS ON INSERT TO front DO INSTEAD INSERT INTO t VALUES (NEW.id, 0);
