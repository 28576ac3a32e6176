UPDATE t SET amount = amount + 1 WHERE amount % 40 = :round % 40;

REPLACE INTO t (id, part, amount) VALUES (unhex('00FF'), unhex(concat('0A', lpad(hex(:round % 256), 2, '0'))), :round);
