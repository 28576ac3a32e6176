-- What hangs on a table: grants, policies, comments, statistics, options, replica identity, clustering, defaults, an owner.
DO $$ BEGIN
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'corpus_reader') THEN CREATE ROLE corpus_reader; END IF;
EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL;
END $$;
CREATE TABLE t (id int PRIMARY KEY, name text COLLATE "C" NOT NULL, tenant int NOT NULL DEFAULT 1, amount int, CONSTRAINT positive CHECK (amount >= 0), CONSTRAINT later CHECK (tenant < 100) NOT VALID) WITH (fillfactor = 70, autovacuum_enabled = false);
INSERT INTO t SELECT i, 'n' || i, i % 3, i FROM generate_series(1, 300) i;
CREATE UNIQUE INDEX t_name ON t (name COLLATE "C" text_pattern_ops);
CREATE INDEX t_part ON t (lower(name), tenant DESC NULLS LAST) INCLUDE (amount) WHERE tenant > 0;
CREATE INDEX t_brin ON t USING brin (amount) WITH (pages_per_range = 16);
COMMENT ON TABLE t IS 'the table''s';
COMMENT ON COLUMN t.name IS 'its name';
COMMENT ON INDEX t_part IS 'an index';
COMMENT ON CONSTRAINT positive ON t IS 'a check';
ALTER TABLE t ALTER name SET STATISTICS 500, ALTER name SET STORAGE EXTERNAL, ALTER name SET COMPRESSION pglz;
CREATE STATISTICS t_stat (dependencies) ON tenant, amount FROM t;
COMMENT ON STATISTICS t_stat IS 'statistics';
GRANT SELECT, UPDATE (name) ON t TO corpus_reader;
GRANT INSERT ON t TO corpus_reader WITH GRANT OPTION;
ALTER TABLE t ENABLE ROW LEVEL SECURITY;
CREATE POLICY mine ON t FOR SELECT TO corpus_reader USING (tenant = 1);
COMMENT ON POLICY mine ON t IS 'a policy';
ALTER TABLE t CLUSTER ON t_name;
ALTER TABLE t REPLICA IDENTITY USING INDEX t_name;
