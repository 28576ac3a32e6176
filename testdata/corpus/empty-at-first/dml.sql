INSERT INTO t (id, name, amount) VALUES (:round, 'x', 1);
