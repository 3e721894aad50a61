package webhook

import (
	"time"

	"sluice/internal/backoff"
)

// MaxTries is how often a notification is tried before it is given up, which
// is after one to two hours:
//
//	after try   wait at most   since the first try, at most
//	        1            1 s                            1 s
//	        2            2 s                            3 s
//	        3            4 s                            7 s
//	        4            8 s                           15 s
//	        5           16 s                           31 s
//	        6           32 s                         1 m 3 s
//	        7         1 m 4 s                        2 m 7 s
//	        8         2 m 8 s                       4 m 15 s
//	        9        4 m 16 s                       8 m 31 s
//	       10        8 m 32 s                       17 m 3 s
//	       11        17 m 4 s                       34 m 7 s
//	       12        34 m 8 s                     1 h 8 m 15 s
//	       13             1 h                     2 h 8 m 15 s
//	       14     it is given up
const MaxTries = 14

// GiveUpAfter is how long after its timer fired a notification may wait for a
// place among others for the same receiver.
const GiveUpAfter = 4 * time.Hour

var delays = backoff.Delays{First: time.Second, Longest: time.Hour, Spread: backoff.Upper}

// Backoff is how long to wait after so many tries. It is jittered over its
// upper half, so that what failed together does not come back together.
func Backoff(tries int) time.Duration { return delays.Delay(tries - 1) }
