package mysql

import (
	"context"
	"fmt"
	"slices"

	"godwit/internal/engine"
)

const (
	// buildLock is how many seconds the building of indexes waits for the lock of
	// the shadow, which none but Godwit writes to.
	buildLock = 60
	// buildMemory is how many bytes the server may sort in at once.
	buildMemory = 64 << 20
)

// BuildShadow builds the indexes of a Build, unless they are there. It is one
// statement, which is done as a whole or not at all; one whose worker has gone
// is ended.
func (s *Server) BuildShadow(ctx context.Context, r *engine.Reshaping, b engine.Build) error {
	now, err := s.Table(ctx, r.Shadow)
	if err != nil {
		return err
	}
	missing := slices.ContainsFunc(r.Made.Indexes, func(want engine.Index) bool {
		return !slices.ContainsFunc(now.Indexes, func(has engine.Index) bool { return has.Name == want.Name })
	})
	if !missing {
		return nil
	}
	flavor, _, err := s.learn(ctx)
	if err != nil {
		return err
	}
	conn, err := s.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Destroy() // its settings are not those of the pool's other sessions
	settings := s.Impatient(buildLock, buildLock)
	if flavor == mysqlFlavor {
		settings = append(settings, fmt.Sprintf("SET SESSION innodb_ddl_buffer_size = %d", buildMemory))
	}
	for _, statement := range append(settings, b.SQL) {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return fmt.Errorf("build %s of %s: %w", b.Name, r.Shadow, err)
		}
	}
	return nil
}
