-- Dates that are none.
SET sql_mode = '';
CREATE TABLE t (id int PRIMARY KEY, day date, moment datetime(3), stamp timestamp NULL, y year, span time(2), amount int);
INSERT INTO t WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300) SELECT i, date_add('2000-01-01', INTERVAL i DAY), '2020-02-29 12:00:00.125', '2001-09-09 01:46:40', 1901 + i % 200, concat('-', i, ':00:01.25'), i FROM n;
INSERT INTO t VALUES (1000, '0000-00-00', '0000-00-00', '0000-00-00', 0, '838:59:59', 1), (1001, '2024-00-10', '2024-05-00', NULL, NULL, '-838:59:59', 1), (1002, '0000-01-01', '9999-12-31 23:59:59.999', '2038-01-19 03:14:07', 2155, '00:00:00', 1);
