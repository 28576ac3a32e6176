-- A table of somebody else's.
DO $$ BEGIN
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'corpus_owner') THEN CREATE ROLE corpus_owner; END IF;
EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL;
END $$;
CREATE TABLE t (id serial PRIMARY KEY, amount int);
INSERT INTO t SELECT i, i FROM generate_series(1, 300) i;
ALTER TABLE t OWNER TO corpus_owner;
