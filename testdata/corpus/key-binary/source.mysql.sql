-- Binary keys, with zero bytes and quotes in them.
CREATE TABLE t (id binary(8), part varbinary(20), amount int, PRIMARY KEY (id, part));
INSERT INTO t WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300) SELECT unhex(concat(lpad(hex(i), 4, '0'), '00275C00')), unhex(repeat('00', i % 5)), i FROM n;
