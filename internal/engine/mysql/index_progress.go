package mysql

import (
	"context"
	"database/sql"
	"math"
	"strings"

	"godwit/internal/engine"
)

// stage is a stage of a build on MySQL.
type stage struct {
	name string // how the server's words for it begin
	// cost is what it takes, with the reading as 1; where rows are merged, each
	// time that they are.
	cost   float64
	merges bool
	// from and until are where its work is among what the server estimates for all
	// stages together, as it counts it.
	from, until float64
}

// stages are those of an index that is built in place, in their order; measured
// on tables of some million rows.
var stages = []stage{
	{name: "alter table (read PK", cost: 1, from: 0, until: 0.50},
	{name: "alter table (merge sort", cost: 0.18, merges: true, from: 0.45, until: 0.65},
	{name: "alter table (insert", cost: 0.80, from: 0.65, until: 0.87},
	{name: "alter table", cost: 0.13, from: 0.87, until: 1},
}

// stretches are those on MariaDB, which tells of all of them together by one number.
var stretches = []stage{
	{name: "reading rows", cost: 1, from: 0, until: 0.50},
	{name: "sorting", cost: 0.15, merges: true, from: 0.50, until: 0.70},
	{name: "inserting", cost: 0.60, from: 0.70, until: 1},
}

const (
	// sortBuffer is how much is sorted in memory before it is merged, in bytes: as
	// innodb_sort_buffer_size and innodb_ddl_buffer_size are if nobody sets them.
	sortBuffer = 1 << 20
	// entrySize is what a row takes in it, about. A wrong one counts little: twice
	// as much is one merge more.
	entrySize = 48
)

// merges is how often rows are merged until all are in order.
func merges(rows int64) float64 {
	return max(1, math.Ceil(math.Log2(float64(rows)*entrySize/sortBuffer)))
}

// locate finds the part that a stage is of all.
func locate(all []stage, at int, rows int64) (before, part float64) {
	var sum float64
	for i, st := range all {
		cost := st.cost
		if st.merges {
			cost *= merges(rows)
		}
		switch {
		case i < at:
			before += cost
		case i == at:
			part = cost
		}
		sum += cost
	}
	return before / sum, part / sum
}

// IndexProgress tells how far a build has come.
func (s *Server) IndexProgress(ctx context.Context, b engine.IndexBuild) (engine.IndexProgress, error) {
	none := engine.IndexProgress{Within: -1}
	flavor, _, err := s.learn(ctx)
	if err != nil {
		return none, err
	}
	id, _, _ := strings.Cut(b.Session, "@")
	read := s.stage
	if flavor == mariadbFlavor {
		read = s.percentage
	}
	p, err := read(ctx, id, b.Rows)
	if isDenied(err) || number(err) == noSuchTable {
		return none, nil
	}
	return p, err
}

// stage reads the stage that has come furthest: threads that help have their own,
// and no session that they belong to.
func (s *Server) stage(ctx context.Context, id string, read int64) (engine.IndexProgress, error) {
	p, most := engine.IndexProgress{Within: -1}, -1.0
	err := collect(ctx, s.db, func(rows *sql.Rows) error {
		var name string
		var share float64
		if err := rows.Scan(&name, &share); err != nil || share <= most {
			return err
		}
		most = share
		p.Phase = strings.TrimPrefix(name, "stage/innodb/")
		for i, st := range stages {
			if strings.HasPrefix(p.Phase, st.name) {
				p.Before, p.Part = locate(stages, i, read)
				p.Within = max(0, min(1, (share-st.from)/(st.until-st.from)))
				break
			}
		}
		return nil
	}, `SELECT e.EVENT_NAME, COALESCE(e.WORK_COMPLETED / NULLIF(e.WORK_ESTIMATED, 0), 0) FROM performance_schema.events_stages_current e
		JOIN performance_schema.threads t ON t.THREAD_ID = e.THREAD_ID WHERE e.EVENT_NAME LIKE 'stage/innodb/alter table%' AND (t.PROCESSLIST_ID = ? OR t.PROCESSLIST_ID IS NULL)
		AND EXISTS (SELECT 1 FROM performance_schema.threads own JOIN performance_schema.events_stages_current o ON o.THREAD_ID = own.THREAD_ID
			WHERE own.PROCESSLIST_ID = ? AND o.EVENT_NAME LIKE 'stage/innodb/alter table%')`, id, id)
	return p, err
}

// percentage reads what MariaDB tells, which is one number for the whole server.
func (s *Server) percentage(ctx context.Context, id string, read int64) (engine.IndexProgress, error) {
	p := engine.IndexProgress{Within: -1}
	err := collect(ctx, s.db, func(rows *sql.Rows) error {
		var share float64
		if err := rows.Scan(&share); err != nil {
			return err
		}
		for i, st := range stretches {
			if share < st.until || st.until == 1 {
				p.Before, p.Part = locate(stretches, i, read)
				p.Phase, p.Within = st.name, min(1, (share-st.from)/(st.until-st.from))
				break
			}
		}
		return nil
	}, `SELECT (SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME = 'INNODB_ONLINEDDL_PCT_PROGRESS') / 10000
		FROM information_schema.PROCESSLIST WHERE ID = ? AND STATE = 'altering table'`, id)
	return p, err
}
