package secret

import (
	"encoding/hex"
	"errors"
	"strings"
)

func parseKeys(text string) ([][]byte, error) {
	var keys [][]byte
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		key, err := hex.DecodeString(line)
		if err != nil {
			return nil, errors.New("a line is not hexadecimal")
		}
		keys = append(keys, key)
	}
	if len(keys) == 0 {
		return nil, errors.New("it holds no key")
	}
	return keys, nil
}
