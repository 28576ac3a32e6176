package connection

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/davecgh/go-spew/spew"
	"github.com/stretchr/testify/require"

	"godwit/internal/fault"
	"godwit/internal/task"
)

// secret is in every place where a password can be, and must come out of none.
const secret = "s3cret"

func writeFile(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func load(t testing.TB, file string, environ ...string) *Registry {
	t.Helper()
	if file != "" {
		file = writeFile(t, "connections.yaml", file)
	}
	r, err := Load(file, environ)
	require.NoError(t, err)
	t.Cleanup(r.Close)
	return r
}

func get(t testing.TB, r *Registry, name string) *Connection {
	t.Helper()
	c, err := r.Get(name)
	require.NoError(t, err)
	return c
}

func TestConnectionsComeFromTheEnvironment(t *testing.T) {
	r := load(t, "", "PATH=/bin", "GODWIT_CONNECTION_LEGACY=mysql://reader:s3cret@db1/shop", "GODWIT_CONNECTIONS=other",
		"GODWIT_CONNECTION_Ware_House=postgresql://loader:s3cret@[2001:db8::1]:6432/warehouse?sslmode=prefer&pool=30")
	require.Equal(t, []string{"legacy", "ware_house"}, r.Names())
	c := get(t, r, "Legacy")
	require.Equal(t, "mysql", c.Engine)
	require.Equal(t, 12, c.Pool)
	require.Equal(t, []any{"db1", 3306, "reader", "shop"}, []any{c.Host(), c.Port(), c.User(), c.Database()})
	require.Equal(t, "db1:3306/shop as reader", c.String())
	require.Equal(t, "GODWIT_CONNECTION_LEGACY", c.Origin())
	require.Equal(t, tlsPreferred, c.tls.Mode)
	c = get(t, r, "WARE-HOUSE")
	require.Equal(t, "postgres", c.Engine)
	require.Equal(t, 30, c.Pool)
	require.Equal(t, "[2001:db8::1]:6432/warehouse as loader", c.String())
}

func TestConnectionsComeFromAFileThatTheEnvironmentOverrides(t *testing.T) {
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "password"), []byte("from file: s3cret \r\n"), 0o600))
	file := filepath.Join(folder, "connections.yaml")
	require.NoError(t, os.WriteFile(file, []byte(`# what the worker knows
short: mariadb://reader:p%40ss%2Fw%23%25@localhost/shop
filed:
  url: postgres://loader@db2/warehouse
  password_file: password
  tls: {mode: verify-full, ca: ca.pem, cert: c.pem, key: /k.pem, server_name: db.internal}
  pool: 20
named: {url: "mysql://u@h", password_env: SHOP_PASSWORD}
hidden: {url: "mysql://u@h", password_file: not/there}
`), 0o600))
	r, err := Load(file, []string{"GODWIT_CONNECTION_HIDDEN=postgres://u@h2/d", "SHOP_PASSWORD=of the variable"})
	require.NoError(t, err)
	require.Equal(t, []string{"filed", "hidden", "named", "short"}, r.Names())

	for name, want := range map[string]string{"short": "p@ss/w#%", "filed": "from file: s3cret ", "named": "of the variable", "hidden": ""} {
		password, err := get(t, r, name).password()
		require.NoError(t, err)
		require.Equal(t, want, password, name)
	}
	c := get(t, r, "filed")
	require.Equal(t, tlsSettings{
		Mode: tlsVerifyFull, CA: filepath.Join(folder, "ca.pem"), Cert: filepath.Join(folder, "c.pem"), Key: "/k.pem", ServerName: "db.internal",
	}, c.tls)
	require.Equal(t, 20, c.Pool)
	require.Equal(t, file+":4:3", c.Origin())
	require.Equal(t, tlsDisable, get(t, r, "short").tls.Mode, "there is nobody to listen on one machine")
	require.Equal(t, "GODWIT_CONNECTION_HIDDEN, instead of "+file+":9:9", get(t, r, "hidden").Origin())
	require.Equal(t, "h2:5432/d as u", get(t, r, "hidden").String())
}

