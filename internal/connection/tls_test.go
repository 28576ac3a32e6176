package connection

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"godwit/internal/sandbox"
	"godwit/internal/task"
)

// issue makes a certificate, signed by itself or by another one, and returns
// the files that hold it and its key.
func issue(t testing.TB, folder, name string, by *x509.Certificate, byKey *ecdsa.PrivateKey) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: by == nil, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	if by == nil {
		by, byKey = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, by, &key.PublicKey, byKey)
	require.NoError(t, err)
	secretDER, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	write := func(suffix, kind string, der []byte) {
		content := pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
		require.NoError(t, os.WriteFile(filepath.Join(folder, name+suffix), content, 0o600))
	}
	write(".pem", "CERTIFICATE", der)
	write(".key", "PRIVATE KEY", secretDER)
	parsed, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	return parsed, key
}

// encrypt makes a running server accept TLS with a certificate for the name
// db.internal, and returns the folder with it and with its authority ca.pem.
func encrypt(t testing.TB, s *sandbox.Server) (folder string) {
	t.Helper()
	folder = filepath.Join(s.Dir, "tls")
	require.NoError(t, os.Mkdir(folder, 0o755))
	authority, key := issue(t, folder, "ca", nil, nil)
	issue(t, folder, "db.internal", authority, key)
	issue(t, folder, "other", nil, nil)
	data, err := os.Stat(filepath.Join(s.Dir, "data"))
	require.NoError(t, err)
	owner := data.Sys().(*syscall.Stat_t)
	for _, name := range []string{"db.internal.pem", "db.internal.key", "ca.pem"} {
		require.NoError(t, os.Chown(filepath.Join(folder, name), int(owner.Uid), int(owner.Gid)))
	}
	certificate, private := filepath.Join(folder, "db.internal.pem"), filepath.Join(folder, "db.internal.key")
	switch s.Kind {
	case sandbox.Postgres:
		for _, statement := range []string{"ALTER SYSTEM SET ssl_cert_file = '" + certificate + "'",
			"ALTER SYSTEM SET ssl_key_file = '" + private + "'", "ALTER SYSTEM SET ssl = on", "SELECT pg_reload_conf()"} {
			require.NoError(t, s.Exec(t.Context(), "", statement))
		}
	case sandbox.MySQL:
		require.NoError(t, s.Exec(t.Context(), "", "SET GLOBAL ssl_cert = '"+certificate+"', GLOBAL ssl_key = '"+private+
			"', GLOBAL ssl_ca = '"+filepath.Join(folder, "ca.pem")+"'; ALTER INSTANCE RELOAD TLS"))
	}
	return folder
}

// encrypted asks the server whether the session is.
func encrypted(t testing.TB, c *Connection) bool {
	t.Helper()
	if c.Engine == PostgresEngine {
		pool, err := c.Postgres(t.Context())
		require.NoError(t, err)
		var on bool
		require.NoError(t, pool.QueryRow(t.Context(), "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()").Scan(&on))
		return on
	}
	pool, err := c.MySQL(t.Context())
	require.NoError(t, err)
	var name, cipher string
	require.NoError(t, pool.QueryRowContext(t.Context(), "SHOW STATUS LIKE 'Ssl_cipher'").Scan(&name, &cipher))
	return cipher != ""
}

func TestTLSIsUsedAndCheckedAsAsked(t *testing.T) {
	for _, kind := range []sandbox.Kind{sandbox.Postgres, sandbox.MySQL} {
		t.Run(string(kind), func(t *testing.T) {
			s, err := sandbox.Start(t.Context(), kind, sandbox.Options{Databases: []string{"shop"}})
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, s.Stop()) })
			folder := encrypt(t, s)
			ca, other := filepath.Join(folder, "ca.pem"), filepath.Join(folder, "other.pem")
			address := urlOf(s, s.User(), s.Password(), "shop")
			require.Eventually(t, func() bool { return open(t.Context(), connect(t, address+"?sslmode=require")) == nil },
				10*time.Second, 50*time.Millisecond)

			for query, want := range map[string]bool{
				"?sslmode=disable":                        false,
				"":                                        false, // on one machine
				"?sslmode=preferred":                      true,
				"?sslmode=require":                        true,
				"?sslmode=require&sslrootcert=" + ca:      true,
				"?sslmode=verify-ca&sslrootcert=" + ca:    true,
				"?server_name=db.internal&ssl-ca=" + ca:   true,
				"?sslmode=require&server_name=irrelevant": true,
			} {
				require.Equal(t, want, encrypted(t, connect(t, address+query)), query)
			}
			for _, query := range []string{
				"?sslmode=verify-full", "?sslmode=verify-ca", "?sslmode=verify-ca&ssl-ca=" + other,
				"?sslmode=require&ssl-ca=" + other, "?ssl-ca=" + ca, "?server_name=elsewhere&ssl-ca=" + ca,
			} {
				requireRefusal(t, address+query, task.Config, "the certificate of the server at "+s.Addr()+" is not accepted: "+
					"give its authority as tls ca, or the name in it as server_name (tls: ")
			}
		})
	}
}

func TestPreferredTLSDoesWithoutWhereTheServerHasNone(t *testing.T) {
	for _, kind := range []sandbox.Kind{sandbox.Postgres, sandbox.MariaDB} {
		s := server(t, kind)
		require.False(t, encrypted(t, connect(t, urlOf(s, s.User(), s.Password(), "shop")+"?sslmode=preferred")))
		requireRefusal(t, urlOf(s, s.User(), secret, "shop")+"?sslmode=preferred", task.Config, "does not let user")
	}
}
