package mysql

import (
	"context"
	"database/sql"
	"strings"

	"godwit/internal/engine"
)

// stage is a stage of a build on MySQL.
type stage struct {
	name string // how the server's words for it begin
	part float64
	// from and until are where its work is among what the server estimates for all
	// stages together, as it counts it.
	from, until float64
}

// stages are those of an index that is built in place, in their order; measured
// on tables of some million rows.
var stages = []stage{
	{"alter table (read PK", 0.30, 0, 0.50},
	{"alter table (merge sort", 0.42, 0.45, 0.63},
	{"alter table (insert", 0.24, 0.63, 0.86},
	{"alter table", 0.04, 0.86, 1},
}

// stretches are those on MariaDB, which tells of all of them together by one number.
var stretches = []stage{
	{"reading rows", 0.42, 0, 0.50},
	{"sorting", 0.35, 0.50, 0.70},
	{"inserting", 0.23, 0.70, 1},
}

// IndexProgress tells how far the build of a session has come.
func (s *Server) IndexProgress(ctx context.Context, session string, _ int) (engine.IndexProgress, error) {
	none := engine.IndexProgress{Within: -1}
	flavor, _, err := s.learn(ctx)
	if err != nil {
		return none, err
	}
	id, _, _ := strings.Cut(session, "@")
	read := s.stage
	if flavor == mariadbFlavor {
		read = s.percentage
	}
	p, err := read(ctx, id)
	if isDenied(err) || number(err) == noSuchTable {
		return none, nil
	}
	return p, err
}

// stage reads the stage that has come furthest: threads that help have their own,
// and no session that they belong to.
func (s *Server) stage(ctx context.Context, id string) (engine.IndexProgress, error) {
	p, most := engine.IndexProgress{Within: -1}, -1.0
	err := collect(ctx, s.db, func(rows *sql.Rows) error {
		var name string
		var share float64
		if err := rows.Scan(&name, &share); err != nil || share <= most {
			return err
		}
		most = share
		p.Phase = strings.TrimPrefix(name, "stage/innodb/")
		p.Before = 0
		for _, st := range stages {
			if strings.HasPrefix(p.Phase, st.name) {
				p.Part, p.Within = st.part, max(0, min(1, (share-st.from)/(st.until-st.from)))
				break
			}
			p.Before += st.part
		}
		return nil
	}, `SELECT e.EVENT_NAME, COALESCE(e.WORK_COMPLETED / NULLIF(e.WORK_ESTIMATED, 0), 0) FROM performance_schema.events_stages_current e
		JOIN performance_schema.threads t ON t.THREAD_ID = e.THREAD_ID WHERE e.EVENT_NAME LIKE 'stage/innodb/alter table%' AND (t.PROCESSLIST_ID = ? OR t.PROCESSLIST_ID IS NULL)
		AND EXISTS (SELECT 1 FROM performance_schema.threads own JOIN performance_schema.events_stages_current o ON o.THREAD_ID = own.THREAD_ID
			WHERE own.PROCESSLIST_ID = ? AND o.EVENT_NAME LIKE 'stage/innodb/alter table%')`, id, id)
	return p, err
}

// percentage reads what MariaDB tells, which is one number for the whole server.
func (s *Server) percentage(ctx context.Context, id string) (engine.IndexProgress, error) {
	p := engine.IndexProgress{Within: -1}
	err := collect(ctx, s.db, func(rows *sql.Rows) error {
		var share float64
		if err := rows.Scan(&share); err != nil {
			return err
		}
		for _, st := range stretches {
			if share < st.until || st.until == 1 {
				p.Phase, p.Part, p.Within = st.name, st.part, min(1, (share-st.from)/(st.until-st.from))
				break
			}
			p.Before += st.part
		}
		return nil
	}, `SELECT (SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME = 'INNODB_ONLINEDDL_PCT_PROGRESS') / 10000
		FROM information_schema.PROCESSLIST WHERE ID = ? AND STATE = 'altering table'`, id)
	return p, err
}
