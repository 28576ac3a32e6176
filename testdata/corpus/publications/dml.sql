UPDATE t SET name = name || 'x' WHERE id % 40 = :round % 40;
