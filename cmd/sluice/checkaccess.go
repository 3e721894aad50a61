package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"sluice/internal/certificate"
	"sluice/internal/cli"
	"sluice/internal/config"
)

// checkAccess examines what keeps strangers out: certificates, and files that hold
// secrets.
func checkAccess(c config.Config) (findings []cli.Finding) {
	if c.HTTP.TLSCert != "" {
		findings = append(findings, checkCertificate("TLS", c.HTTP.TLSCert, c.HTTP.TLSKey, time.Now()))
	}
	if c.Kafka.Cert != "" {
		findings = append(findings, checkCertificate("Kafka's TLS", c.Kafka.Cert, c.Kafka.Key, time.Now()))
	}
	if files := secretFiles(c); len(files) > 0 {
		findings = append(findings, checkSecrets(files))
	}
	return findings
}

// secretFiles are those that were named anywhere.
func secretFiles(c config.Config) (files []string) {
	files = c.SecretFiles()
	for _, file := range []string{c.Servers.KeyFile, c.HTTP.TLSKey, c.Kafka.Key} {
		if file != "" {
			files = append(files, file)
		}
	}
	return files
}

// checkSecrets warns of files that others than their owner can read.
func checkSecrets(files []string) cli.Finding {
	f := cli.Finding{What: "secrets", OK: true, Detail: plural(len(files), "file")}
	var open []string
	for _, file := range files {
		if info, err := os.Stat(file); err == nil && info.Mode().Perm()&0o077 != 0 {
			open = append(open, file)
		}
	}
	if len(open) > 0 {
		f.Warn("others can read what is secret: " + chmod(open))
		return f
	}
	f.Detail += ", for their owner alone"
	return f
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// chmod is the command that closes files.
func chmod(paths []string) string {
	quoted := make([]string, len(paths))
	for i, path := range paths {
		quoted[i] = filepath.Clean(path)
		if strings.ContainsAny(quoted[i], " '\"$&;()<>|*?[]\\`!#~") {
			quoted[i] = "'" + strings.ReplaceAll(quoted[i], "'", `'\''`) + "'"
		}
	}
	return "chmod go-rwx " + strings.Join(quoted, " ")
}

// renewBefore is how long before its end a certificate should be renewed.
const renewBefore = 14 * 24 * time.Hour

func checkCertificate(what, cert, key string, now time.Time) cli.Finding {
	f := cli.Finding{What: what, Fix: "give a certificate chain and its key as PEM files that belong together"}
	pair, err := certificate.Load(cert, key)
	if err != nil {
		f.Detail = err.Error()
		return f
	}
	ends := pair.Leaf.NotAfter
	names := append([]string(nil), pair.Leaf.DNSNames...)
	for _, ip := range pair.Leaf.IPAddresses {
		names = append(names, ip.String())
	}
	f.OK, f.Detail = true, fmt.Sprintf("%s, until %s", cert, ends.UTC().Format(time.DateOnly))
	if len(names) > 0 {
		f.Detail += ", for " + strings.Join(names, ", ")
	}
	switch left := ends.Sub(now); {
	case left <= 0:
		f.OK, f.Detail, f.Fix = false, fmt.Sprintf("%s has ended on %s", cert, ends.UTC().Format(time.DateOnly)), "renew it; it is read again when the file changes"
	case left < renewBefore:
		f.Warn(fmt.Sprintf("it ends in %d days: renew it; it is read again when the file changes", int(left.Hours()/24)))
	}
	return f
}
