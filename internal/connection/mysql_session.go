package connection

import "strings"

// mysqlSession are the statements that set a MySQL or MariaDB session up, so
// that it does not depend on how the server is configured.
//
//   - Values: UTC for TIMESTAMP; strict writing, so that a value that does not
//     fit is an error and not clipped; an id of 0 stays 0; zero dates can be
//     read and compared, because NO_ZERO_DATE and NO_ZERO_IN_DATE are not there;
//     "…" is a string, CHAR comes without padding.
//   - Waiting: 5 s for a row, a minute for a table; no limit on how long a
//     statement runs, or on how much a SELECT looks at or returns; the server
//     waits an hour for a worker that reads or writes slowly, or not at all,
//     and then ends the session with its locks.
//   - READ COMMITTED, because a session here sees each chunk as it is now, and
//     so that writing takes no gap locks.
//
// Each of the two servers executes the comments that are meant for it: MySQL
// those with 50708, which MariaDB passes over as it does from 50700 on.
var mysqlSession = []string{
	"SET " + strings.Join([]string{
		"time_zone = '+00:00'",
		"sql_mode = 'STRICT_ALL_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_AUTO_VALUE_ON_ZERO,NO_ENGINE_SUBSTITUTION'",
		"autocommit = 1",
		"sql_auto_is_null = 0",
		"sql_safe_updates = 0",
		"sql_big_selects = 1",
		"sql_select_limit = 18446744073709551615",
		"group_concat_max_len = 1073741824",
		"innodb_lock_wait_timeout = 5",
		"lock_wait_timeout = 60",
		"net_read_timeout = 3600",
		"net_write_timeout = 3600",
		"wait_timeout = 3600",
	}, ", ") +
		" /*!50708 , max_execution_time = 0 */" +
		" /*M!100100 , max_statement_time = 0 */",
	"SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
}
