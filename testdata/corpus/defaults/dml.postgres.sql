INSERT INTO t (id) VALUES (1000 + :round);

UPDATE t SET note = :round WHERE id % 40 = (:round + 5) % 40;