func TestConnectionsHaveLimitsOfTheirOwn(t *testing.T) {
	r := load(t, `
plain: mysql://u@h/d
wide: {url: "mysql://u@h/d", pool: 40}
narrow: {url: "postgres://u@h/d", pool: 40, limits: {migrations: 2, shards: 3}}
half: {url: "postgres://u@h/d", limits: {shards: 1}}
`, "GODWIT_CONNECTION_VARIABLE=postgres://u@h/d?migrations=5&shards=6")
	for name, want := range map[string]task.Limits{
		"plain": {Migrations: 4, Shards: 8}, "wide": {Migrations: 4, Shards: 20}, "narrow": {Migrations: 2, Shards: 3},
		"half": {Migrations: 4, Shards: 1}, "variable": {Migrations: 5, Shards: 6},
	} {
		require.Equal(t, want, get(t, r, name).Limits, name)
	}
}

func TestAURLSaysHowToEncryptInTheWordsOfEitherClient(t *testing.T) {
	for query, want := range map[string]tlsSettings{
		"":                              {Mode: tlsPreferred},
		"?sslmode=disable":              {Mode: tlsDisable},
		"?ssl-mode=DISABLED":            {Mode: tlsDisable},
		"?sslmode=prefer":               {Mode: tlsPreferred},
		"?ssl-mode=REQUIRED":            {Mode: tlsRequire},
		"?ssl-mode=VERIFY_CA&ssl-ca=/a": {Mode: tlsVerifyCA, CA: "/a"},
		"?ssl-mode=VERIFY_IDENTITY":     {Mode: tlsVerifyFull},
		"?sslmode=verify-full&sslrootcert=/a&sslcert=/b&sslkey=/c&server_name=n": {
			Mode: tlsVerifyFull, CA: "/a", Cert: "/b", Key: "/c", ServerName: "n"},
		"?tls=skip-verify":         {Mode: tlsRequire},
		"?tls=true":                {Mode: tlsVerifyFull},
		"?sslrootcert=/a":          {Mode: tlsVerifyFull, CA: "/a"},
		"?ssl-cert=/b&ssl-key=/c":  {Mode: tlsRequire, Cert: "/b", Key: "/c"},
		"?socket=/run/mysqld.sock": {Mode: tlsDisable},
	} {
		host := "h"
		if strings.Contains(query, "socket") {
			host = ""
		}
		c := get(t, load(t, "", "GODWIT_CONNECTION_A=mysql://u@"+host+"/d"+query), "a")
		require.Equal(t, want, c.tls, query)
	}
	c := get(t, load(t, "", "GODWIT_CONNECTION_A=postgres://u@localhost/d?socket=/run/postgresql"), "a")
	require.Equal(t, "/run/postgresql:/d as u", c.String())
}

