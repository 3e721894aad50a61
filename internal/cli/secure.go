package cli

import (
	"context"
	"crypto/tls"
	"net/http"
	"os"
	"os/user"
	"strconv"

	"sluice/internal/access"
	"sluice/internal/certificate"
	"sluice/internal/config"
	"sluice/internal/domain"
)

// localIdentity is whoever runs a command that works on the data itself.
func localIdentity() access.Identity {
	name := "uid " + strconv.Itoa(os.Getuid())
	if u, err := user.Current(); err == nil && u.Username != "" {
		name = u.Username
	}
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	return access.Identity{Actor: access.ActorLocal(name), Role: access.Admin, Address: host}
}

// scheme is that of the service's URL.
func scheme(h config.HTTP) string {
	if h.TLSCert != "" {
		return "https://"
	}
	return "http://"
}

// trusting is a client that trusts what was said to be trusted: authorities, and
// the certificate of the service that these settings are for.
func trusting(o *options) (*http.Client, error) {
	if o.HTTP.CAFile == "" && o.HTTP.TLSCert == "" {
		return &http.Client{}, nil
	}
	trusted, err := certificate.Client(o.HTTP.CAFile)
	if err == nil && o.HTTP.TLSCert != "" {
		trusted, err = certificate.Pinned(trusted, o.HTTP.TLSCert)
	}
	if err != nil {
		return nil, err
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = trusted
	return &http.Client{Transport: transport}, nil
}

// serverTLS is what the API is served by; nil without TLS.
func serverTLS(so ServiceOptions) (*tls.Config, error) {
	if so.HTTP.TLSCert == "" {
		return nil, nil
	}
	server, err := certificate.Open(so.HTTP.TLSCert, so.HTTP.TLSKey, so.Log)
	if err != nil {
		return nil, err
	}
	return server.Config(), nil
}

// mayBeOpened refuses what cannot become a service that is safe, before anything
// is made.
func (a *App) mayBeOpened(so ServiceOptions) error {
	if so.Exposed && so.HTTP.Token == "" && !so.Servers.Shared() && !a.hasData(so.Service.DataDir) {
		return unguarded(so)
	}
	return nil
}

// mayBeServed refuses a service that other machines can reach and nobody has a
// token for.
func mayBeServed(ctx context.Context, so ServiceOptions, svc *Service) error {
	if so.Exposed && so.HTTP.Token == "" && (svc.HasTokens == nil || !svc.HasTokens(ctx)) {
		return unguarded(so)
	}
	return nil
}

func unguarded(so ServiceOptions) error {
	return domain.Errorf(domain.CodeInvalid,
		"%s can be reached from other machines, which needs --api-token, or a token of an admin that is made before (`sluice token create NAME --role admin`); or listen on %s",
		so.HTTP.Addr, config.Default().HTTP.Addr)
}
