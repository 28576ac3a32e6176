package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"godwit/internal/engine"
	"godwit/internal/fault"
	"godwit/internal/task"
)

// logSuffix names changelogs.
const logSuffix = "__gw_log"

// captureMode is the sql_mode of the triggers: whatever the application's mode
// has let into the table goes into the changelog as it is.
const captureMode = "NO_AUTO_VALUE_ON_ZERO,ALLOW_INVALID_DATES,NO_ENGINE_SUBSTITUTION"

const (
	captureTries = 8               // for the lock of a table
	capturePause = 1 * time.Second // between two of them
	// captureDeath is how many seconds a worker that hangs keeps the table's lock.
	captureDeath = 5
)

// CaptureOf names what notes the changes of a table.
func (s *Server) CaptureOf(t *engine.Table) *engine.Capture {
	return &engine.Capture{Table: t, Log: Beside(t.Name, logSuffix)}
}

// unnoted is the variable of a session whose writes to a derived table are not noted.
const unnoted = "@godwit_unnoted"

// Unnoted makes a session one whose writes to derived tables are not noted.
func (s *Server) Unnoted() []string { return []string{"SET " + unnoted + " = 1"} }

// captureTrigger is one of the triggers that note changes.
type captureTrigger struct{ name, event, body string }

// captureTriggers are the triggers of a table. They write the key and nothing
// else. A changelog that somebody has dropped is no error for the application;
// whoever drains it finds out.
func captureTriggers(c *engine.Capture) []captureTrigger {
	note := func(op, row string) string {
		into, values := []string{engine.LogOp}, []string{"'" + op + "'"}
		for _, column := range c.Table.Key {
			into, values = append(into, Quote(c.LogKey(column))), append(values, row+"."+Quote(column))
		}
		return "INSERT INTO " + QuoteName(c.Log) + " (" + strings.Join(into, ", ") + ") VALUES (" + strings.Join(values, ", ") + "); "
	}
	body := func(statements string) string {
		if c.Derived {
			statements = "IF " + unnoted + " IS NULL THEN " + statements + "END IF; "
		}
		return fmt.Sprintf("BEGIN DECLARE CONTINUE HANDLER FOR %d BEGIN END; %sEND", noSuchTable, statements)
	}
	// Byte for byte: to another table's collation, two that are the same to this
	// one may be different.
	var moved []string
	for _, column := range c.Table.Key {
		before, after := "OLD."+Quote(column), "NEW."+Quote(column)
		if c.Table.Column(column).Type.Charset != "" {
			before, after = "CAST("+before+" AS BINARY)", "CAST("+after+" AS BINARY)"
		}
		moved = append(moved, "NOT "+before+" <=> "+after)
	}
	name := func(suffix string) string { return Beside(engine.Name{Table: c.Log.Table}, suffix).Table }
	return []captureTrigger{
		{name("_i"), "INSERT", body(note(engine.Inserted, "NEW"))},
		{name("_u"), "UPDATE", body(note(engine.Updated, "NEW") + "IF " + strings.Join(moved, " OR ") + " THEN " + note(engine.Deleted, "OLD") + "END IF; ")},
		{name("_d"), "DELETE", body(note(engine.Deleted, "OLD"))},
	}
}

