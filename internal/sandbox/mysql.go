package sandbox

import (
	"context"
	"fmt"
	"hash/fnv"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"godwit/internal/process"
)

func findMySQL() engine {
	programs := findMySQLPrograms()
	e := &mysqlFamily{
		server: programs.server, program: lookPath("mysql", "mariadb"),
		settings: map[string]string{"loose_mysqlx": "OFF"},
		fast: map[string]string{
			"innodb_flush_log_at_trx_commit": "0", "innodb_flush_method": "nosync", "innodb_doublewrite": "OFF", "sync_binlog": "0",
		},
	}
	e.create = func(ctx context.Context, s *Server) error { return createMySQL(ctx, e, programs.version, s) }
	return e
}

// mysqlPrograms is a server of MySQL 8 or newer: one that is installed, or one that Install has put into the cache.
type mysqlPrograms struct {
	server  []string // empty: there is none
	version string
}

func findMySQLPrograms() mysqlPrograms {
	if path := lookPath("mysqld"); path != "" {
		if version := mysqlVersion([]string{path}); version != "" {
			return mysqlPrograms{server: []string{path, "--no-defaults"}, version: version}
		}
	}
	root := cachedMySQL()
	if root == "" {
		return mysqlPrograms{}
	}
	return mysqlPrograms{server: unpackedMySQL(root), version: strings.TrimPrefix(filepath.Base(root), mysqlFolder)}
}

const oldestMySQL = 8

var mysqlVersionPattern = regexp.MustCompile(`Ver ((\d+)\.[\w.+~-]+) `)

// mysqlVersion is that of a MySQL server that is new enough, or nothing; MariaDB often calls its server mysqld, too.
func mysqlVersion(server []string) string {
	output, err := exec.Command(server[0], append(slices.Clone(server[1:]), "--version")...).Output()
	match := mysqlVersionPattern.FindSubmatch(output)
	if err != nil || match == nil || strings.Contains(string(output), "MariaDB") {
		return ""
	}
	if major, err := strconv.Atoi(string(match[2])); err != nil || major < oldestMySQL {
		return ""
	}
	return string(match[1])
}

// mysqlFolder begins the names of the cache's folders that hold an unpacked MySQL; its version follows.
const mysqlFolder = "mysql-"

// cachedMySQL is the folder of the newest MySQL in the cache, or "".
func cachedMySQL() string {
	cache, err := cacheFolder()
	if err != nil {
		return ""
	}
	found, _ := filepath.Glob(filepath.Join(cache, mysqlFolder+"[0-9]*")) // only a bad pattern is an error
	if len(found) == 0 {
		return ""
	}
	return newest(found, filepath.Base)
}

// unpackedMySQL is the command line of a server that lies, together with every library it needs, below root: the system
// may be older than the server, so not even the C library is the system's, and the server is started by its own loader.
func unpackedMySQL(root string) []string {
	usr := filepath.Join(root, "usr")
	server := []string{
		filepath.Join(usr, "sbin", "mysqld"), "--no-defaults", "--basedir=" + usr,
		"--lc-messages-dir=" + filepath.Join(usr, "share", "mysql"), "--plugin-dir=" + filepath.Join(usr, "lib", "mysql", "plugin"),
	}
	libraries, _ := filepath.Glob(filepath.Join(usr, "lib", "*-linux-gnu*")) // only a bad pattern is an error
	for _, pattern := range []string{"lib64/ld-linux-*.so.*", "lib/ld-linux-*.so.*"} {
		if loaders, _ := filepath.Glob(filepath.Join(usr, pattern)); len(loaders) > 0 {
			return append([]string{loaders[0], "--library-path", strings.Join(libraries, ":")}, server...)
		}
	}
	return server
}

// createMySQL copies a data directory that was made once: making one takes MySQL several seconds.
func createMySQL(ctx context.Context, e *mysqlFamily, version string, s *Server) error {
	template, err := mysqlTemplate(ctx, e, version, s)
	if err != nil {
		return err
	}
	if err := process.Run(ctx, exec.Command("cp", "-a", template, s.data())); err != nil {
		return fmt.Errorf("copy %s: %w", template, err)
	}
	// Every server has an id of its own, which it makes when it has none.
	return os.Remove(filepath.Join(s.data(), "auto.cnf"))
}

func mysqlTemplate(ctx context.Context, e *mysqlFamily, version string, s *Server) (string, error) {
	options := []string{"--initialize-insecure", "--innodb-flush-method=nosync", "--innodb-doublewrite=OFF", "--loose-innodb-redo-log-capacity=32M"}
	hash := fnv.New32a()
	fmt.Fprint(hash, options)
	name := fmt.Sprintf("data-of-mysql-%s-%08x", version, hash.Sum32())
	existing := func() string {
		cache, err := cacheFolder()
		if err != nil {
			return ""
		}
		if _, err := os.Stat(filepath.Join(cache, name)); err != nil {
			return ""
		}
		return filepath.Join(cache, name)
	}
	return publish(ctx, name, existing, func(dir string) (string, error) {
		s.say("preparing a data directory of MySQL %s, once for all", version)
		log, err := s.openLog()
		if err != nil {
			return "", err
		}
		defer log.Close()
		args := append(slices.Clone(e.server[1:]), e.place(dir)...)
		cmd := exec.Command(e.server[0], append(args, options...)...)
		cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = s.Dir, serverEnvironment(), log, log
		return name, process.Run(ctx, cmd)
	})
}
