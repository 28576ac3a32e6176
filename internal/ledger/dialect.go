package ledger

import (
	"strconv"
	"strings"

	"godwit/internal/engine"
)

// dialect rewrites the ledger's queries for one engine.
type dialect struct {
	prefix  string // of table names
	replace *strings.Replacer
	dollar  bool   // $1 instead of ?
	options string // of every table that is made
}

func newDialect(d engine.Dialect) dialect {
	if d == engine.MySQLDialect {
		return dialect{prefix: "_godwit_", options: mysqlOptions, replace: strings.NewReplacer(
			`"`, "`",
			"{now}", "utc_timestamp(6)",
			"{json}", "json",
			"{time}", "datetime(6)",
			"{name}", "varchar(300)",
			"{text}", "longtext",
			"{serial}", "bigint not null auto_increment",
			"{from_nothing}", "from dual",
			"{create_schema}", "",
		)}
	}
	return dialect{prefix: "godwit.", dollar: true, replace: strings.NewReplacer(
		"{now}", "clock_timestamp()",
		"{json}", "jsonb",
		"{time}", "timestamptz",
		"{name}", "text",
		"{text}", "text",
		"{serial}", "bigint generated always as identity",
		"{from_nothing}", "",
		// "if not exists" asks for the right to make it also where it is there.
		"{create_schema}", "do $$ begin if to_regnamespace('godwit') is null then create schema godwit; end if; end $$",
	)}
}

// mysqlOptions make tables that do not depend on the server's defaults: they
// have transactions, and keys with long names in them.
const mysqlOptions = " engine = InnoDB row_format = dynamic default character set utf8mb4 collate utf8mb4_bin"

var tableNames = []string{"schema_version", "migration", "item", "shard", "event", "claim", "backup", "hold", "baseline", "lent", "step"}

// sql rewrites a query as the package comment tells.
func (d dialect) sql(query string) string {
	for _, name := range tableNames {
		query = strings.ReplaceAll(query, "{"+name+"}", d.prefix+name)
	}
	query = d.replace.Replace(query)
	if !d.dollar {
		return query
	}
	var b strings.Builder
	n := 0
	for _, r := range query {
		if r != '?' {
			b.WriteRune(r)
			continue
		}
		n++
		b.WriteString("$" + strconv.Itoa(n))
	}
	return b.String()
}
