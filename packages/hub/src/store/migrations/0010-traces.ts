/** Trace of the request behind a task. The run continues it, possibly days later. */
export const tracesMigration = [`ALTER TABLE tasks ADD COLUMN traceparent text`]
