package task

import "testing"

func TestSizesUsePowersOf1024(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{
		0: "0 B", 1000: "1000 B", 1024: "1.0 KiB", 5 << 20: "5.0 MiB", 3_400_000: "3.2 MiB", 2 << 30: "2.0 GiB", 3000 << 40: "3000.0 TiB",
	} {
		if got := ByteSize(n); got != want {
			t.Errorf("%d bytes: got %s, want %s", n, got, want)
		}
	}
}
