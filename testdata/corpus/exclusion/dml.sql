UPDATE t SET amount = amount + 1 WHERE id % 40 = :round % 40;

-- two exchange their places
UPDATE t SET during = int4range(-10, -5) WHERE id = 5;
UPDATE t SET during = int4range((:round % 2) * 2900 + 50, (:round % 2) * 2900 + 55) WHERE id = 295;
UPDATE t SET during = int4range((1 - :round % 2) * 2900 + 50, (1 - :round % 2) * 2900 + 55) WHERE id = 5;
