ALTER TABLE t ALTER name TYPE varchar(50);
UPDATE t SET name = upper(name);