// CreateCapture makes the changelog and the triggers, as far as they are not
// there. All triggers that are missing are made under one lock of the table, so
// that the application waits once, and not for long: what holds the table makes
// it step back and try again, and finally fail with class busy.
func (s *Server) CreateCapture(ctx context.Context, c *engine.Capture) error {
	if len(c.Table.Key) == 0 {
		return keyless(c)
	}
	if _, err := s.Exec(ctx, createLog(c)); err != nil {
		return fmt.Errorf("make the changelog %s: %w", c.Log, err)
	}
	if err := s.checkLog(ctx, c); err != nil {
		return err
	}
	door := fmt.Sprintf("INSERT IGNORE INTO %s (%s, %s) VALUES (0, '%s')", QuoteName(c.Log), engine.LogID, engine.LogOp, engine.Door)
	if _, err := s.Exec(ctx, door); err != nil {
		return fmt.Errorf("begin the changelog %s: %w", c.Log, err)
	}
	missing := func(ctx context.Context) (engine.Name, []string, error) {
		there, err := s.findTriggers(ctx, c)
		if err != nil {
			return c.Table.Name, nil, err
		}
		var statements []string
		for _, t := range captureTriggers(c) {
			found, ok := there[t.name]
			switch {
			case !ok:
				statements = append(statements, "CREATE TRIGGER "+QuoteName(engine.Name{Schema: c.Log.Schema, Table: t.name})+
					" AFTER "+t.event+" ON "+QuoteName(c.Table.Name)+" FOR EACH ROW "+t.body)
			case found.table != c.Table.Name.Table || found.body != t.body:
				return c.Table.Name, nil, fault.About(c.Table.Name.String(), task.Config, "trigger %s of table %s exists already and is not the one to be made: drop it", t.name, found.table)
			}
		}
		return c.Table.Name, statements, nil
	}
	return s.underLock(ctx, c, "make the triggers that note changes", missing)
}

func keyless(c *engine.Capture) error {
	return fault.About(c.Table.Name.String(), task.Config, "changes of %s cannot be noted, since its rows cannot be told apart: %s; give it a primary key", c.Table.Name, c.Table.KeyProblem)
}

// createLog writes the changelog's columns as copies of the key's; the outer
// join makes them nullable, for the entry of number 0.
func createLog(c *engine.Capture) string {
	list := make([]string, len(c.Table.Key))
	for i, column := range c.Table.Key {
		list[i] = "t." + Quote(column) + " AS " + Quote(c.LogKey(column))
	}
	return fmt.Sprintf("CREATE TABLE IF NOT EXISTS %s (%s bigint NOT NULL AUTO_INCREMENT PRIMARY KEY, %s timestamp(3) NULL DEFAULT CURRENT_TIMESTAMP(3), %s char(1) NOT NULL DEFAULT '"+engine.Door+"') ENGINE=InnoDB"+
		" COMMENT=%s AS SELECT %s FROM (SELECT 1 AS one) AS nothing LEFT JOIN %s AS t ON FALSE LIMIT 0", QuoteName(c.Log), engine.LogID, engine.LogTime, engine.LogOp,
		quoteText("keys of changed rows of "+c.Table.Name.String()), strings.Join(list, ", "), QuoteName(c.Table.Name))
}

// checkLog makes sure that the changelog is there and has the key's types.
func (s *Server) checkLog(ctx context.Context, c *engine.Capture) error {
	log, err := s.Table(ctx, c.Log)
	if errors.Is(err, engine.ErrNoTable) {
		return gone(c, "the changelog "+c.Log.String()+" is not there")
	}
	if err != nil {
		return err
	}
	for _, name := range c.Table.Key {
		want, has := c.Table.Column(name).Type, log.Column(c.LogKey(name))
		if has == nil || has.Type.Full != want.Full || has.Type.Charset != want.Charset || has.Type.Collation != want.Collation {
			return fault.About(c.Table.Name.String(), task.Config, "table %s exists already and is not the changelog to be made: column %s is not a %s; drop the table",
				c.Log, c.LogKey(name), want.Full)
		}
	}
	return nil
}

// gone is the fault of a capture that somebody has taken apart.
func gone(c *engine.Capture, what string) error {
	return fault.About(c.Table.Name.String(), task.Human, "%s: changes of %s were not noted since it went; undo the migration and start it again", what, c.Table.Name)
}

// foundTrigger is a trigger as the catalog has it.
type foundTrigger struct{ table, body string }

