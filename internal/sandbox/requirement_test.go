package sandbox

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWhatIsMissingSaysHowToGetIt(t *testing.T) {
	err := &MissingError{Requirements: []Requirement{mysqlClient}}
	require.ErrorContains(t, err, "run `make deps`")
	require.ErrorContains(t, err, "install MariaDB's or MySQL's client")
}

func TestNothingIsMissingWhereServersStart(t *testing.T) {
	require.Empty(t, Missing(Kinds()...))
}

func TestAnUnknownKindIsRefusedByName(t *testing.T) {
	_, err := Start(t.Context(), "oracle", Options{})
	require.ErrorContains(t, err, `"oracle"`)
	require.ErrorContains(t, err, "[postgres mariadb mysql]")
}

func TestOnlyAMySQLThatIsNewEnoughIsTakenFromPath(t *testing.T) {
	for output, want := range map[string]string{
		"mysqld  Ver 10.11.19-MariaDB-0+deb12u1 for debian-linux-gnu on x86_64 (Debian 12)":          "",
		"/usr/sbin/mysqld  Ver 5.7.44 for Linux on x86_64 (MySQL Community Server (GPL))":            "",
		"/usr/sbin/mysqld  Ver 8.0.40-0ubuntu0.24.04.1 for Linux on x86_64 ((Ubuntu))":               "8.0.40-0ubuntu0.24.04.1",
		"/usr/local/bin/mysqld  Ver 9.7.4 for macos15.2 on arm64 (MySQL Community Server - GPL)":     "9.7.4",
		"mysqld: error while loading shared libraries: libaio.so.1: cannot open shared object file.": "",
	} {
		program := filepath.Join(t.TempDir(), "mysqld")
		require.NoError(t, os.WriteFile(program, []byte("#!/bin/sh\necho '"+output+"'\n"), 0o755))
		require.Equal(t, want, mysqlVersion([]string{program}), output)
	}
}

func TestTheNewestOfSeveralVersionsIsUsed(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	require.Empty(t, cachedMySQL())
	cache, err := cacheFolder()
	require.NoError(t, err)
	for _, name := range []string{"mysql-9.7.4-2", "mysql-9.10.1-1", "mysql-9.9.0-1", "mysql.lock", "data-of-mysql-9.11.0"} {
		require.NoError(t, os.MkdirAll(filepath.Join(cache, name), 0o700))
	}
	require.Equal(t, filepath.Join(cache, "mysql-9.10.1-1"), cachedMySQL())
}

func TestVersionsCompareByTheirNumbers(t *testing.T) {
	whole := func(version string) string { return version }
	require.Equal(t, "15", newest([]string{"9.6", "15", "13"}, whole))
	require.Equal(t, "pgsql-17", newest([]string{"15", "pgsql-17", "16"}, whole))
	require.Equal(t, "9.7.4-10", newest([]string{"9.7.4-10", "9.7.4-2", "9.7.3-11"}, whole))
}

func TestTheMirrorIsTheOneOfTheMachinesOwnRelease(t *testing.T) {
	debian := osRelease("ID=debian\nVERSION_ID=\"12\"\nVERSION_CODENAME=bookworm\n")
	uris := `'https://third.example/apt/dists/cloud-sdk-bookworm/InRelease' third.example_apt_dists 0 
'http://mirror.example/debian-security/dists/bookworm-security/InRelease' mirror.example_security 0 
'http://mirror.example/debian/dists/bookworm/InRelease' mirror.example_debian 0 
'http://mirror.example/debian/dists/bookworm/main/binary-amd64/Packages.xz' mirror.example_packages 0 
`
	mirror, err := chooseMirror(debian, uris)
	require.NoError(t, err)
	require.Equal(t, "http://mirror.example/debian", mirror)

	_, err = chooseMirror(debian, "'https://third.example/apt/dists/nodistro/InRelease' x 0 \n")
	require.ErrorContains(t, err, "sources.list.d")
	_, err = chooseMirror(osRelease("ID=ubuntu\nVERSION_CODENAME=noble\n"), uris)
	require.ErrorContains(t, err, "ubuntu")
}
