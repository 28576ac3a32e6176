UPDATE t SET state = 'paid', tags = 'a,c' WHERE id = 1 + :round % 300;

UPDATE t SET state = 'sent', tags = 'b' WHERE id = 150 + :round % 300;
