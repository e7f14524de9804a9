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
	// Redis is how the Redis is; nil if there is none.
	Redis *AwayStats
}
