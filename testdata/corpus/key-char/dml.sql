UPDATE t SET amount = amount + 1 WHERE amount % 30 = :round % 30;

DELETE FROM t WHERE code = 'wanders';
INSERT INTO t (code, amount) VALUES ('wanders', :round);
