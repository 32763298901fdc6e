package sql

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/duckdb/duckdb-go/v2"
)

// sharedSchema has what the house makes for several connections.
const sharedSchema = "passhat_run"

// Beside opens a second connection to the session's database, on which other statements run at the
// same time, and has everything that the house makes from now on seen by both: temporary
// tables and views are ordinary ones of a schema of their own then, which comes before all others. It is for a
// process that runs one report and ends (Config.Leave), since names that an earlier report made stand
// before those. nil where that does not hold, the session is locked, or may use one thread only.
//
// The views that a statement names must have been made before it runs there, see Wake. What is
// returned is closed with the session.
func (s *Session) Beside(ctx context.Context) (*Session, error) {
	if !s.cfg.Leave || s.shared || s.Locked() || s.decoders() < 2 || s.cfg.Threads == 0 && s.small() {
		return nil, nil
	}
	conn, err := s.db.Conn(ctx)
	if stop := stopped(ctx, 0); err != nil && stop != nil {
		return nil, fmt.Errorf("open a second connection: %w", stop)
	}
	if err != nil {
		return nil, fmt.Errorf("open a second connection: %w", clean(err, "", 0))
	}
	other := &Session{snap: s.snap, have: s.have, now: s.now, cfg: s.cfg, db: s.db, conn: conn, files: s.files, side: s.side, watched: s.watched}
	if err := s.share(ctx, other); err != nil {
		conn.Close()
		return nil, err
	}
	s.shared, other.shared, s.beside = true, true, other
	return other, nil
}

// share has both connections look into the same schema first. Where it fails the session is as before.
func (s *Session) share(ctx context.Context, other *Session) error {
	const path = "SET search_path = '" + sharedSchema + ",main'"
	err := other.conn.Raw(func(c any) error {
		drv, ok := c.(*duckdb.Conn)
		if !ok {
			return errors.New("the driver's connection is of an unknown sort")
		}
		other.drv = drv
		return nil
	})
	if err == nil {
		err = other.Exec(ctx, "CREATE SCHEMA IF NOT EXISTS "+sharedSchema+"; SET TimeZone = 'UTC'; SET max_expression_depth = 300; "+path)
	}
	if err != nil {
		return fmt.Errorf("open a second connection: %w", err)
	}
	if err := s.Exec(ctx, path); err != nil {
		return fmt.Errorf("share the tables of a report: %w", err)
	}
	return nil
}

// Wake makes the views of these names, in lower case, which else are made when a statement runs that names them.
func (s *Session) Wake(ctx context.Context, names map[string]bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.wakeNamed(ctx, names)
}

// ofAll is text of the house's, whose statements make what both connections see. Literals are
// left as they are, whatever they say.
func (s *Session) ofAll(text string) string {
	if !s.shared || !strings.Contains(text, tempObject) {
		return text
	}
	var out strings.Builder
	done := 0
	for _, st := range Split(text) {
		rest, ok := strings.CutPrefix(st.Text, tempObject)
		if !ok {
			continue
		}
		for _, kind := range []string{"TABLE ", "VIEW "} {
			if strings.HasPrefix(rest, kind) {
				out.WriteString(text[done:st.Offset] + "CREATE OR REPLACE " + kind + sharedSchema + ".")
				done = st.Offset + len(tempObject) + len(kind)
			}
		}
	}
	return out.String() + text[done:]
}

// tempObject is how the house's statements begin that make a temporary table or view.
const tempObject = "CREATE OR REPLACE TEMP "
