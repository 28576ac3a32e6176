// Command deps installs the database servers that the demo and the tests start, as far as they are missing:
//
//	deps [--check] [postgres] [mariadb] [mysql]
//
// Without names it means all of them. With --check it only tells what is missing, and fails when something is.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"godwit/internal/sandbox"
)

func main() {
	check := flag.Bool("check", false, "only tell what is missing")
	flag.Parse()
	if err := run(*check, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "deps:", err)
		os.Exit(1)
	}
}

func run(check bool, names []string) error {
	kinds := sandbox.Kinds()
	if len(names) > 0 {
		kinds = kinds[:0:0]
	}
	for _, name := range names {
		kind := sandbox.Kind(name)
		if !slices.Contains(sandbox.Kinds(), kind) {
			return fmt.Errorf("no engine is called %q: there are %v", name, sandbox.Kinds())
		}
		kinds = append(kinds, kind)
	}
	if check {
		return report(kinds)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return sandbox.Install(ctx, os.Stdout, kinds...)
}

func report(kinds []sandbox.Kind) error {
	missing := sandbox.Missing(kinds...)
	if len(missing) == 0 {
		return nil
	}
	for _, r := range missing {
		fmt.Printf("missing for %s: %s (Debian: %s); %s\n", r.Kind, r.Name, strings.Join(r.Packages, ", "), r.Elsewhere)
	}
	return errors.New("run `make deps`")
}
