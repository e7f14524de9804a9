package limit

import (
	"fmt"
	"time"
)

// Window is the time of a budget, in UTC.
type Window string

// The windows.
const (
	Day   Window = "day"
	Week  Window = "week" // from Monday on
	Month Window = "month"
	Total Window = "total" // never renewed
)

func (w Window) known() bool {
	return w == Day || w == Week || w == Month || w == Total
}

// id names the window that a time is in, and says when it begins and ends. Total has no end.
func (w Window) id(now time.Time) (id string, from, to time.Time) {
	now = now.UTC()
	day := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, time.UTC)
	switch w {
	case Day:
		return day.Format(time.DateOnly), day, day.AddDate(0, 0, 1)
	case Week:
		monday := day.AddDate(0, 0, -(int(day.Weekday())+6)%7)
		year, week := now.ISOWeek()
		return fmt.Sprintf("%d-W%02d", year, week), monday, monday.AddDate(0, 0, 7)
	case Month:
		first := time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC)
		return first.Format("2006-01"), first, first.AddDate(0, 1, 0)
	}
	return string(Total), time.Time{}, time.Time{}
}
