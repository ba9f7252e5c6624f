/** Which request a task came from, for the trace that its run is part of: a task may wait for days. */
export const tracesMigration = [`ALTER TABLE tasks ADD COLUMN traceparent text`]
