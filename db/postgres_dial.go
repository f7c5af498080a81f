package db

import (
	"context"
	"net"
	"time"
)

// hostLostAfter is how long a host may leave unanswered what was sent to it. The
// kernel would wait a quarter of an hour for one that lost its power, and the
// servers with it, while its standby is promoted.
const hostLostAfter = 10 * time.Second

// dialHost connects to a host whose loss is noticed.
func dialHost(ctx context.Context, network, address string) (net.Conn, error) {
	return lossyDialer(hostLostAfter).DialContext(ctx, network, address)
}

// lossyDialer makes connections fail when nothing comes back for limit, neither to
// what was sent nor to the probes of an idle connection.
func lossyDialer(limit time.Duration) *net.Dialer {
	return &net.Dialer{
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: limit / 2, Interval: limit / 4, Count: 2},
		Control:         limitUnanswered(limit),
	}
}
