package record

// Lane is what one person asks on one account: it is carried out in the order in which it was accepted.
type Lane struct {
	Account string // "": any, or none
	Team    string // as Actor.Team
	User    string // as Actor.ID: each redelivery tells it, whatever the configuration is by then
}
