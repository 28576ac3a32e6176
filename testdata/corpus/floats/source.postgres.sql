-- Binary fractions, a zero with a sign, and what is no number.
CREATE TABLE t (id int PRIMARY KEY, f real, d double precision, n numeric, amount int);
INSERT INTO t SELECT i, i / 3.0, i / 7e-300, i / 3.0, i FROM generate_series(1, 300) i;
INSERT INTO t VALUES (1000, '-0', '-0', '-0', 1), (1001, 'NaN', 'NaN', 'NaN', 1), (1002, 'Infinity', '-Infinity', 'Infinity', 1), (1003, 1e-45, 5e-324, 1.500, 1);
