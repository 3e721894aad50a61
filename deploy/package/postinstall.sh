#!/bin/sh
# After the package was installed, or another version of it in its place.
set -e
# Who operates the service; systemd hands it in, and nobody else may read it.
token=/etc/sluice/api.token
if [ ! -e "$token" ]; then
	(
		umask 077
		od -An -N24 -tx1 /dev/urandom | tr -d ' \n' >"$token.new"
		mv "$token.new" "$token"
	)
fi
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
	# If it runs, it goes on with the new program.
	systemctl try-restart sluice.service || echo "sluice: the service does not start again; see journalctl -u sluice" >&2
fi
