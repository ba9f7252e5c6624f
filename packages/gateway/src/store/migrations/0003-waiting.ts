/** Index that counts pending events and finds the oldest one without reading the completed ones. */
export const pendingIndex = [`CREATE INDEX inbox_waiting ON inbox (received_at) WHERE done_at IS NULL`]
