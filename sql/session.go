package sql

import (
	"context"
	gosql "database/sql"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/duckdb/duckdb-go/v2"

	"passhat/ingest/store"
	"passhat/udf"
)

// Config limits a session. The zero Config is fit for use.
type Config struct {
	// Memory is DuckDB's limit, such as "4GB"; "" is 4GB, or what DuckDB takes
	// for itself (80 % of the machine's) where that is less.
	Memory string
	// Threads is the number of threads; 0 is one per core, or a single one where the
	// store is small.
	Threads int
	// TimeLimit ends each Query that takes longer, its reading included; 0 is none.
	TimeLimit time.Duration
	// Tables are further files to be read as views, by name (--table NAME=FILE).
	Tables map[string]string
	// TempDir is where the private folder for spilled data is made; "" is the
	// system's.
	TempDir string
	// Also are snapshots of other stores that are read together with the first;
	// no run may be in two of them.
	Also []*store.Snapshot
	// Leave leaves DuckDB's memory to the system when the session is closed, for a
	// process that ends then: tearing it down takes longer than a small query.
	Leave bool
	// Locked locks the session at once, see Lock.
	Locked bool
	// Unstoppable is told why a statement was to end that goes on nevertheless. DuckDB
	// looks for an interrupt between pieces of its work only, and one call of a function
	// can be a piece of minutes and of all memory: a process that has nothing
	// else to do should end. nil: nothing is done.
	Unstoppable func(error)
}

// Session is one in-memory DuckDB database over a snapshot. Its methods may be
// called from several goroutines; statements run one after another.
type Session struct {
	snap    *store.Snapshot
	have    content
	cfg     Config
	db      *gosql.DB
	conn    *gosql.Conn // temporary tables belong to it, see Beside for a second
	drv     *duckdb.Conn
	temp    *tempDir
	files   []string // every path that the views read
	lazy    []lazyView
	live    map[store.RunKey]bool // runs of which the stored roll-ups do not have the counts
	counted *tally                // by CountRuns
	numbers *numbers              // by NumberRuns
	// numbersKnown: the table functions that read them are there.
	numbersKnown bool
	alone        bool     // on one thread, see OneThread
	shared       bool     // with a second connection, see Beside
	watched      *watched // the statements that run, of both connections
	now          *running // as well
	beside       *Session

	side sideTables

	mu      sync.Mutex
	locked  bool
	refused map[string]bool // functions that strangers may not call
	room    int64           // by how much a statement may make the process grow; 0: not asked yet, -1: no limit
}

// Open makes a session over snap, which the caller closes after the session. A
// nil snap is an empty store.
func Open(ctx context.Context, snap *store.Snapshot, cfg Config) (*Session, error) {
	s := &Session{snap: snap, have: contentOf(snap), cfg: cfg, watched: &watched{}, now: &running{}}
	for _, also := range cfg.Also {
		s.have.add(contentOf(also))
	}
	s.files = s.have.readable()
	if err := s.open(ctx); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func (s *Session) open(ctx context.Context) error {
	dsn := ""
	if s.cfg.Threads == 0 && s.small() {
		dsn = "?threads=1"
	}
	connector, err := duckdb.NewConnector(dsn, nil)
	if err != nil {
		return fmt.Errorf("open DuckDB: %w", clean(err, "", 0))
	}
	s.db = gosql.OpenDB(connector)
	if s.conn, err = s.db.Conn(ctx); err != nil {
		return fmt.Errorf("open DuckDB: %w", clean(err, "", 0))
	}
	err = s.conn.Raw(func(c any) error {
		drv, ok := c.(*duckdb.Conn)
		if !ok {
			return errors.New("the driver's connection is of an unknown sort")
		}
		s.drv = drv
		return nil
	})
	if err != nil {
		return fmt.Errorf("open DuckDB: %w", err)
	}
	if err := s.limit(ctx); err != nil {
		return err
	}
	if err := udf.RegisterFor(ctx, s.conn, s.now.ctx); err != nil {
		return err
	}
	if err := s.makeViews(ctx); err != nil {
		return err
	}
	if s.cfg.Locked {
		return s.Lock(ctx)
	}
	return nil
}

// smallStore is the number of trials up to which a second thread does not pay: DuckDB
// shares out work by groups of 122,880 rows, and starts its threads for each statement.
const smallStore = 100_000

// small says that nothing large can be read: no statement of a stranger, no further file.
func (s *Session) small() bool {
	return !s.cfg.Locked && len(s.cfg.Tables) == 0 && s.have.trialRows() <= smallStore
}

// defaultMemory is the memory limit where DuckDB's own is not lower, in bytes.
const defaultMemory = 4_000_000_000

// limit applies the Config and the settings that every session has. The zone
// is UTC so that weeks and days begin where the documents say.
func (s *Session) limit(ctx context.Context) error {
	var err error
	if s.temp, err = newTempDir(s.cfg.TempDir); err != nil {
		return err
	}
	settings := "SET TimeZone = 'UTC'; SET autoinstall_known_extensions = false; " +
		"SET autoload_known_extensions = false; SET allow_community_extensions = false; " +
		// The time DuckDB takes to prepare grows with the cube of the depth, and preparing can't be cancelled.
		"SET max_expression_depth = 300; " +
		"SET temp_directory = " + Literal(s.temp.path) + ";"
	if err := s.Exec(ctx, settings); err != nil {
		return fmt.Errorf("set up DuckDB: %w", err)
	}
	if s.cfg.Threads < 0 {
		return fmt.Errorf("threads: %d is no number of threads; wanted 1 or more", s.cfg.Threads)
	}
	if s.cfg.Threads > 0 {
		if err := s.Exec(ctx, fmt.Sprintf("SET threads = %d", s.cfg.Threads)); err != nil {
			return fmt.Errorf("threads %d: %w", s.cfg.Threads, err)
		}
	}
	if s.cfg.Memory != "" {
		if err := s.Exec(ctx, "SET memory_limit = "+Literal(s.cfg.Memory)); err != nil {
			return fmt.Errorf("memory %q: %w; wanted a size such as 4GB", s.cfg.Memory, err)
		}
		return nil
	}
	const lower = `SELECT CASE current_setting('memory_limit') WHEN '' THEN 1 ELSE
		parse_formatted_bytes(current_setting('memory_limit')) END > `
	var more bool
	if err := s.conn.QueryRowContext(ctx, lower+fmt.Sprint(defaultMemory)).Scan(&more); err != nil {
		return fmt.Errorf("read the memory limit: %w", clean(err, "", 0))
	}
	if more {
		return s.Exec(ctx, fmt.Sprintf("SET memory_limit = '%dMB'", defaultMemory/1_000_000))
	}
	return nil
}

// Snapshot is what the session reads; nil for an empty store.
func (s *Session) Snapshot() *store.Snapshot { return s.snap }

// Locked says whether Lock was called.
func (s *Session) Locked() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.locked
}

