package folder

import "time"

// Patient has plugins wait for those that stand before them as long as a test on a busy machine must.
func (f *Folder) Patient() *Folder {
	f.patience = time.Minute
	return f
}
