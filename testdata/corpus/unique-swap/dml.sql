UPDATE t SET code = 'free' WHERE id = 3;
UPDATE t SET code = concat('c', (:round % 2) * 387 + 3) WHERE id = 390;
UPDATE t SET code = concat('c', (1 - :round % 2) * 387 + 3) WHERE id = 3;

-- three in a ring
UPDATE t SET code = concat('x', id) WHERE id IN (20, 120, 320);
UPDATE t SET code = concat('c', CASE (:round + id / 100) % 3 WHEN 0 THEN 20 WHEN 1 THEN 120 ELSE 320 END) WHERE id IN (20);
UPDATE t SET code = concat('ring', (:round + 1) % 3) WHERE id = 120;
UPDATE t SET code = concat('ring', (:round + 2) % 3) WHERE id = 320;

-- a value goes from a row that is deleted to one that is new
DELETE FROM t WHERE code = 'wanders';
INSERT INTO t (id, code, amount) VALUES (1000 + :round % 7, 'wanders', :round);
