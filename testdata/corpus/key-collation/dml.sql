UPDATE t SET amount = amount + 1 WHERE no = :round % 3;

UPDATE t SET name = upper(name) WHERE amount % 7 = :round % 7;

UPDATE t SET name = lower(name) WHERE amount % 7 = :round % 7;

INSERT INTO t (name, no) VALUES (concat('new', :round), 9);

DELETE FROM t WHERE name = concat('new', :round - 3);

INSERT INTO t (name, no) VALUES (concat('NEW', :round - 3), 9);
