package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"godwit/internal/process"
)

// Debian's stable release has no MySQL; its unstable branch has.
const (
	mysqlSuite   = "unstable"
	mysqlPackage = "mysql-server-core"
	archiveKeys  = "/usr/share/keyrings/debian-archive-keyring.gpg"
)

// downloadMySQL unpacks MySQL and all it needs into the cache. It uses apt, but with a state of its own that knows of no
// installed package: the system's own apt and what it has installed are neither asked nor changed, and root is not needed.
func downloadMySQL(ctx context.Context, out io.Writer) (string, error) {
	return publish(ctx, "mysql", cachedMySQL, func(dir string) (string, error) {
		private := filepath.Join(filepath.Dir(dir), "apt")
		mirror, err := debianMirror(ctx, private)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(out, "downloading %s with its libraries from Debian %s, about 70 MB, into %s\n", mysqlPackage, mysqlSuite, filepath.Dir(filepath.Dir(dir)))
		packages, err := downloadPackages(ctx, out, private, mirror)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(out, "unpacking %d packages\n", len(packages))
		for _, file := range packages {
			if err := quietly(ctx, exec.Command("dpkg-deb", "--extract", file, dir)); err != nil {
				return "", err
			}
		}
		if err := prune(dir); err != nil {
			return "", err
		}
		version := mysqlVersion(unpackedMySQL(dir))
		if version == "" {
			return "", fmt.Errorf("the downloaded MySQL does not start on this system")
		}
		return mysqlFolder + version, nil
	})
}

// prune removes what a server has no use for, which is two thirds of the whole.
func prune(root string) error {
	var errs []error
	for _, path := range []string{"etc", "usr/bin", "usr/share/doc", "usr/share/man", "usr/share/perl", "usr/share/locale"} {
		errs = append(errs, os.RemoveAll(filepath.Join(root, path)))
	}
	return errors.Join(errs...)
}

// downloadPackages returns the files of the package and all it depends on.
func downloadPackages(ctx context.Context, out io.Writer, private, mirror string) ([]string, error) {
	signed := ""
	if _, err := os.Stat(archiveKeys); err == nil {
		signed = "[signed-by=" + archiveKeys + "] "
	}
	source := fmt.Sprintf("deb %s%s %s main\n", signed, mirror, mysqlSuite)
	if err := os.WriteFile(filepath.Join(private, "sources.list"), []byte(source), 0o600); err != nil {
		return nil, err
	}
	for _, args := range [][]string{{"update"}, {"install", "--yes", "--no-install-recommends", "--download-only", mysqlPackage}} {
		if err := quietly(ctx, aptCommand(private, args...)); err != nil {
			return nil, err
		}
	}
	return filepath.Glob(filepath.Join(private, "cache", "archives", "*.deb"))
}

// aptCommand is apt-get with everything it keeps below private.
func aptCommand(private string, args ...string) *exec.Cmd {
	options := []string{
		"-o", "Dir::Etc::sourcelist=" + filepath.Join(private, "sources.list"), "-o", "Dir::Etc::sourceparts=" + os.DevNull,
		"-o", "Dir::Etc::preferences=" + os.DevNull, "-o", "Dir::Etc::preferencesparts=" + os.DevNull,
	}
	return exec.Command("apt-get", append(append(options, stateOptions(private)...), args...)...)
}

func stateOptions(private string) []string {
	return []string{
		"-q", "-o", "Dir::State=" + filepath.Join(private, "state"), "-o", "Dir::State::lists=" + filepath.Join(private, "lists"),
		"-o", "Dir::State::status=" + os.DevNull, "-o", "Dir::Cache=" + filepath.Join(private, "cache"),
		"-o", "Debug::NoLocking=1", // the lock would lie next to /dev/null; nobody else knows the folder
		"-o", "APT::Sandbox::User=", "-o", "Acquire::Languages=none",
	}
}

var releaseURI = regexp.MustCompile(`(?m)^'(.+)/dists/([^/']+)/InRelease'`)

// debianMirror is the one that this machine's own apt uses, in whatever form it is written down: apt is asked for it.
func debianMirror(ctx context.Context, private string) (string, error) {
	for _, dir := range []string{"state", "lists/partial", "cache/archives/partial"} {
		if err := os.MkdirAll(filepath.Join(private, dir), 0o700); err != nil {
			return "", err
		}
	}
	release, err := os.ReadFile("/etc/os-release")
	if err != nil {
		return "", err
	}
	var uris bytes.Buffer
	cmd := exec.Command("apt-get", append(stateOptions(private), "update", "--print-uris")...)
	cmd.Stdout = &uris
	if err := quietly(ctx, cmd); err != nil {
		return "", err
	}
	return chooseMirror(osRelease(string(release)), uris.String())
}

// chooseMirror picks from apt's list of sources the archive of the distribution itself, which is the one that has the
// installed release.
func chooseMirror(release map[string]string, uris string) (string, error) {
	if release["ID"] != "debian" {
		return "", fmt.Errorf("this is not Debian, but %s: MySQL is not downloaded for it", release["ID"])
	}
	suites := map[string]bool{"stable": true, "testing": true, "unstable": true, "sid": true}
	if codename := release["VERSION_CODENAME"]; codename != "" {
		suites[codename] = true
	}
	for _, match := range releaseURI.FindAllStringSubmatch(uris, -1) {
		if _, err := url.Parse(match[1]); err == nil && suites[match[2]] {
			return match[1], nil
		}
	}
	return "", errors.New("apt has no source of Debian itself to take a mirror from: add one to /etc/apt/sources.list.d")
}

func osRelease(text string) map[string]string {
	values := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
			values[name] = strings.Trim(value, `"'`)
		}
	}
	return values
}

// quietly runs a command whose output is only of interest when it fails.
func quietly(ctx context.Context, cmd *exec.Cmd) error {
	var output bytes.Buffer
	if cmd.Stdout == nil {
		cmd.Stdout = &output
	}
	cmd.Stderr = &output
	cmd.Env = append(os.Environ(), "LC_ALL=C", "DEBIAN_FRONTEND=noninteractive")
	if err := process.Run(ctx, cmd); err != nil {
		return fmt.Errorf("%w: %s", err, strings.TrimSpace(output.String()))
	}
	return nil
}
