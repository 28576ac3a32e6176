package fault_test

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"godwit/internal/fault"
	"godwit/internal/task"
)

func badValue() error {
	return fault.About("shop.orders", task.Data, "bad value: %w", io.ErrUnexpectedEOF)
}

func TestTheClassSurvivesWrapping(t *testing.T) {
	err := fmt.Errorf("shard 3: %w", fmt.Errorf("chunk: %w and %w", badValue(), io.EOF))
	require.Equal(t, task.Data, fault.Of(err).Class)
	require.Equal(t, "shop.orders", fault.Of(err).Table)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	require.Nil(t, fault.Of(io.EOF))
}

func TestAFaultKnowsWhereItArose(t *testing.T) {
	require.Contains(t, fault.Stack(fmt.Errorf("wrapped: %w", badValue())), "fault_test.badValue\n\tfault_test.go:")
	require.Contains(t, fault.Stack(errors.New("of a driver")), "TestAFaultKnowsWhereItArose")
}
