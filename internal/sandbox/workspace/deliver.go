package workspace

import (
	"context"

	"github.com/wafbot/wafbot/internal/sandbox/delivery"
)

type (
	// Delivery is something sent to the bot, and its result.
	Delivery = delivery.Delivery
	// Ingress is how deliveries reach the bot.
	Ingress = delivery.Ingress
)

// The kinds of ingress.
const (
	IngressAuto   = delivery.Auto
	IngressHTTP   = delivery.HTTP
	IngressSocket = delivery.Socket
	IngressEither = delivery.Either
	IngressBoth   = delivery.Both
)

// deliver sends a click or command of that channel, unless a fault loses it or doubles it.
func (w *faultMenu) deliver(ctx context.Context, d Delivery, channel string) (Delivery, error) {
	lost, twice := w.deliveryFaults(channel)
	if lost {
		d.Err, d.Warning = "delivery lost", delivery.NoResponse
		return d, nil
	}
	return w.Deliver(ctx, d, twice)
}

// deliveryFaults takes the faults of a delivery.
func (w *faultMenu) deliveryFaults(channel string) (lost, twice bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.takeDeliveryFault(lostClick, channel), w.takeDeliveryFault(duplicateDelivery, channel)
}

// appsConnectionsOpen answers with an address at which one Socket Mode link can be opened, once and soon.
func appsConnectionsOpen(w *webAPI, _ args) (answer, error) {
	url, ok := w.NewLinkURL()
	if !ok {
		return nil, refuse("socket_mode_not_enabled")
	}
	return answer{"url": url}, nil
}

// Close cuts all links and ends what runs in the background. The workspace is of no use afterwards.
func (w *Workspace) Close() {
	w.mu.Lock()
	w.stop()
	w.mu.Unlock() // from here on nothing new begins
	w.Sender.Close()
	w.running.Wait()
}
