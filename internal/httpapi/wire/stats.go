package wire

import "sluice/internal/stats"

// AccountStatistics is what is known about one account, with where it stands.
type AccountStatistics stats.Account

// Leaderboard ranks accounts by one measure, the best first.
type Leaderboard struct {
	By stats.Measure `json:"by"`
	// Accounts is how many were compared; Rows may hold fewer.
	Accounts int         `json:"accounts"`
	Rows     []stats.Row `json:"rows" nullable:"false"`
}
