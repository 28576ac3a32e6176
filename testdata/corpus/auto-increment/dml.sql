INSERT INTO t (amount) VALUES (:round);

DELETE FROM t WHERE id > 400;
