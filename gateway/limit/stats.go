package limit

// Figure is how many requests limits of one kind, of one kind of scope, have let pass and refused.
type Figure struct {
	Of, Kind          string
	Admitted, Refused int64
}

// Stats are what metrics say of limits.
type Stats struct {
	Figures []Figure
	// Running is how many requests hold something; Away how often the limiter could not be asked, and Cut how many
	// answers were cut.
	Running, Away, Cut int64
	// Budgets are those that requests were weighed against last, at most 500.
	Budgets []BudgetFigure
	// Redis is how the Redis is; nil if there is none.
	Redis *AwayStats
}

// BudgetFigure is how much of a budget is spent and held, as the last request found it: 10⁻⁹ US dollars or tokens.
type BudgetFigure struct {
	Scope     Scope
	Kind      string
	Window    Window
	Used, Max int64
}

// Share is the part that is used, above 1 where it is overdrawn. A budget of nothing is used.
func (b BudgetFigure) Share() float64 {
	if b.Max <= 0 {
		return 1
	}
	return float64(b.Used) / float64(b.Max)
}
