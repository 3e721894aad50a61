package main

import (
	"sluice/internal/httpapi"
	"sluice/internal/wiring"
)

// archiveAPI is nil, not an archive that is nil, where there is none.
func archiveAPI(svc *wiring.Service) httpapi.Archive {
	if svc.Archive == nil {
		return nil
	}
	return svc.Archive
}
