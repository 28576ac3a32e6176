package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

// Install gets what these kinds need and what is not there yet: with apt-get where there are apt-get and root, and MySQL,
// which few distributions have, into the cache of the user. It tells out each thing that it does. What it cannot get is
// an error that says how to get it.
func Install(ctx context.Context, out io.Writer, kinds ...Kind) error {
	var packages []string
	var unmet []Requirement
	var errs []error
	for _, r := range Missing(kinds...) {
		switch {
		case r.Private:
			fmt.Fprintf(out, "%s is missing\n", r.Name)
			path, err := downloadMySQL(ctx, out)
			if err != nil {
				errs = append(errs, fmt.Errorf("%w; %s", err, r.Elsewhere))
			} else {
				fmt.Fprintf(out, "MySQL is in %s\n", path)
			}
		default:
			fmt.Fprintf(out, "%s is missing\n", r.Name)
			packages = append(packages, r.Packages...)
			unmet = append(unmet, r)
		}
	}
	if len(packages) > 0 {
		errs = append(errs, installPackages(ctx, out, packages, unmet))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if left := Missing(kinds...); len(left) > 0 {
		return &MissingError{Requirements: left}
	}
	return nil
}

func installPackages(ctx context.Context, out io.Writer, packages []string, unmet []Requirement) error {
	if _, err := exec.LookPath("apt-get"); err != nil {
		return &MissingError{Requirements: unmet}
	}
	install := append([]string{"install", "--yes", "--no-install-recommends"}, packages...)
	if os.Geteuid() != 0 {
		return fmt.Errorf("installing needs root: run `sudo apt-get %s`", strings.Join(install, " "))
	}
	// A list that cannot be had, such as that of a dead third party, need not be the one that is needed.
	if err := apt(ctx, out, "update"); err != nil {
		fmt.Fprintf(out, "apt-get update did not succeed (%v); going on with the lists there are\n", err)
	}
	return apt(ctx, out, install...)
}

// apt runs the system's own apt-get. It changes the system, so it is never killed, only asked to end.
func apt(ctx context.Context, out io.Writer, args ...string) error {
	fmt.Fprintf(out, "apt-get %s\n", strings.Join(args, " "))
	cmd := exec.CommandContext(ctx, "apt-get", append([]string{"-q", "-o", "DPkg::Lock::Timeout=300"}, args...)...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.Env = append(os.Environ(), "LC_ALL=C", "DEBIAN_FRONTEND=noninteractive")
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("apt-get %s: %w: %s", args[0], err, strings.TrimSpace(string(output)))
	}
	return nil
}
