package ledger

import (
	"context"

	"godwit/internal/connection"
	"godwit/internal/engine"
	"godwit/internal/engine/mysql"
	"godwit/internal/engine/postgres"
	"godwit/internal/fault"
	"godwit/internal/task"
)

// Database is the database of a connection as one that a ledger is kept in.
func Database(ctx context.Context, c *connection.Connection) (engine.DB, error) {
	switch c.Engine {
	case connection.PostgresEngine:
		pool, err := c.Postgres(ctx)
		if err != nil {
			return nil, err
		}
		return postgres.New(pool), nil
	case connection.MySQLEngine:
		pool, err := c.MySQL(ctx)
		if err != nil {
			return nil, err
		}
		return mysql.New(pool), nil
	}
	return nil, fault.New(task.Config, "connection %s is a %s database, in which no ledger can be kept", c.Name, c.Engine)
}

// Privileges says what the user of a connection needs so that there can be a
// ledger, for the message when it cannot be made or used.
func Privileges(c *connection.Connection) string {
	if c.Engine == connection.PostgresEngine {
		return "its user has to be able to make the schema " + Schema + " (GRANT CREATE ON DATABASE …), or to use the one that is there and all of its tables"
	}
	return "its user has to be able to make and use tables in its database: GRANT " + mysql.OwnPrivileges + " ON " + mysql.Quote(c.Database()) + ".* TO " + c.User()
}
