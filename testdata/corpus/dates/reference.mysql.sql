SET sql_mode = '';
ALTER TABLE t MODIFY amount bigint;
