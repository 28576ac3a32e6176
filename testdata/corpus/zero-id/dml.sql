SET sql_mode = 'NO_AUTO_VALUE_ON_ZERO';

UPDATE t SET amount = amount + 1 WHERE id IN (0, -5);
