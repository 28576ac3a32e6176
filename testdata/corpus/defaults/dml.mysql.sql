UPDATE t SET amount = :round WHERE id % 40 = :round % 40;

INSERT INTO t (id) VALUES (1000 + :round);

SET time_zone = '-11:30';

UPDATE t SET note = :round WHERE id % 40 = (:round + 5) % 40;

SET time_zone = DEFAULT;
