/** Texts for what a line over the limit contained: a runtime, a model or a reader sees them instead of it. */

/** Result of a call whose output was lost. */
export const LOST_RESULT = "The result was too long to be read."

/** Reason why a request was declined: it was lost. */
export const LOST_REQUEST = "The request is too long to be read, so no person saw it. Make it shorter."
