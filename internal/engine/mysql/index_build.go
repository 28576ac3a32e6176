package mysql

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/dustin/go-humanize"

	"godwit/internal/engine"
)

// leastMemory is what a build sorts in at the least, in bytes, when its memory is halved.
const leastMemory = 1 << 20

// BuildSettings writes the statements by which a session builds as it may.
func (s *Server) BuildSettings(ctx context.Context, limits engine.BuildLimits) (settings []string, words string, err error) {
	flavor, _, err := s.learn(ctx)
	if err != nil {
		return nil, "", err
	}
	settings = s.Impatient(limits.LockWait, limits.LockWait)
	if flavor == mariadbFlavor {
		return settings, "as the server is set", nil
	}
	var threads, memory int64
	if err := s.db.QueryRowContext(ctx, "SELECT @@innodb_ddl_threads, @@innodb_ddl_buffer_size").Scan(&threads, &memory); err != nil {
		return nil, "", err
	}
	if limits.Workers != nil {
		threads = int64(*limits.Workers) + 1
	}
	if limits.Memory > 0 {
		memory = limits.Memory
	}
	threads = max(1, threads>>limits.Halved)
	memory = max(min(memory, leastMemory), memory>>limits.Halved)
	settings = append(settings, fmt.Sprintf("SET SESSION innodb_ddl_threads = %d, innodb_parallel_read_threads = %d, innodb_ddl_buffer_size = %d", threads, threads, memory))
	return settings, fmt.Sprintf("with %d threads and %s of memory", threads, humanize.IBytes(uint64(memory))), nil
}

// showsStages reports whether the server shows how far a build has come.
func (s *Server) showsStages(ctx context.Context) (bool, error) {
	flavor, _, err := s.learn(ctx)
	if err != nil || flavor == mariadbFlavor {
		return true, err
	}
	var on int
	err = s.db.QueryRowContext(ctx, "SELECT COUNT(*) FROM performance_schema.setup_consumers WHERE NAME = 'events_stages_current' AND ENABLED = 'YES'").Scan(&on)
	if isDenied(err) || number(err) == noSuchTable {
		return false, nil
	}
	return on > 0, err
}

// mostDuplicates is how many values are named.
const mostDuplicates = 5

// Duplicates names values that a unique index has no place for.
func (s *Server) Duplicates(ctx context.Context, w *engine.IndexWork) (string, error) {
	if !w.Unique || len(w.Keys) == 0 {
		return "", nil
	}
	var texts, conditions []string
	for _, key := range w.Keys {
		texts = append(texts, "CAST("+key+" AS CHAR)")
		conditions = append(conditions, key+" IS NOT NULL")
	}
	var found []string
	err := collect(ctx, s.db, func(rows *sql.Rows) error {
		var values string
		var count int64
		if err := rows.Scan(&values, &count); err != nil {
			return err
		}
		found = append(found, fmt.Sprintf("(%s)=(%s), %d rows", strings.Join(w.Keys, ", "), engine.ShortStatement(values), count))
		return nil
	}, "SELECT MIN(CONCAT_WS(', ', "+strings.Join(texts, ", ")+")), COUNT(*) FROM "+QuoteName(w.Table)+" WHERE "+strings.Join(conditions, " AND ")+
		" GROUP BY "+strings.Join(w.Keys, ", ")+fmt.Sprintf(" HAVING COUNT(*) > 1 LIMIT %d", mostDuplicates+1))
	if len(found) > mostDuplicates {
		found[mostDuplicates] = "…"
	}
	return strings.Join(found, "; "), err
}
