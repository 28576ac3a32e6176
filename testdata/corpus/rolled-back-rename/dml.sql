UPDATE t SET name = concat('n', :round) WHERE id % 40 = :round % 40;

DELETE FROM t WHERE id = :round % 400;