func TestABadVariableIsNamedWithoutItsValue(t *testing.T) {
	const notValid = "is not a valid URL: write it like mysql://user:password@host:3306/database, " +
		"with special characters of the password as %XX (@ is %40, : is %3A, / is %2F, # is %23, ? is %3F, % is %25)"
	for url, want := range map[string]string{
		"":                                      "is empty: set it to a URL like mysql://user:password@host:3306/database, or unset it",
		"mysql://root:s3cret%zz@db/shop":        notValid,
		"mysql://root:s3cret/@db/shop":          notValid,
		"mysql://root:s3cret#@db/shop":          notValid,
		"mysql://root:12#s3cret@db/shop":        notValid,
		"mysql://root:12/s3cret@db/shop":        notValid,
		"mysql://root:s3cret?@db/shop":          notValid,
		"mysql://root:s3cret@db:port/shop":      notValid,
		"mysql://ro\not:s3cret@db/shop":         notValid,
		"mysql://root:s3cret@db/shop?a;s3cret":  notValid,
		"mysql://root:s3cret@db/shop?a=%s3cret": notValid,
		"mysql:root:s3cret@db/shop":             notValid,
		"mysql://root:s3cret@db/shop#x":         notValid,
		"root:s3cret@db/shop":                   "must begin with mysql://, mariadb:// or postgres://",
		"root:s3cret@tcp(db:3306)/shop":         "must begin with mysql://, mariadb:// or postgres://",
		"oracle://root:s3cret@db/shop":          "must begin with mysql://, mariadb:// or postgres://",
		"s3cret":                                "must begin with mysql://, mariadb:// or postgres://",
		"mysql://db/shop":                       "names no user: write it like mysql://user:password@host/database",
		"mysql://:s3cret@db/shop":               "names no user: write it like mysql://user:password@host/database",
		"mysql://root:12?s3cret@db/shop":        "names no user: write it like mysql://user:password@host/database",
		"mysql://root:s3cret@/shop":             "names no server: write it like mysql://user:password@host/database",
		"mysql://root:s3cret@db:0/shop":         "has a port that is not a number from 1 to 65535",
		"mysql://root:s3cret@db:70000/shop":     "has a port that is not a number from 1 to 65535",
		"mysql://root:s3cret@db/shop/x":         "names a database with a / in it: after the host comes /database, and in a password / is %2F",
		"postgres://root:s3cret@db":             "names no database: write it like postgres://user:password@host/database",
		"postgres://root:s3cret@db1,db2/d":      "names several servers: name the one that is to be used",
		"mysql://root:s3cret@db/shop?ssl=1": `has the unknown parameter "ssl"; there are ` +
			`sslmode, sslrootcert, sslcert, sslkey, server_name, socket, pool, migrations, shards`,
		"mysql://root:s3cret@db/shop?ssl_mode=1":       `has the unknown parameter "ssl_mode"; did you mean "sslmode"?`,
		"mysql://root:s3cret@db/shop?pool=2&pool=3":    `has the parameter "pool" more than once`,
		"mysql://root:s3cret@db/shop?pool=1":           `has a parameter "pool" that is not a number from 2 to 1000`,
		"mysql://root:s3cret@db/shop?shards=0":         `has a parameter "shards" that is not a number from 1 to 1000`,
		"mysql://root:s3cret@db/shop?pool=s3cret":      `has a parameter "pool" that is not a number from 2 to 1000`,
		"mysql://root:s3cret@db/shop?sslmode=s3cret":   `has a parameter "sslmode" that is none of disable, preferred, require, verify-ca, verify-full`,
		"mysql://root:s3cret@db/shop?sslcert=/c":       `gives only one of certificate and key: a client needs both, or none`,
		"mysql://u:s3cret@h/d?sslmode=disable&ssl-ca=": "",
		"mysql://u:s3cret@h/d?sslmode=disable&ssl-ca=/s3cret": "disables TLS, and yet gives what it needs: " +
			"choose another mode, or leave the rest out",
		"mysql://u:s3cret@h/d?socket=/s":              "names a host and a socket: a server is reached by one of them",
		"mysql://u:s3cret@/d?socket=/s&tls=verify-ca": "asks for TLS on a socket, which is never encrypted: leave it out",
	} {
		_, err := Load("", []string{"GODWIT_CONNECTION_LEGACY=" + url})
		if want == "" {
			require.NoError(t, err, url)
			continue
		}
		require.EqualError(t, err, "the value of GODWIT_CONNECTION_LEGACY "+want, url)
		require.NotContains(t, err.Error(), secret, url)
	}
}

func TestABadNameIsNamed(t *testing.T) {
	_, err := Load("", []string{"GODWIT_CONNECTION_=mysql://u@h", "GODWIT_CONNECTION_A.B=mysql://u@h",
		"GODWIT_CONNECTION_SHOP=mysql://u@h", "GODWIT_CONNECTION_shop=mysql://u@h"})
	require.EqualError(t, err, "GODWIT_CONNECTION_ names no connection: after GODWIT_CONNECTION_ come letters, digits and _\n"+
		"GODWIT_CONNECTION_A.B names no connection: after GODWIT_CONNECTION_ come letters, digits and _\n"+
		"GODWIT_CONNECTION_shop and GODWIT_CONNECTION_SHOP define the same connection: keep one")
}

