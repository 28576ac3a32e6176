-- Defaults that are expressions.
CREATE TABLE t (id int PRIMARY KEY, amount int DEFAULT 1 + 2, note text DEFAULT concat('a', 'b''c'), made timestamptz(3) NOT NULL DEFAULT now(), who text DEFAULT current_user);
INSERT INTO t (id, made) SELECT i, '2020-01-01'::timestamptz + i * '1 ms'::interval FROM generate_series(1, 300) i;
