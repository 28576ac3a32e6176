-- Members of a set change places: it is not guessed which ones are meant.
CREATE TABLE t (id int PRIMARY KEY, state enum('new', 'paid', 'sent') NOT NULL, tags set('a', 'b', 'c'));
INSERT INTO t WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300) SELECT i, 1 + i % 3, i % 8 FROM n;
