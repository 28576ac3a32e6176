ALTER TABLE t MODIFY name varchar(50) NOT NULL;
UPDATE t SET name = upper(name);
