package gateway

// Response is an answer on its way to the client, frame by frame. Next may return a nil frame
// without an error: what was given out before is to be flushed, since the next frame is not
// here yet.
type Response struct {
	Reply
	// Summary grows while the frames are read. It is complete when Next has returned an
	// error, or a whole answer.
	Summary *Summary
}
