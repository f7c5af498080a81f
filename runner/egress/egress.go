// Package egress keeps requests that agents cause out of private networks.
package egress

import (
	"net/netip"

	"code.dny.dev/ssrf"
)

// azureHost is where virtual machines of Azure reach their host, which gives
// out settings and certificates, although the address looks public.
var azureHost = netip.MustParsePrefix("168.63.129.16/32")

// New returns a guard whose Safe is the Control of a dialer: it refuses
// addresses that are not public, and ports other than 80 and 443 unless an
// option allows them.
func New(options ...ssrf.Option) *ssrf.Guardian {
	return ssrf.New(append(options, ssrf.WithDeniedV4Prefixes(azureHost))...)
}
