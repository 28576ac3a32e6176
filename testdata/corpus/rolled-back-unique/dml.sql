UPDATE t SET code = 'free' WHERE id = 3;
UPDATE t SET code = concat('c', (:round % 2) * 387 + 3) WHERE id = 390;
UPDATE t SET code = concat('c', (1 - :round % 2) * 387 + 3) WHERE id = 3;
