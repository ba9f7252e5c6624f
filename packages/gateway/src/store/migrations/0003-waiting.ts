/** What waits is counted, and the oldest of it found, without a walk over what is done. */
export const waiting = [`CREATE INDEX inbox_waiting ON inbox (received_at) WHERE done_at IS NULL`]
