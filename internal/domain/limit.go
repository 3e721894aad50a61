package domain

// DefaultLimit is how many rows a query returns that names no limit.
const DefaultLimit = 100

// Limit is how many rows a query returns that asks for so many; zero asks for none
// in particular.
func Limit(n int) int64 {
	if n <= 0 {
		return DefaultLimit
	}
	return int64(n)
}
