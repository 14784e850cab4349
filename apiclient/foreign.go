package apiclient

import "fmt"

// Foreign is how many records of other clients the service's answers held. They are dropped, and their listing or
// change fails with Foreign.
func (c *Client) Foreign() int64 { return c.foreign.Load() }

// notOwn is the error of a record that names another client than the account's; nil: it is the account's, or names
// none.
func (c *Client) notOwn(k call, own int, foreign int64) error {
	if foreign == 0 {
		return nil
	}
	c.foreign.Add(1)
	c.forget()
	why := fmt.Sprintf("a record of client %d came for client %d", foreign, own)
	return &Error{Op: k.op, Kind: Foreign, Message: why, OutcomeUnknown: k.effect != reading}
}
