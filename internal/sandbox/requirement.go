package sandbox

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Requirement is something that is to be installed before a kind of server can be started.
type Requirement struct {
	Kind      Kind
	Name      string   // what it is, for people
	Packages  []string // of Debian and its relatives
	Private   bool     // the packages are unpacked into the user's cache, not installed
	Elsewhere string   // how it is got without them, as a sentence without a full stop
}

// MissingError is the error of Start for an engine that is not installed.
type MissingError struct{ Requirements []Requirement }

func (e *MissingError) Error() string {
	var names, remedies []string
	for _, r := range e.Requirements {
		names, remedies = append(names, r.Name), append(remedies, r.Elsewhere)
	}
	return fmt.Sprintf("not installed: %s; run `make deps`, or %s", strings.Join(names, ", "), strings.Join(remedies, "; "))
}

// Missing tells what is not installed of what these kinds need, each thing once, and nothing when all is there.
func Missing(kinds ...Kind) []Requirement {
	var found []Requirement
	for _, kind := range kinds {
		for _, r := range requirements(kind) {
			if !slices.ContainsFunc(found, func(f Requirement) bool { return f.Name == r.Name }) {
				found = append(found, r)
			}
		}
	}
	return found
}

// requirements are those of one kind that are not met.
func requirements(kind Kind) []Requirement {
	var unmet []Requirement
	need := func(met bool, r Requirement) {
		if !met {
			r.Kind = kind
			unmet = append(unmet, r)
		}
	}
	switch kind {
	case Postgres:
		bin := postgresPrograms()
		need(bin != "" && executable(filepath.Join(bin, "psql")), Requirement{
			Name: "PostgreSQL's server (initdb, postgres) and client (psql)", Packages: []string{"postgresql", "postgresql-client"},
			Elsewhere: "install PostgreSQL 13 or newer so that initdb and psql are in PATH",
		})
	case MariaDB:
		_, ok := mariadbPrograms()
		need(ok, Requirement{
			Name: "MariaDB's server (mariadbd, mariadb-install-db)", Packages: []string{"mariadb-server-core"},
			Elsewhere: "install MariaDB 10.6 or newer so that mariadbd and mariadb-install-db are in PATH",
		})
		need(lookPath("mariadb", "mysql") != "", mysqlClient)
	case MySQL:
		need(len(findMySQLPrograms().server) > 0, Requirement{
			Name: "MySQL's server (mysqld, 8 or newer)", Packages: []string{mysqlPackage}, Private: true,
			Elsewhere: "install MySQL 8 or newer so that its mysqld is in PATH",
		})
		need(lookPath("mysql", "mariadb") != "", mysqlClient)
	}
	return unmet
}

var mysqlClient = Requirement{
	Name: "the MariaDB or MySQL client (mariadb, mysql)", Packages: []string{"mariadb-client-core"},
	Elsewhere: "install MariaDB's or MySQL's client so that mariadb or mysql is in PATH",
}

// lookPath finds the first of the programs that exists. Servers are often in folders that only root's PATH has.
func lookPath(names ...string) string {
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
		for _, dir := range []string{"/usr/sbin", "/usr/local/sbin", "/usr/libexec"} {
			if path := filepath.Join(dir, name); executable(path) {
				return path
			}
		}
	}
	return ""
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0
}
