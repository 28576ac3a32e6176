package postgres

import (
	"context"
	"fmt"

	"godwit/internal/engine"
)

// Identity tells which server and database this is. Its ID is the system
// identifier, which a cluster keeps for life and shares with its standbys, and
// the database's oid. Where the identifier may not be read, the names and oids
// that were given out when the cluster was made stand in for it.
func (s *Server) Identity(ctx context.Context) (engine.Identity, error) {
	id := engine.Identity{Flavor: "postgres"}
	var oid uint32
	var controlled bool
	err := s.on.QueryRow(ctx, `SELECT current_setting('server_version'), d.datname, d.oid, has_function_privilege('pg_control_system()', 'EXECUTE')
		FROM pg_database d WHERE d.datname = current_database()`).Scan(&id.Version, &id.Database, &oid, &controlled)
	if err != nil {
		return engine.Identity{}, fmt.Errorf("cannot tell which server this is: %w", err)
	}
	system := `SELECT system_identifier::text FROM pg_control_system()`
	if !controlled {
		system = `SELECT 'cluster-' || md5(string_agg(d.datname || d.oid || d.datdba || d.datcollate || d.datctype, ',' ORDER BY d.oid))
			FROM pg_database d WHERE d.datistemplate OR d.datname = current_database()`
	}
	var cluster string
	if err := s.on.QueryRow(ctx, system).Scan(&cluster); err != nil {
		return engine.Identity{}, fmt.Errorf("cannot tell which server this is: %w", err)
	}
	id.ID = fmt.Sprintf("%s/%d", cluster, oid)
	return id, nil
}
