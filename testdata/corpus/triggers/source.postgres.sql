-- Triggers of the application's: they stay, and what they do is done once.
CREATE TABLE t (id int PRIMARY KEY, amount int);
CREATE TABLE journal (no bigint PRIMARY KEY, id int, amount int);
INSERT INTO t SELECT i, i FROM generate_series(1, 300) i;
CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE format('INSERT INTO %I.journal SELECT coalesce(max(no), 0) + 1, $1, $2 FROM %I.journal', TG_TABLE_SCHEMA, TG_TABLE_SCHEMA) USING NEW.id, NEW.amount;
  RETURN NEW;
END
$$;
CREATE TRIGGER note_it AFTER INSERT OR UPDATE OF amount ON t FOR EACH ROW WHEN (NEW.amount > 5) EXECUTE FUNCTION note();
CREATE TRIGGER never BEFORE DELETE ON t FOR EACH STATEMENT EXECUTE FUNCTION note();
ALTER TABLE t DISABLE TRIGGER never;
