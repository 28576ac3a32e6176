UPDATE t SET tenant = (tenant + 1) % 5 WHERE id % 40 = :round % 40;

UPDATE t SET id = -id WHERE abs(id) = 7;
