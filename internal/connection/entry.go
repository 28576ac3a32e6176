package connection

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"godwit/internal/fault"
	"godwit/internal/task"
)

// entry is a connection in the file of connections.
type entry struct {
	// URL is mysql://, mariadb:// or postgres://user:password@host:port/database.
	URL string `json:"url"`
	// PasswordFile is a file that holds the password, read for every new
	// session; a line end at its end is not part of it.
	PasswordFile string `json:"password_file"`
	// PasswordEnv is an environment variable that holds the password.
	PasswordEnv string `json:"password_env"`
	// TLS says how the connection is encrypted.
	TLS tlsSettings `json:"tls"`
	// Pool is how many sessions there may be at once; by default 12. A shard
	// at work needs two.
	Pool int `json:"pool" jsonschema:"minimum=2,maximum=1000"`
	// Limits bound what runs on the connection at once, over all workers.
	Limits limits `json:"limits"`
}

// limits bound what runs on a connection at once, over all workers.
type limits struct {
	// Migrations at once; by default 4. The others wait as PENDING.
	Migrations int `json:"migrations" jsonschema:"minimum=1,maximum=1000"`
	// Shards at once, of all migrations together; by default 8, or half of
	// the pool where that is more.
	Shards int `json:"shards" jsonschema:"minimum=1,maximum=1000"`
}

// SetText makes an entry from its short form, which is the URL alone.
func (e *entry) SetText(text string) error {
	*e = entry{URL: text}
	return nil
}

// encryption joins what the URL and the entry say about TLS.
func (e *entry) encryption(url tlsSettings, a address) (tlsSettings, error) {
	settings := e.TLS
	if url != (tlsSettings{}) {
		if settings != (tlsSettings{}) {
			return settings, errors.New("is said in the URL, too: say it once")
		}
		settings = url
	}
	return settings, settings.complete(a)
}

// passwordField is the field that a mistake about the password is about.
func (e *entry) passwordField() string {
	if e.PasswordFile != "" {
		return "password_file"
	}
	return "password_env"
}

// secret finds out where the password comes from. A file must be readable
// already, though it is read again later.
func (d *definition) secret(parsed *parsedURL) (password, error) {
	switch {
	case d.PasswordFile != "" && d.PasswordEnv != "":
		return nil, errors.New("is one of two places for the password, with password_env: choose one")
	case parsed.hasPassword && (d.PasswordFile != "" || d.PasswordEnv != ""):
		return nil, errors.New("is a second place for the password, which is in the URL already: choose one")
	case d.PasswordFile != "":
		_, err := readPassword(d.PasswordFile)
		return func() (string, error) { return readPassword(d.PasswordFile) }, err
	case d.PasswordEnv != "":
		value, found := d.lookup(d.PasswordEnv)
		if !found {
			return nil, fmt.Errorf("names the environment variable %s, which is not set", d.PasswordEnv)
		}
		return func() (string, error) { return value, nil }, nil
	default:
		value := parsed.password
		return func() (string, error) { return value, nil }, nil
	}
}

func readPassword(file string) (string, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return "", fault.New(task.Config, "the password cannot be read: %w", err)
	}
	return strings.TrimSuffix(strings.TrimSuffix(string(content), "\n"), "\r"), nil
}
