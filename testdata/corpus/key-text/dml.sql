-- the same key in another writing, which is another value
UPDATE t SET name = upper(name) WHERE amount % 30 = :round % 30;

UPDATE t SET name = lower(name) WHERE amount % 30 = (:round + 7) % 30;

UPDATE t SET name = concat(name, ' ') WHERE amount = :round % 100 AND length(name) < 30;

UPDATE t SET amount = amount + 1 WHERE amount > 200;
