package archive

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
)

// DamagedError says that a part of an archive is damaged.
type DamagedError struct {
	Part string // name of the entry
	Err  error
}

func (d *DamagedError) Error() string {
	return fmt.Sprintf("the backup is damaged in %s: %v", d.Part, d.Err)
}

func (d *DamagedError) Unwrap() error { return d.Err }

// Reader reads an archive once, in order.
type Reader struct {
	Manifest *Manifest
	zstd     *zstd.Decoder
	tar      *tar.Reader
}

// NewReader reads the manifest of an archive. The Reader must be closed.
// Errors: *DamagedError.
func NewReader(r io.Reader) (*Reader, error) {
	z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderMaxMemory(4*maxWindow))
	if err != nil {
		return nil, err
	}
	a := &Reader{zstd: z, tar: tar.NewReader(z)}
	if err := a.readManifest(); err != nil {
		z.Close()
		return nil, &DamagedError{ManifestName, err}
	}
	return a, nil
}

func (a *Reader) readManifest() error {
	h, err := a.tar.Next()
	if err != nil {
		return describeEOF(err)
	}
	if h.Name != ManifestName || h.Typeflag != tar.TypeReg || h.Size > maxManifest {
		return errors.New("it does not begin with the manifest of a Taskyard backup")
	}
	text, err := io.ReadAll(a.tar)
	if err != nil {
		return describeEOF(err)
	}
	m := &Manifest{}
	if err := json.Unmarshal(text, m); err != nil {
		return err
	}
	a.Manifest = m
	return m.check()
}

// Close releases the reader's resources.
func (a *Reader) Close() { a.zstd.Close() }

// Files reads all files and passes each to take, unless take is nil. It
// compares every byte with the manifest; a file is verified when the next one
// is read, and the last one when Files returns. Errors: *DamagedError, and
// those of take.
func (a *Reader) Files(take func(f File, r io.Reader) error) error {
	last := ManifestName
	for _, f := range a.Manifest.Files {
		h, err := a.tar.Next()
		switch {
		case err != nil:
			return &DamagedError{f.Name, describeEOF(err)}
		case h.Typeflag != tar.TypeReg:
			return &DamagedError{f.Name, fmt.Errorf("%.100q is a link, a folder or a device", h.Name)}
		case h.Name != f.Name || h.Size != f.Size:
			return &DamagedError{f.Name, fmt.Errorf("%.100q with %d bytes is there instead", h.Name, h.Size)}
		}
		if err := a.file(f, take); err != nil {
			return err
		}
		last = f.Name
	}
	return a.end(last)
}

func (a *Reader) file(f File, take func(f File, r io.Reader) error) error {
	sum, source := sha256.New(), &errorRecorder{r: a.tar}
	r := io.TeeReader(source, sum)
	if take != nil {
		if err := take(f, r); err != nil && source.err == nil {
			return err
		}
	}
	if source.err == nil {
		_, _ = io.Copy(io.Discard, r) // the rest that take did not read
	}
	if source.err != nil {
		return &DamagedError{f.Name, describeEOF(source.err)}
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != f.SHA256 {
		return &DamagedError{f.Name, errors.New("its SHA-256 does not match the manifest")}
	}
	return nil
}

// end reads to the end of the file, which must contain nothing else.
func (a *Reader) end(last string) error {
	h, err := a.tar.Next()
	switch {
	case err == nil:
		return &DamagedError{last, fmt.Errorf("%.100q follows, which the manifest does not have", h.Name)}
	case !errors.Is(err, io.EOF):
		return &DamagedError{last, describeEOF(err)}
	}
	n, err := io.Copy(io.Discard, io.LimitReader(a.zstd, 1))
	if err != nil {
		return &DamagedError{last, describeEOF(err)}
	}
	if n > 0 {
		return &DamagedError{last, errors.New("there is data after the end of the archive")}
	}
	return nil
}

// errorRecorder records the error of a reader.
type errorRecorder struct {
	r   io.Reader
	err error
}

func (n *errorRecorder) Read(p []byte) (int, error) {
	c, err := n.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		n.err = err
	}
	return c, err
}

// describeEOF replaces an unexpected EOF with a clearer error.
func describeEOF(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the file ends there: it was cut off")
	}
	return err
}