func TestEveryMistakeInAFileIsNamedWithItsPlaceAndWithoutSecrets(t *testing.T) {
	for name, c := range map[string]struct{ file, want string }{
		"a list":             {"- mysql://u:s3cret@h/d\n", `F:1:1: expected fields like "name: value", got a list`},
		"a URL alone":        {"'mysql://u:s3cret@h/d'\n", `F:1:1: expected fields like "name: value", got text`},
		"a URL as a name":    {"a: mysql://u@h\nmysql://u:s3cret@h/d:\n  pool: 3\n", `F:2:1: a connection's name consists of letters, digits, _ and -; write it like "legacy: mysql://user@host:3306/database"`},
		"the same name":      {"a_b: mysql://u@h\nA-B: mysql://u@h\n", `F:2:6: field "A-B": is the same connection as "a_b": keep one`},
		"the name twice":     {"a: mysql://u@h\na: mysql://u@h\n", `F:2:1: field "a": given twice`},
		"a number":           {"a: 3\n", `F:1:4: field "a": expected fields like "name: value", got a number`},
		"no URL":             {"a: {pool: 3}\n", `F:1:4: field "a.url": is missing: write it like mysql://user@host:3306/database`},
		"a misspelt field":   {"a: {uri: 'mysql://u:s3cret@h/d'}\n", `F:1:5: field "a": has an unknown field here; did you mean "url"?`},
		"bad syntax":         {"%YAML s3cret\n---\na: x\n", `F:1:7: not valid YAML`},
		"a URL in braces":    {"a: {mysql://u:s3cret@h/d}\n", `F:1:5: field "a": has an unknown field here; there are url, password_file, password_env, tls, pool, limits`},
		"text for TLS":       {"a:\n  url: mysql://u@h\n  tls: s3cret\n", `F:3:8: field "a.tls": expected fields like "name: value", got text`},
		"a pool of text":     {"a: {url: 'mysql://u@h', pool: s3cret}\n", `F:1:31: field "a.pool": expected a number, got text`},
		"a limit of none":    {"a: {url: 'mysql://u@h', limits: {shards: 0}}\n", `F:1:42: field "a.limits.shards": 0 is out of range: from 1 to 1000`},
		"a pool of one":      {"a: {url: 'mysql://u@h', pool: 1}\n", `F:1:31: field "a.pool": 1 is out of range: from 2 to 1000`},
		"a bad mode":         {"a: {url: 'mysql://u@h', tls: {mode: prefer}}\n", `F:1:37: field "a.tls.mode": "prefer" is not a valid choice; did you mean "preferred"?`},
		"TLS said twice":     {"a: {url: 'mysql://u@h?sslmode=disable', tls: {mode: require}}\n", `F:1:46: field "a.tls": is said in the URL, too: say it once`},
		"a bad URL":          {"a: {url: 'mysql://u:s3%cret@h'}\n", `F:1:10: field "a.url": is not a valid URL: write it like mysql://user:password@host:3306/database, with special characters of the password as %XX (@ is %40, : is %3A, / is %2F, # is %23, ? is %3F, % is %25)`},
		"a bad short URL":    {"a: http://u:s3cret@h\n", `F:1:4: field "a.url": must begin with mysql://, mariadb:// or postgres://`},
		"two passwords":      {"a: {url: 'mysql://u:s3cret@h', password_env: S}\n", `F:1:46: field "a.password_env": is a second place for the password, which is in the URL already: choose one`},
		"two other places":   {"a: {url: 'mysql://u@h', password_env: S, password_file: f}\n", `F:1:57: field "a.password_file": is one of two places for the password, with password_env: choose one`},
		"no such variable":   {"a: {url: 'mysql://u@h', password_env: NOT_SET}\n", `F:1:39: field "a.password_env": names the environment variable NOT_SET, which is not set`},
		"no such file":       {"a: {url: 'mysql://u@h', password_file: /not/there}\n", `F:1:40: field "a.password_file": the password cannot be read: open /not/there: no such file or directory`},
		"a mapping for text": {"a: {url: 'mysql://u@h', password_file: {s3cret: x}}\n", `F:1:40: field "a.password_file": expected text, got a mapping`},
		"a tag":              {"a: {url: !s3cret x}\n", `F:1:10: this begins a YAML tag, and tags are not used here: text that begins with ! must stand in quotes`},
		"an alias":           {"a: {url: *s3cret}\n", `F:1:10: this stands for an anchor, and there is none of that name: text that begins with * must stand in quotes`},
		"many":               {"a: {pool: 0}\nb: {url: 'http://h', pool: 0}\n", "F:1:4: field \"a.url\": is missing: write it like mysql://user@host:3306/database\nF:1:11: field \"a.pool\": 0 is out of range: from 2 to 1000\nF:2:10: field \"b.url\": must begin with mysql://, mariadb:// or postgres://\nF:2:28: field \"b.pool\": 0 is out of range: from 2 to 1000"},
	} {
		t.Run(name, func(t *testing.T) {
			file := writeFile(t, "connections.yaml", c.file)
			_, err := Load(file, []string{"S=x"})
			require.Error(t, err)
			require.EqualError(t, err, strings.ReplaceAll(c.want, "F:", file+":"))
			require.NotContains(t, err.Error(), secret)
		})
	}
}

