package ingest

// await blocks until it is the chunk's turn; false if the source has failed.
func (p *pipeline) await(seq int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.turn != seq && p.err == nil {
		p.turned.Wait()
	}
	return p.err == nil
}

// hand takes a decoded chunk and sequences it and those behind it as far as they
// are there. It blocks only while very many wait for one before them.
func (p *pipeline) hand(c *chunk) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.early) >= 2*p.jobs && p.turn != c.seq && p.err == nil {
		p.turned.Wait()
	}
	p.early[c.seq] = c
	if p.turning {
		return nil // by another, who looks once more
	}
	p.turning = true
	defer func() { p.turning = false }()
	for p.err == nil && p.early[p.turn] != nil {
		c := p.early[p.turn]
		delete(p.early, p.turn)
		if err := p.unlocked(func() error { return p.sequence(c) }); err != nil {
			return err
		}
		p.ready = append(p.ready, c)
		p.turn++
		p.turned.Broadcast()
	}
	return nil
}

// unlocked does f without the lock.
func (p *pipeline) unlocked(f func() error) error {
	p.mu.Unlock()
	defer p.mu.Lock()
	return f()
}

// next takes a chunk that is to be encoded; nil when there is none.
func (p *pipeline) next() *chunk {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.ready) == 0 || p.err != nil {
		return nil
	}
	c := p.ready[0]
	p.ready = append(p.ready[:0], p.ready[1:]...)
	return c
}

// sequence takes the step that depends on the order of the source.
func (p *pipeline) sequence(c *chunk) error {
	if err := p.seq.sequence(c.trials); err != nil {
		return err
	}
	p.keepPreview(c.trials)
	return p.takeRejects(c.rejects)
}
