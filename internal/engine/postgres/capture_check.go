package postgres

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"godwit/internal/engine"
)

// CheckCapture finds out beforehand whether the changes of a table can be noted,
// all of them. The error, a fault of class config, names what is missing and the
// statement that mends it; the warnings are what no trigger can see.
func (s *Server) CheckCapture(ctx context.Context, c *engine.Capture) (warnings []string, err error) {
	if len(c.Table.Key) == 0 {
		return nil, keyless(c)
	}
	if err := s.Transactional(ctx, c.Table.Name); err != nil {
		return nil, err
	}
	check := &privilegeCheck{on: s.on}
	check.server(ctx)
	check.own(ctx, c.Table.Name) // triggers are enabled and dropped by the owner alone
	check.schema(ctx, ledgerSchema)
	if err := check.verdict(); err != nil {
		return nil, err
	}
	rows, err := s.on.Query(ctx, `SELECT pubname FROM pg_publication WHERE puballtables ORDER BY 1`)
	if err != nil {
		return nil, err
	}
	published, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("ask for the publications: %w", err)
	}
	if len(published) > 0 {
		warnings = append(warnings, fmt.Sprintf("publication %s is FOR ALL TABLES: its subscribers get the changelog %s as well, and stop where they have no such table", strings.Join(published, ", "), c.Log))
	}
	if c.Table.Partitioned {
		warnings = append(warnings, fmt.Sprintf("rows that come or go with a partition of %s (ATTACH, DETACH, DROP) are not noticed: leave its partitions as they are meanwhile", c.Table.Name))
	}
	return warnings, nil
}
