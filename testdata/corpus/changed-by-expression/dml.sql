UPDATE t SET amount = amount + 1 WHERE id % 50 = :round % 50;

INSERT INTO t (id, name, amount) VALUES (1000 + :round, 'new :round', :round);

DELETE FROM t WHERE id = 1000 + :round - 3;
