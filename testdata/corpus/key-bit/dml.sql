UPDATE t SET amount = amount + 1 WHERE amount % 40 = :round % 40;

REPLACE INTO t (id, amount) VALUES (8000000000 + :round % 90, :round);
