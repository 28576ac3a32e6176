-- Dates before Christ, and at no time.
CREATE TABLE t (id int PRIMARY KEY, day date, moment timestamp(3), stamp timestamptz, span interval, hour timetz, amount int);
INSERT INTO t SELECT i, '2000-01-01'::date + i, '2020-02-29 12:00:00.125', '2001-09-09 01:46:40.123456+05:30', i * '1 month 2 days 00:00:00.5'::interval, '12:00:00.5+05:30', i FROM generate_series(1, 300) i;
INSERT INTO t VALUES (1000, 'infinity', '-infinity', 'infinity', '-178000000 years', '24:00:00-15:59', 1), (1001, '4713-01-01 BC', '0001-12-31 BC', '4713-01-01 BC', '1 mon', '00:00+00', 1), (1002, NULL, NULL, NULL, '30 days', NULL, 1);
