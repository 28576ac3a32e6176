UPDATE t SET day = date_add('2000-01-01', INTERVAL (:round * 37) % 9000 DAY) WHERE id = 1 + :round % 300;
