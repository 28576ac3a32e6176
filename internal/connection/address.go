package connection

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"godwit/internal/document"
)

// address is where a connection leads.
type address struct {
	host     string
	port     int
	socket   string // of MySQL the file, of PostgreSQL its folder; instead of host
	user     string
	database string
}

func (a address) String() string {
	place := net.JoinHostPort(a.host, strconv.Itoa(a.port))
	if a.socket != "" {
		place = a.socket + ":"
	}
	return fmt.Sprintf("%s/%s as %s", place, a.database, a.user)
}

// server is the place alone.
func (a address) server() string {
	if a.socket != "" {
		return a.socket
	}
	return net.JoinHostPort(a.host, strconv.Itoa(a.port))
}

// local tells whether the way to the server does not leave the machine.
func (a address) local() bool {
	ip := net.ParseIP(a.host)
	return a.socket != "" || a.host == "localhost" || ip != nil && ip.IsLoopback()
}

// urlParameters are what a URL may say after the ?, by the names that psql and
// the mysql client know them by.
var urlParameters = map[string]func(p *parsedURL, value string) error{
	"sslmode":     setMode,
	"ssl-mode":    setMode,
	"tls":         setMode,
	"sslrootcert": func(p *parsedURL, v string) error { p.tls.CA = v; return nil },
	"ssl-ca":      func(p *parsedURL, v string) error { p.tls.CA = v; return nil },
	"sslcert":     func(p *parsedURL, v string) error { p.tls.Cert = v; return nil },
	"ssl-cert":    func(p *parsedURL, v string) error { p.tls.Cert = v; return nil },
	"sslkey":      func(p *parsedURL, v string) error { p.tls.Key = v; return nil },
	"ssl-key":     func(p *parsedURL, v string) error { p.tls.Key = v; return nil },
	"server_name": func(p *parsedURL, v string) error { p.tls.ServerName = v; return nil },
	"socket":      func(p *parsedURL, v string) error { p.address.socket = v; return nil },
	"pool":        setPool,
	"migrations":  func(p *parsedURL, value string) error { return setLimit(&p.limits.Migrations, value) },
	"shards":      func(p *parsedURL, value string) error { return setLimit(&p.limits.Shards, value) },
}

// modeSpellings are the words of psql, of the mysql client and of Go's driver.
var modeSpellings = map[string]tlsMode{
	"disabled": tlsDisable, "false": tlsDisable, "prefer": tlsPreferred, "required": tlsRequire, "skip-verify": tlsRequire,
	"verify_ca": tlsVerifyCA, "verify_identity": tlsVerifyFull, "true": tlsVerifyFull,
}

func setMode(p *parsedURL, value string) error {
	value = strings.ToLower(value)
	p.tls.Mode = tlsMode(value)
	if mode, known := modeSpellings[value]; known {
		p.tls.Mode = mode
	}
	if !slices.Contains(tlsMode("").Choices(), string(p.tls.Mode)) {
		return fmt.Errorf("is none of %s", strings.Join(tlsMode("").Choices(), ", "))
	}
	return nil
}

func setPool(p *parsedURL, value string) (err error) {
	if p.pool, err = strconv.Atoi(value); err != nil || p.pool < 2 || p.pool > maxPool {
		return fmt.Errorf("is not a number from 2 to %d", maxPool)
	}
	return nil
}

func setLimit(limit *int, value string) (err error) {
	if *limit, err = strconv.Atoi(value); err != nil || *limit < 1 || *limit > maxLimit {
		return fmt.Errorf("is not a number from 1 to %d", maxLimit)
	}
	return nil
}

// parsedURL is all that a URL says.
type parsedURL struct {
	engine      string
	address     address
	password    string
	hasPassword bool
	tls         tlsSettings
	pool        int
	limits      limits
}

var errURL = errors.New("is not a valid URL: write it like mysql://user:password@host:3306/database, " +
	"with special characters of the password as %XX (@ is %40, : is %3A, / is %2F, # is %23, ? is %3F, % is %25)")

// parseURL reads a connection's URL. Its errors repeat nothing of it but names
// of parameters, since what is misplaced in a URL is most likely a password.
func parseURL(text string) (*parsedURL, error) {
	u, err := url.Parse(strings.TrimSpace(text))
	if err != nil {
		return nil, errURL
	}
	p := &parsedURL{}
	switch u.Scheme {
	case "mysql", "mariadb":
		p.engine, p.address.port = MySQLEngine, 3306
	case "postgres", "postgresql":
		p.engine, p.address.port = PostgresEngine, 5432
	default:
		return nil, errors.New("must begin with mysql://, mariadb:// or postgres://")
	}
	if u.Opaque != "" || u.Fragment != "" || strings.Contains(u.Path, "@") {
		return nil, errURL
	}
	if u.User.Username() == "" {
		return nil, errors.New("names no user: write it like " + u.Scheme + "://user:password@host/database")
	}
	p.address.user = u.User.Username()
	p.password, p.hasPassword = u.User.Password()
	if p.address.database = strings.TrimPrefix(u.Path, "/"); strings.Contains(p.address.database, "/") {
		return nil, errors.New("names a database with a / in it: after the host comes /database, and in a password / is %2F")
	}
	if err := p.parameters(u.RawQuery); err != nil {
		return nil, err
	}
	return p, p.place(u)
}

// place reads host and port, and checks what is needed to get to a database.
func (p *parsedURL) place(u *url.URL) error {
	p.address.host = u.Hostname()
	if text := u.Port(); text != "" {
		port, err := strconv.ParseUint(text, 10, 16)
		if err != nil || port == 0 {
			return errors.New("has a port that is not a number from 1 to 65535")
		}
		p.address.port = int(port)
	}
	switch {
	case p.address.host == "" && p.address.socket == "":
		return errors.New("names no server: write it like " + u.Scheme + "://user:password@host/database")
	case p.address.socket != "" && p.address.host != "" && p.address.host != "localhost":
		return errors.New("names a host and a socket: a server is reached by one of them")
	case strings.Contains(p.address.host, ","):
		return errors.New("names several servers: name the one that is to be used")
	case p.engine == PostgresEngine && p.address.database == "":
		return errors.New("names no database: write it like " + u.Scheme + "://user:password@host/database")
	}
	if p.address.socket != "" {
		p.address.host = ""
	}
	return nil
}

func (p *parsedURL) parameters(query string) error {
	values, err := url.ParseQuery(query)
	if err != nil {
		return errURL
	}
	for name, given := range values {
		set := urlParameters[name]
		switch {
		case set == nil:
			return fmt.Errorf("has the unknown parameter %q; %s", name, document.Suggest(name, parameterNames()))
		case len(given) > 1:
			return fmt.Errorf("has the parameter %q more than once", name)
		}
		if err := set(p, given[0]); err != nil {
			return fmt.Errorf("has a parameter %q that %w", name, err)
		}
	}
	return nil
}

// parameterNames are the parameters for people to choose from, one spelling each.
func parameterNames() []string {
	return []string{"sslmode", "sslrootcert", "sslcert", "sslkey", "server_name", "socket", "pool", "migrations", "shards"}
}
