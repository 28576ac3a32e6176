UPDATE t SET note = concat(note, 'ö'), name = concat('Ü', id, ' ', :round) WHERE id = 1 + :round % 300;

REPLACE INTO t (id, name, note) VALUES (1000 + :round % 20, concat('é', :round), '€');
