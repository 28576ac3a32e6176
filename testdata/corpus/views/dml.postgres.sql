UPDATE t SET name = name || 'x' WHERE id % 40 = :round % 40;

UPDATE big SET name = 'by the view :round' WHERE id = 1 + :round % 300;
