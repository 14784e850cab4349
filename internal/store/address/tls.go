package address

import (
	"crypto/tls"
	"crypto/x509"
	"os"
	"slices"
)

// tls makes the settings of connections, if the scheme has them encrypted.
func (a *Address) tls(s scheme, o TLS) error {
	if !s.secure {
		if (o != TLS{}) {
			return wrong("redis.tls", "does nothing with %s, which is plain text; write %s in redis.url, or remove redis.tls", s, secured(s))
		}
		return nil
	}
	a.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	if o.CAFile != "" {
		pem, err := os.ReadFile(o.CAFile)
		if err != nil {
			return wrong("redis.tls.ca_file", "%v; put the authority's certificate there or fix the path", err)
		}
		a.TLS.RootCAs = x509.NewCertPool()
		if !a.TLS.RootCAs.AppendCertsFromPEM(pem) {
			return wrong("redis.tls.ca_file", "%s holds no certificate; write the authority's there, as PEM", o.CAFile)
		}
	}
	if o.CertFile == "" && o.KeyFile == "" {
		return nil
	}
	if o.CertFile == "" || o.KeyFile == "" {
		return wrong("redis.tls", "has one of cert_file and key_file without the other; set both, or none where Redis asks for no certificate")
	}
	read := func() (*tls.Certificate, error) {
		pair, err := tls.LoadX509KeyPair(o.CertFile, o.KeyFile)
		return &pair, err
	}
	if _, err := read(); err != nil {
		return wrong("redis.tls.cert_file", "can't be used with key_file: %v; write the certificate and its key there, as PEM", err)
	}
	// Certificates are renewed while the program runs.
	a.TLS.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return read() }
	return nil
}

// secured is the same scheme with TLS.
func secured(s scheme) scheme {
	return schemes[slices.IndexFunc(schemes, func(o scheme) bool {
		return o.secure && o.cluster == s.cluster && o.sentinel == s.sentinel
	})]
}
