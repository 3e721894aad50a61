#!/bin/sh
# Before the package is removed, or replaced by another version of it, which a
# deb calls "upgrade" and an rpm 1.
set -e
case "$1" in
remove | 0)
	if [ -d /run/systemd/system ]; then
		systemctl disable --now sluice.service
	fi
	;;
esac
