package sandbox

import (
	"context"
	"os/exec"

	"godwit/internal/process"
)

func findMariaDB() engine {
	programs, _ := mariadbPrograms()
	e := &mysqlFamily{
		server: []string{programs.server, "--no-defaults"}, program: lookPath("mariadb", "mysql"),
		settings: map[string]string{"innodb_log_file_size": "48M"},
		fast: map[string]string{
			"innodb_flush_log_at_trx_commit": "0", "innodb_flush_method": "nosync", "innodb_doublewrite": "0", "sync_binlog": "0",
		},
	}
	e.create = func(ctx context.Context, s *Server) error { return createMariaDB(ctx, e, programs.install, s) }
	return e
}

type mariadbTools struct{ server, install string }

func mariadbPrograms() (tools mariadbTools, complete bool) {
	tools = mariadbTools{server: lookPath("mariadbd"), install: lookPath("mariadb-install-db")}
	return tools, tools.server != "" && tools.install != ""
}

func createMariaDB(ctx context.Context, e *mysqlFamily, install string, s *Server) error {
	log, err := s.openLog()
	if err != nil {
		return err
	}
	defer log.Close()
	args := append([]string{"--no-defaults"}, e.place(s.data())...)
	// In a shared folder a server that starts removes the temporary tables of others.
	args = append(args, "--tmpdir="+s.tmp(), "--auth-root-authentication-method=socket", "--skip-test-db", "--innodb-flush-method=nosync",
		// as it will be, or the first start writes the log anew
		setting("innodb_log_file_size", e.effective(s)["innodb_log_file_size"]))
	cmd := exec.Command(install, args...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = s.Dir, serverEnvironment(), log, log
	return process.Run(ctx, cmd)
}
