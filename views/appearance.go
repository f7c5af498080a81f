package views

import "taskyard/views/ui"

// AppearanceModel is the settings page for the appearance of pages.
type AppearanceModel struct {
	Form    AppearanceForm
	Browser string // time zone reported by the browser, or ""
	Errors  ui.FieldErrors
}

// AppearanceForm contains the choices; "" always means the system's setting.
type AppearanceForm struct {
	Theme, Density, Zone, Motion string
}

// choice is an option.
type choice struct{ Value, Label string }

// zoneHint explains an empty field.
func zoneHint(c Chrome, browser string) string {
	now := "It is now " + c.Clock(c.Now) + " " + c.zone(c.Now) + "."
	if browser != "" {
		return "If empty, the browser's time zone is used: " + browser + ". " + now
	}
	return "For example Europe/Berlin. Leave blank for the time zone of the browser, or of the server if the browser reports none. " + now
}

// commonZones are suggested; any name in the time zone database is accepted.
var commonZones = []string{
	"UTC", "Africa/Cairo", "Africa/Johannesburg", "Africa/Lagos", "Africa/Nairobi",
	"America/Anchorage", "America/Argentina/Buenos_Aires", "America/Bogota",
	"America/Chicago", "America/Denver", "America/Halifax", "America/Lima", "America/Los_Angeles",
	"America/Mexico_City", "America/New_York", "America/Phoenix",
	"America/Santiago", "America/Sao_Paulo", "America/St_Johns", "America/Toronto",
	"America/Vancouver", "Asia/Bangkok", "Asia/Dhaka", "Asia/Dubai",
	"Asia/Hong_Kong", "Asia/Jakarta", "Asia/Jerusalem", "Asia/Karachi", "Asia/Kathmandu",
	"Asia/Kolkata", "Asia/Manila", "Asia/Riyadh", "Asia/Seoul",
	"Asia/Shanghai", "Asia/Singapore", "Asia/Taipei", "Asia/Tashkent", "Asia/Tehran", "Asia/Tokyo", "Atlantic/Azores", "Atlantic/Reykjavik",
	"Australia/Adelaide", "Australia/Brisbane", "Australia/Perth", "Australia/Sydney",
	"Europe/Amsterdam", "Europe/Athens", "Europe/Berlin", "Europe/Brussels",
	"Europe/Bucharest", "Europe/Dublin", "Europe/Helsinki", "Europe/Istanbul",
	"Europe/Kyiv", "Europe/Lisbon", "Europe/London", "Europe/Madrid",
	"Europe/Paris", "Europe/Prague", "Europe/Rome", "Europe/Stockholm", "Europe/Vienna", "Europe/Warsaw", "Europe/Zurich", "Pacific/Auckland",
	"Pacific/Honolulu",
}
