/**
 * Views of a run that are neither its snapshot nor its events: the awaited result, and the log as a page.
 */
import { Schema } from "effect"
import { page } from "../http/Page.ts"
import { Run } from "../run/Run.ts"
import { Envelope } from "../run/RunEvent.ts"

/** A completed run with its final text. */
export const RunResult = Schema.Struct({ run: Run, text: Schema.String }).annotate({
  identifier: "RunResult"
})
export type RunResult = typeof RunResult.Type

/** The run is still going when the wait is over: ask again. */
export const RunPending = Schema.Struct({ run: Run }).annotate({ identifier: "RunPending" })
export type RunPending = typeof RunPending.Type

/** One page of a log. `nextCursor` is the next `after` as decimal text, null at the log's present end. */
export const EventPage = page(Envelope).annotate({ identifier: "EventPage" })
export type EventPage = typeof EventPage.Type
