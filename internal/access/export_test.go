package access

// Remembered counts the addresses that are remembered.
func (a *Attempts) Remembered() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.debts)
}