// Exec runs the house's own statements, one or several, which answer nothing.
// No text of a stranger may be part of them. It works in a locked session too,
// as far as DuckDB's settings still allow.
func (s *Session) Exec(ctx context.Context, text string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.wake(ctx, text); err != nil {
		return err
	}
	defer s.now.begin(ctx)()
	if _, err := s.drv.ExecContext(ctx, s.ofAll(text), nil); err != nil {
		if stop := stopped(ctx, 0); stop != nil {
			return stop
		}
		return clean(err, text, 0)
	}
	return nil
}

// ExecParams is Exec of one statement with parameters, as in Query; in a locked
// session it is guarded as there, and makes temporary tables only.
func (s *Session) ExecParams(ctx context.Context, text string, params map[string]any) error {
	rows, err := s.query(ctx, s.ofAll(text), params, s.Locked())
	if err != nil {
		return err
	}
	return rows.Close()
}

// Lock makes the session fit for the SQL of strangers: from now on only the
// live files and the named tables can be read, nothing can be written, settings
// are fixed, and Query takes only SELECT and the statements that go with it.
// There is no way back.
func (s *Session) Lock(ctx context.Context) error {
	if s.Locked() {
		return nil
	}
	names, err := s.refusedFunctions(ctx)
	if err != nil {
		return err
	}
	// The order matters: once external access is off, paths can't be added.
	// Views name files by patterns, of which the brackets are escaped.
	allowed := slices.Clone(s.files)
	for _, f := range s.files {
		if g := literalGlob(f); g != f {
			allowed = append(allowed, g)
		}
	}
	text := "SET allowed_paths = " + literalList(allowed) + "; " +
		"SET enable_external_access = false; SET lock_configuration = true;"
	if err := s.Exec(ctx, text); err != nil {
		return fmt.Errorf("lock the session: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refused, s.locked = names, true
	return nil
}

// Close ends the session and removes its temporary folder. Rows that are still
// open must be closed before.
func (s *Session) Close() error {
	var errs []error
	leave := s.cfg.Leave && runtime.GOOS != "windows" // where open files can't be removed
	if s.beside != nil && !leave {
		errs = append(errs, s.beside.conn.Close())
	}
	if s.conn != nil && !leave {
		errs = append(errs, s.conn.Close())
	}
	if s.db != nil && !leave {
		errs = append(errs, s.db.Close())
	}
	s.counted.close()
	if s.temp != nil {
		errs = append(errs, s.temp.remove())
	}
	s.conn, s.db, s.temp = nil, nil, nil
	return errors.Join(errs...)
}
