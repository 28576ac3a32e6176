INSERT INTO t (id, name, amount) VALUES (1 + :round % 500, 'up :round', 1) ON DUPLICATE KEY UPDATE amount = amount + 1000;

REPLACE INTO t (id, name, amount) VALUES (1 + (:round * 7) % 500, concat('name ', 1 + (:round * 11) % 400), :round);

INSERT IGNORE INTO t (id, name, amount) VALUES (1 + :round % 500, 'ignored', 1), (2000 + :round, 'fresh :round', 1);
