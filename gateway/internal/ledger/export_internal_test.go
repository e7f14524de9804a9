package ledger

// AnyFailed reports whether a call since the user's last message failed.
func (l *Ledger) AnyFailed() bool {
	return l.any(func(c *Call, recent bool) bool { return recent && l.Failed(c) })
}
