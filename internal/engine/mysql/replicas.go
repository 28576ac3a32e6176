package mysql

import (
	"context"
	"fmt"
)

// RepeatsStatements reports whether replicas follow this server, which are
// behind for as long as they repeat one long statement. Without the privilege
// PROCESS, they are not seen.
func (s *Server) RepeatsStatements(ctx context.Context) (bool, error) {
	var replicas int
	err := s.db.QueryRowContext(ctx, "SELECT count(*) FROM information_schema.PROCESSLIST WHERE COMMAND LIKE 'Binlog Dump%'").Scan(&replicas)
	if err != nil {
		return false, fmt.Errorf("look for replicas: %w", err)
	}
	return replicas > 0, nil
}
