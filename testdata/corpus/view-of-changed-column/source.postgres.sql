-- A view has the column whose type changes: the server itself refuses that.
CREATE TABLE t (id int PRIMARY KEY, amount int);
CREATE VIEW amounts AS SELECT amount FROM t;
