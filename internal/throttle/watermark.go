package throttle

// watermark is the limit of a guard: it holds when the high one is passed, and
// goes on holding until the low one is reached, so that work does not start and
// stop with every reading.
type watermark struct {
	high  float64
	low   float64 // as a part of high
	below bool    // what is low is bad: it is passed when a reading falls under it
}

// passed reports whether a reading is beyond the high watermark.
func (w watermark) passed(value float64) bool {
	if w.below {
		return value < w.high
	}
	return value > w.high
}

// calm reports whether a reading is back behind the low watermark.
func (w watermark) calm(value float64) bool {
	if w.below {
		return value >= w.resume()
	}
	return value <= w.resume()
}

// resume is the low watermark. Of a limit of 0, or below, it is the limit.
func (w watermark) resume() float64 {
	switch {
	case w.high <= 0:
		return w.high
	case w.below:
		return w.high / w.low
	}
	return w.high * w.low
}
