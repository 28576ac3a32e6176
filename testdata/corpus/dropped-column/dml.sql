UPDATE t SET amount = amount + 1 WHERE id % 40 = :round % 40;

INSERT INTO t (id, name, amount) VALUES (1000 + :round, 'x', 1);
