package wire

import "sluice/internal/stats"

// AccountStatistics is what is known about one account, with where it stands.
type AccountStatistics stats.Account
