package sandbox

import (
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// serverEnvironment is all that servers get of ours: the rest, connection secrets among it, is none of their business.
func serverEnvironment() []string {
	environment := []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C"}
	if zone, ok := os.LookupEnv("TZ"); ok {
		environment = append(environment, "TZ="+zone)
	}
	return environment
}

// clientEnvironment is ours without the variables that have the prefix, and with these.
func clientEnvironment(without string, with ...string) []string {
	var environment []string
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, without) {
			environment = append(environment, variable)
		}
	}
	return append(environment, with...)
}

// account is the user that a server which refuses to run as root runs as instead.
type account struct {
	name     string
	uid, gid uint32
}

// unprivileged is the first of the names that exists, or nil when we are not root and servers run as ourselves.
func unprivileged(names ...string) (*account, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, name := range names {
		found, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err := strconv.ParseUint(found.Uid, 10, 32)
		if err != nil {
			return nil, err
		}
		gid, err := strconv.ParseUint(found.Gid, 10, 32)
		if err != nil {
			return nil, err
		}
		return &account{name: name, uid: uint32(uid), gid: uint32(gid)}, nil
	}
	return nil, fmt.Errorf("the server does not run as root, and there is none of the users %s: make one, or do not be root",
		strings.Join(names, ", "))
}

func (a *account) attributes() *syscall.SysProcAttr {
	if a == nil {
		return &syscall.SysProcAttr{}
	}
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: a.uid, Gid: a.gid}}
}

func (a *account) own(path string) error {
	if a == nil {
		return nil
	}
	return os.Chown(path, int(a.uid), int(a.gid))
}

// checkEntry fails when the account cannot get to path, which the server itself would say in a less helpful way.
func (a *account) checkEntry(path string) error {
	if a == nil {
		return nil
	}
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		if err != nil {
			return err
		}
		if info.Mode().Perm()&0o001 == 0 {
			return fmt.Errorf("the server runs as user %s, who may not enter %s: choose another folder (Options.Dir, TMPDIR) "+
				"or let others enter it (chmod o+x)", a.name, dir)
		}
		if dir == filepath.Dir(dir) {
			return nil
		}
	}
}
