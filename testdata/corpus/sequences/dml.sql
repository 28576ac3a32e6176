INSERT INTO t (amount) VALUES (:round);

DELETE FROM t WHERE id > 4000 AND id % 3 = 0;
