UPDATE t SET name = upper(name) WHERE amount % 30 = :round % 30 AND amount > 3;

UPDATE t SET name = lower(name) WHERE amount % 30 = (:round + 7) % 30 AND amount > 3;

UPDATE t SET amount = amount + 1 WHERE amount > 200;
