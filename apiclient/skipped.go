package apiclient

import (
	"fmt"
	"slices"
	"strings"
)

// TooLong names the records that the listings last skipped because each alone makes an answer too long; "" if there
// are none.
func (c *Client) TooLong() string {
	var all []string
	c.skipped.Range(func(listing, places any) bool {
		for _, at := range places.([]int) { //nolint:forcetypeassert // skip puts them in
			all = append(all, fmt.Sprintf("%s: record %d", listing, at+1))
		}
		return true
	})
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// skips are where the records of a listing are that were too long when it was last read.
func (c *Client) skips(listing string) []int {
	places, _ := c.skipped.Load(listing)
	known, _ := places.([]int)
	return known
}

// skip notes where these records are, and logs the last one if it wasn't there before.
func (c *Client) skip(listing string, places, before []int) {
	if last := places[len(places)-1]; !slices.Contains(before, last) {
		c.log.Warn("a record is too long to be read: it is skipped", "call", listing, "record", last+1)
	}
	c.skipped.Store(listing, places)
}
