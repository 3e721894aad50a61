package mysql

import (
	"strconv"
	"strings"

	"sluice/internal/domain"
)

// checkVersion refuses servers that lack what the adapters use: SKIP LOCKED,
// and defaults that are expressions.
func checkVersion(text string) error {
	least, product := [3]int{8, 0, 13}, "MySQL"
	if strings.Contains(text, "MariaDB") {
		least, product = [3]int{10, 6, 0}, "MariaDB"
		// Replication clients are told a version that begins with this.
		text = strings.TrimPrefix(text, "5.5.5-")
	}
	number, _, _ := strings.Cut(text, "-")
	parts := strings.SplitN(number, ".", 4)
	for i, want := range least {
		have := 0
		if i < len(parts) {
			// What is no number counts as the oldest there can be.
			have, _ = strconv.Atoi(parts[i])
		}
		if have > want {
			return nil
		}
		if have < want {
			return domain.Errorf(domain.CodeInvalid, "the server is %s %s; %d.%d.%d or newer is needed", product, number, least[0], least[1], least[2])
		}
	}
	return nil
}
