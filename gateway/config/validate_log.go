package config

// checkLog checks that the lines which a trace is made of are written at all.
func checkLog(r *report, l Log) {
	const p = path("log.prefix")
	if !l.Prefix {
		return
	}
	if l.Level != "debug" && l.Level != "info" {
		r.add(p, "requests are logged at the level info, and log.level is %s; set it to info, or leave log.prefix out", l.Level)
	}
	if l.Format != "json" {
		r.add(p, "callgate export-trace reads JSON, and log.format is %s; set it to json, or leave log.prefix out", l.Format)
	}
}
