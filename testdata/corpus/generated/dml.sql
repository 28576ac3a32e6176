UPDATE t SET price = price + 1 WHERE id % 40 = :round % 40;

INSERT INTO t (id, price, amount) VALUES (1000 + :round, :round, 0);
