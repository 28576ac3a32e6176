package postgres

import "context"

// RepeatsStatements is false: replicas follow what is written, not statements.
func (s *Server) RepeatsStatements(context.Context) (bool, error) { return false, nil }
