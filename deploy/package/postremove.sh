#!/bin/sh
# After the package was removed. What was collected, in /var/lib/sluice, stays.
set -e
case "$1" in
purge | 0)
	rm -f /etc/sluice/api.token
	rmdir /etc/sluice 2>/dev/null || true
	;;
esac
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
fi
