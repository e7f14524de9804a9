package trial

// MakingUp is a configuration whose trial makes up so many texts, if it makes up any.
func MakingUp(c Config, texts int) Config {
	c.texts = texts
	return c
}

// Unhurried is a configuration whose trial does not mind if the machine is busy.
func Unhurried(c Config) Config {
	c.slack = 60
	return c
}
