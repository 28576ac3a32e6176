package mysql

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"godwit/internal/engine"
)

// Identity tells which server and database the pool reaches.
func (s *Server) Identity(ctx context.Context) (engine.Identity, error) {
	flavor, version, err := s.learn(ctx)
	if err != nil {
		return engine.Identity{}, err
	}
	id := engine.Identity{Flavor: flavor, Version: version}
	var database sql.NullString
	if err := s.db.QueryRowContext(ctx, "SELECT DATABASE()").Scan(&database); err != nil {
		return engine.Identity{}, fmt.Errorf("ask the server for its database: %w", err)
	}
	id.Database = database.String
	if flavor == mariadbFlavor {
		id.ID, err = s.mariadbID(ctx)
	} else {
		err = s.db.QueryRowContext(ctx, "SELECT @@server_uuid").Scan(&id.ID)
	}
	if err != nil {
		return engine.Identity{}, fmt.Errorf("ask the server for its identity: %w", err)
	}
	return id, nil
}

// mariadbID makes an identity for MariaDB, which has none that belongs to the
// data. Its server_uid is made from the address of the network card and changes
// when a container or a managed server is moved, which is just when a migration
// has to be resumed. So: the id of the cluster's data where there is a cluster,
// else what is configured along with the data and moves with it.
func (s *Server) mariadbID(ctx context.Context) (string, error) {
	var cluster string
	err := collect(ctx, s.db, func(rows *sql.Rows) error {
		var name string
		return rows.Scan(&name, &cluster)
	}, "SHOW GLOBAL STATUS LIKE 'wsrep_cluster_state_uuid'")
	if err != nil {
		return "", err
	}
	if strings.Trim(cluster, "0-") != "" {
		return cluster, nil
	}
	var server, domain, port, directory string
	err = s.db.QueryRowContext(ctx, "SELECT @@server_id, @@gtid_domain_id, @@port, @@datadir").Scan(&server, &domain, &port, &directory)
	return fmt.Sprintf("server %s-%s port %s in %s", domain, server, port, directory), err
}
