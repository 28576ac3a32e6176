UPDATE t SET amount = amount + 1 WHERE id = 1 + :round % 400;

UPDATE t SET state = elt(1 + (id + :round) % 2, 'new', 'paid') WHERE id % 50 = :round % 50;

DELETE FROM t WHERE id = 1 + :round * 7 % 400;
