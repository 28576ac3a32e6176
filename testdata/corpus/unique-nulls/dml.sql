UPDATE t SET code = NULL WHERE id = 100 + :round % 50;

UPDATE t SET code = concat('d', id) WHERE id = 100 + :round % 50;
