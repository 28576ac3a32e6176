package connection

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
)

// tlsMode says how a connection is encrypted. By default it is preferred, and
// disable where the server is on the same machine.
type tlsMode string

const (
	tlsDisable    tlsMode = "disable"     // not at all
	tlsPreferred  tlsMode = "preferred"   // when the server can; no protection against an active attacker
	tlsRequire    tlsMode = "require"     // always, with whatever certificate, unless a ca is given: then as verify-ca
	tlsVerifyCA   tlsMode = "verify-ca"   // with a certificate of a known authority
	tlsVerifyFull tlsMode = "verify-full" // and for the server's name; the default when a ca is given
)

// Choices are the valid values.
func (tlsMode) Choices() []string {
	return []string{string(tlsDisable), string(tlsPreferred), string(tlsRequire), string(tlsVerifyCA), string(tlsVerifyFull)}
}

// tlsSettings are how a connection is encrypted. Files are PEM.
type tlsSettings struct {
	Mode       tlsMode `json:"mode,omitempty"`
	CA         string  `json:"ca,omitempty"`          // file of authorities; by default the system's
	Cert       string  `json:"cert,omitempty"`        // file of the client's certificate
	Key        string  `json:"key,omitempty"`         // file of its key
	ServerName string  `json:"server_name,omitempty"` // in the certificate; by default the host
}

// complete fills in the default mode and finds what makes no sense.
func (t *tlsSettings) complete(a address) error {
	if t.Mode == "" {
		switch {
		case t.CA != "":
			t.Mode = tlsVerifyFull
		case t.Cert != "" || t.ServerName != "":
			t.Mode = tlsRequire
		case a.local():
			t.Mode = tlsDisable
		default:
			t.Mode = tlsPreferred
		}
	}
	switch {
	case t.Mode == tlsDisable && *t != tlsSettings{Mode: tlsDisable}:
		return errors.New("disables TLS, and yet gives what it needs: choose another mode, or leave the rest out")
	case (t.Cert == "") != (t.Key == ""):
		return errors.New("gives only one of certificate and key: a client needs both, or none")
	case a.socket != "" && t.Mode != tlsDisable && t.Mode != tlsPreferred:
		return errors.New("asks for TLS on a socket, which is never encrypted: leave it out")
	}
	if a.socket != "" {
		t.Mode = tlsDisable
	}
	return nil
}

// config is nil when there is no encryption.
func (t tlsSettings) config(host string) (*tls.Config, error) {
	if t.Mode == tlsDisable {
		return nil, nil
	}
	config := &tls.Config{ServerName: host, MinVersion: tls.VersionTLS12}
	if t.ServerName != "" {
		config.ServerName = t.ServerName
	}
	if t.CA != "" {
		pem, err := os.ReadFile(t.CA)
		if err != nil {
			return nil, fmt.Errorf("TLS authorities: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("TLS authorities: no certificate in %s", t.CA)
		}
	}
	if t.Cert != "" {
		pair, err := tls.LoadX509KeyPair(t.Cert, t.Key)
		if err != nil {
			return nil, fmt.Errorf("TLS client certificate: %w", err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	if t.Mode != tlsVerifyFull {
		config.InsecureSkipVerify = true
	}
	if t.Mode == tlsVerifyCA || t.Mode == tlsRequire && t.CA != "" {
		config.VerifyConnection = verifyChain(config.RootCAs)
	}
	return config, nil
}

// verifyChain checks a server's certificate, but not for which name it is.
func verifyChain(roots *x509.CertPool) func(tls.ConnectionState) error {
	return func(state tls.ConnectionState) error {
		options := x509.VerifyOptions{Roots: roots, Intermediates: x509.NewCertPool()}
		for _, certificate := range state.PeerCertificates[1:] {
			options.Intermediates.AddCert(certificate)
		}
		_, err := state.PeerCertificates[0].Verify(options)
		if err != nil {
			return &tls.CertificateVerificationError{UnverifiedCertificates: state.PeerCertificates, Err: err}
		}
		return nil
	}
}
