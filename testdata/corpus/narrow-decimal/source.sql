-- Digits that would be rounded away: what a server does without a word.
CREATE TABLE t (id int PRIMARY KEY, price decimal(12,4) NOT NULL);
INSERT INTO t WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300) SELECT i, i * 1.5 FROM n;
UPDATE t SET price = 10.1234 WHERE id = 123;
