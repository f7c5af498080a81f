package browser

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// chrome is the one Chromium process of all tests.
var chrome chromium

type chromium struct {
	once sync.Once
	ctx  context.Context
	stop func()
	dir  string
	err  error
}

var errNoChromium = errors.New("no Chromium is installed: install the package chromium")

// context returns the browser's own context; the tabs are created below it.
func (c *chromium) context(t testing.TB) context.Context {
	t.Helper()
	c.once.Do(c.start)
	if errors.Is(c.err, errNoChromium) && os.Getenv("CI") == "" {
		t.Skip(c.err)
	}
	if c.err != nil {
		t.Fatal(c.err)
	}
	return c.ctx
}

func (c *chromium) start() {
	path := ""
	for _, name := range []string{"chromium-headless-shell", "headless-shell", "chromium", "chromium-browser", "google-chrome"} {
		if p, err := exec.LookPath(name); err == nil {
			path = p
			break
		}
	}
	if path == "" {
		c.err = errNoChromium
		return
	}
	if c.dir, c.err = os.MkdirTemp("", "taskyard-chromium-"); c.err != nil {
		return
	}
	opts := []chromedp.ExecAllocatorOption{
		chromedp.ExecPath(path), chromedp.UserDataDir(c.dir),
		chromedp.Headless, chromedp.NoSandbox, chromedp.DisableGPU, chromedp.NoFirstRun,
	}
	for _, name := range []string{
		"disable-quic", "disable-background-networking", "disable-component-update",
		"disable-sync", "disable-dev-shm-usage", "disable-extensions",
		"disable-background-timer-throttling", "disable-backgrounding-occluded-windows", "disable-renderer-backgrounding", "disable-breakpad",
		"disable-default-apps", "no-default-browser-check", "disable-hang-monitor",
		"in-process-gpu", "disable-software-rasterizer", // nothing is drawn with a GPU, real or emulated
	} {
		opts = append(opts, chromedp.Flag(name, true))
	}
	// Each tab has its own cookies, so a spare process for the next one is of no use to it.
	opts = append(opts, chromedp.Flag("disable-features", "SpareRendererForSitePerProcess"))
	opts = append(opts, chromedp.Flag("force-color-profile", "srgb"), chromedp.Flag("password-store", "basic"))
	opts = append(opts, chromedp.Flag("force-prefers-reduced-motion", true)) // a pulsing dot is painted 60 times a second in each open tab
	alloc, stopAlloc := chromedp.NewExecAllocator(context.Background(), opts...)
	ctx, stop := chromedp.NewContext(alloc)
	c.ctx, c.stop = ctx, func() { stop(); stopAlloc() }
	c.err = chromedp.Do(ctx) // the browser lives as long as this context
}

// close ends the process and removes its folder.
func (c *chromium) close() error {
	if c.ctx == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(c.ctx, 10*time.Second)
	defer cancel()
	err := chromedp.Cancel(ctx)
	c.stop()
	return errors.Join(err, os.RemoveAll(c.dir))
}
