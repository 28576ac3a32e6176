-- Keys of a time with fractions, with time zone, before Christ and at no time.
CREATE TABLE t (moment timestamptz PRIMARY KEY, amount int);
INSERT INTO t SELECT '2024-03-10 00:00:00.000001+01'::timestamptz + i * '1.000001 days'::interval, i FROM generate_series(1, 300) i;
INSERT INTO t VALUES ('infinity', 0), ('-infinity', 0), ('0044-03-15 12:00 BC', 0);
