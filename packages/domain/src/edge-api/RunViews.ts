/**
 * Response bodies of a run's result and of a page of its log.
 */
import { Schema } from "effect"
import { page } from "../http/Page.ts"
import { Run } from "../run/Run.ts"
import { Envelope } from "../run/RunEvent.ts"

/** Body of 200: a completed run with its final text. */
export const RunResult = Schema.Struct({ run: Run, text: Schema.String }).annotate({
  identifier: "RunResult"
})
export type RunResult = typeof RunResult.Type

/** Body of 202: the run was still in progress at the end of the wait. Send the request again. */
export const RunPending = Schema.Struct({ run: Run }).annotate({ identifier: "RunPending" })
export type RunPending = typeof RunPending.Type

/** One page of a log. `nextCursor` is the next `after` as decimal text, null at the current end of the log. */
export const EventPage = page(Envelope).annotate({ identifier: "EventPage" })
export type EventPage = typeof EventPage.Type