// findTriggers looks for the triggers by name: they may be on a table that has
// been renamed meanwhile.
func (s *Server) findTriggers(ctx context.Context, c *engine.Capture) (map[string]foundTrigger, error) {
	found := map[string]foundTrigger{}
	var names []string
	for _, t := range captureTriggers(c) {
		names = append(names, quoteText(t.name))
	}
	err := collect(ctx, s.db, func(rows *sql.Rows) error {
		var name string
		var t foundTrigger
		err := rows.Scan(&name, &t.table, &t.body)
		found[name] = t
		return err
	}, "SELECT TRIGGER_NAME, EVENT_OBJECT_TABLE, ACTION_STATEMENT FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = ? AND TRIGGER_NAME IN ("+strings.Join(names, ", ")+")", c.Log.Schema)
	if err != nil {
		return nil, fmt.Errorf("look for the triggers of %s: %w", c.Table.Name, err)
	}
	return found, nil
}

// VerifyCapture makes sure that everything that notes changes is still there,
// and is on the table, or on the one that it has become.
func (s *Server) VerifyCapture(ctx context.Context, c *engine.Capture, on engine.Name) error {
	if err := s.checkLog(ctx, c); err != nil {
		return err
	}
	there, err := s.findTriggers(ctx, c)
	if err != nil {
		return err
	}
	for _, t := range captureTriggers(c) {
		if found, ok := there[t.name]; !ok || found.table != on.Table || found.body != t.body {
			return gone(c, "the trigger "+t.name+" of "+on.String()+" is not there")
		}
	}
	return nil
}

// DropCapture removes the triggers and the changelog, whatever there is of them.
func (s *Server) DropCapture(ctx context.Context, c *engine.Capture) error {
	missing := func(ctx context.Context) (engine.Name, []string, error) {
		there, err := s.findTriggers(ctx, c)
		on := c.Table.Name
		var statements []string
		for name, t := range there {
			on.Table = t.table
			statements = append(statements, "DROP TRIGGER IF EXISTS "+QuoteName(engine.Name{Schema: c.Log.Schema, Table: name}))
		}
		slices.Sort(statements)
		return on, statements, err
	}
	if err := s.underLock(ctx, c, "remove the triggers that note changes", missing); err != nil {
		return err
	}
	if _, err := s.Exec(ctx, "DROP TABLE IF EXISTS "+QuoteName(c.Log)); err != nil {
		return fmt.Errorf("remove the changelog %s: %w", c.Log, err)
	}
	return nil
}

// underLock runs what is missing while it has the table's lock, and looks again
// until nothing is missing. The lock is waited for a second at a time, since
// everybody who comes after has to wait behind it.
func (s *Server) underLock(ctx context.Context, c *engine.Capture, what string, missing func(context.Context) (engine.Name, []string, error)) error {
	for try := 0; ; try++ {
		on, statements, err := missing(ctx)
		if err != nil || len(statements) == 0 {
			return err
		}
		err = s.locked(ctx, on, missing)
		if err == nil {
			continue
		}
		class, known := Classify(err)
		if !known || !class.Retryable() || try == captureTries {
			if class == task.Busy {
				return fault.About(on.String(), task.Busy, "%s of %s: the lock of the table was not to be had in %d tries of a second each: %w", what, c.Table.Name, try+1, err)
			}
			return fmt.Errorf("%s of %s: %w", what, c.Table.Name, err)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(capturePause):
		}
	}
}

// locked does once, under the table's lock, what is missing then: another worker
// may have been faster. A worker that hangs meanwhile loses its session.
func (s *Server) locked(ctx context.Context, on engine.Name, missing func(context.Context) (engine.Name, []string, error)) error {
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return err
	}
	own := &session{conn: conn}
	defer own.cut() // its settings are not those of the pool's other sessions
	begin := []string{
		fmt.Sprintf("SET SESSION lock_wait_timeout = 1, wait_timeout = %d, sql_mode = '%s'", captureDeath, captureMode),
		"LOCK TABLES " + QuoteName(on) + " WRITE",
	}
	for _, statement := range begin {
		if _, err := own.Exec(ctx, statement); err != nil {
			return err
		}
	}
	still, statements, err := missing(ctx)
	if err != nil || still != on {
		return err
	}
	for _, statement := range statements {
		if _, err := own.Exec(ctx, statement); err != nil {
			return err
		}
	}
	_, err = own.Exec(ctx, "UNLOCK TABLES")
	return err
}
