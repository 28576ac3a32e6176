INSERT INTO t (id, name, amount) VALUES (1 + :round % 500, 'up :round', 1) ON CONFLICT (id) DO UPDATE SET amount = t.amount + 1000;

INSERT INTO t VALUES (1 + :round % 500, 'ignored', 1), (2000 + :round, 'fresh :round', 1) ON CONFLICT DO NOTHING;

MERGE INTO t USING (SELECT 1 + (:round * 7) % 500 AS id) AS s ON t.id = s.id WHEN MATCHED AND t.id % 2 = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET amount = t.amount - 1 WHEN NOT MATCHED THEN INSERT VALUES (s.id, 'merged :round', 0);
