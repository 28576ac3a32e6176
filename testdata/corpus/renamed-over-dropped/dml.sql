UPDATE t SET amount = amount + 1, total = total + 5 WHERE id % 40 = :round % 40;

INSERT INTO t (id, name, amount, total) VALUES (1000 + :round, 'new :round', :round, -:round);
