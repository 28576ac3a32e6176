package throttle

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"unicode"

	"godwit/internal/spec"
)

// mostAnswer is how much of an endpoint's answer is read, in bytes.
const mostAnswer = 1 << 10

// endpoints asks the endpoints. A redirect is an answer like any other that is
// not 200: it may lead to a page of a login.
var endpoints = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

// ask returns the first line of an endpoint's answer, and whether it was 200.
func ask(ctx context.Context, address string) (status int, line string, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return 0, "", withoutAddress(err)
	}
	request.Header.Set("User-Agent", "godwit")
	answer, err := endpoints.Do(request)
	if err != nil {
		return 0, "", withoutAddress(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, mostAnswer))
	if err != nil {
		return 0, "", withoutAddress(err)
	}
	line, _, _ = strings.Cut(strings.TrimSpace(string(body)), "\n")
	line = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return -1
	}, line)
	return answer.StatusCode, clip(line, mostShown), nil
}

// withoutAddress takes the address out of an error: there may be a token in it.
func withoutAddress(err error) error {
	var at *url.Error
	if errors.As(err, &at) {
		err = at.Err
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("it does not answer within %s", probeTime)
	}
	return err
}

// allowed is the probe of an endpoint that says go or not.
func allowed(address string) probe {
	return func(ctx context.Context) (float64, string, error) {
		status, line, err := ask(ctx, address)
		if err != nil {
			return 0, "", err
		}
		if status == http.StatusOK {
			return 0, "", nil
		}
		if line == "" {
			line = http.StatusText(status)
		}
		return float64(status), line, nil
	}
}

// freeBytes is the probe of an endpoint that says how much is free.
func freeBytes(address string) probe {
	return func(ctx context.Context) (float64, string, error) {
		status, line, err := ask(ctx, address)
		if err == nil && status != http.StatusOK {
			err = fmt.Errorf("it answers %d: %s", status, line)
		}
		if err != nil {
			return 0, "", err
		}
		size, err := spec.ParseSize(line)
		return float64(size), "", err
	}
}

// place is an address as it is shown: without what may be secret in it.
func place(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "endpoint"
	}
	return u.Scheme + "://" + u.Host + u.Path
}

// clip shortens a text.
func clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}