func TestAFileThatIsNotThereIsAConfigError(t *testing.T) {
	_, err := Load("/not/there.yaml", nil)
	require.EqualError(t, err, "the file of connections cannot be read: open /not/there.yaml: no such file or directory")
	require.Equal(t, task.Config, fault.Of(err).Class)
}

func TestAnUnknownConnectionIsAnsweredWithTheNearestOneAndHowToDefineIt(t *testing.T) {
	r := load(t, "", "GODWIT_CONNECTION_LEGACY=mysql://u@h", "GODWIT_CONNECTION_WAREHOUSE=postgres://u@h/d")
	for name, want := range map[string]string{
		"legcy": `the worker has no connection "legcy"; did you mean "legacy"?; to define it, set GODWIT_CONNECTION_LEGCY=mysql://… ` +
			`or postgres://… in the worker's environment, or add it to its file of connections`,
		"my-shop": `the worker has no connection "my-shop"; there are legacy, warehouse; to define it, set GODWIT_CONNECTION_MY_SHOP=mysql://… ` +
			`or postgres://… in the worker's environment, or add it to its file of connections`,
		"mysql://u:s3cret@h/d": `a connection's name consists of letters, digits, _ and -, and this is none`,
	} {
		_, err := r.Get(name)
		require.EqualError(t, err, want)
		require.Equal(t, task.Config, fault.Of(err).Class)
	}
	_, err := load(t, "").Get("shop")
	require.ErrorContains(t, err, `the worker has no connection "shop"; it knows none yet`)
}

func TestNothingThatPrintsAConnectionPrintsItsPassword(t *testing.T) {
	r := load(t, "filed: {url: 'postgres://u@h/d', password_env: P}\nshort: mysql://u:s3cret@h/d\n",
		"GODWIT_CONNECTION_LEGACY=mysql://reader:s3cret@db1/shop", "P=s3cret")
	var out bytes.Buffer
	text, object := slog.New(slog.NewTextHandler(&out, nil)), slog.New(slog.NewJSONHandler(&out, nil))
	for _, value := range []any{r, *r, get(t, r, "legacy"), *get(t, r, "legacy"), get(t, r, "filed"), get(t, r, "short"), []*Connection{get(t, r, "short")}} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d", "%x"} {
			fmt.Fprintf(&out, verb, value)
		}
		encoded, err := json.Marshal(value)
		require.NoError(t, err)
		out.Write(encoded)
		text.Info("here", "value", value)
		object.Info("here", "value", value)
		out.WriteString(spew.Sdump(value))
	}
	require.Greater(t, out.Len(), 1000)
	require.NotContains(t, out.String(), secret)
	require.NotContains(t, out.String(), fmt.Sprintf("%x", secret))
	require.Contains(t, out.String(), "db1:3306/shop as reader")
}
