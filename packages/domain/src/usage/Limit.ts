/**
 * Limits of a project: what its runs may use in one day, together and by person. A run counts for the day of its start, in the project's time zone.
 *
 * Does not: limit runs that start at an Edge without the Hub.
 */
import { Schema } from "effect"
import { ProjectId, UserId } from "../identity/Ids.ts"
import { Budget, CostUsd, limitProgressOf, TokenCount } from "../run/Budget.ts"
import { Day } from "./Day.ts"

/** `everyone`: all runs together. `each`: the runs of each person who has no separate limit. A user id: the runs of that person. */
export const LimitSubject = Schema.Union([Schema.Literals(["everyone", "each"]), UserId])
export type LimitSubject = typeof LimitSubject.Type

const amounts = { costUsd: Schema.optionalKey(CostUsd), tokens: Schema.optionalKey(TokenCount) }

/** Body of PUT /client/projects/{id}/limits/{subject}: at least one amount. Replaces the limit. */
export const SetLimit = Schema.Struct(amounts)
  .check(
    Schema.makeFilter(({ costUsd, tokens }) => costUsd !== undefined || tokens !== undefined, {
      expected: "costUsd or tokens"
    })
  )
  .annotate({ identifier: "SetLimit" })
export type SetLimit = typeof SetLimit.Type

/** A limit for each day. `tokens` are input and output tokens. */
export const ProjectLimit = Schema.Struct({
  subject: LimitSubject,
  /** Only of a person. */
  name: Schema.optionalKey(Schema.String),
  ...amounts,
  updatedAt: Schema.String
}).annotate({ identifier: "ProjectLimit" })
export type ProjectLimit = typeof ProjectLimit.Type

/** What runs of a day have used or reserved. */
export const UsedAmounts = Schema.Struct({ costUsd: Schema.Finite, tokens: Schema.Int })
export type UsedAmounts = typeof UsedAmounts.Type

/** `near`: at least 80 % is used. `reached`: all of it is used. Reservations do not count. */
export const LimitState = Schema.Literals(["open", "near", "reached"])
export type LimitState = typeof LimitState.Type

/** Use of a limit today. */
export const LimitUse = Schema.Struct({
  /** `everyone`, or one person under a separate limit or that of each person. */
  subject: Schema.Union([Schema.Literal("everyone"), UserId]),
  name: Schema.optionalKey(Schema.String),
  limit: Schema.Struct(amounts),
  /** By all runs of the day so far. */
  used: UsedAmounts,
  /** What live runs may still use. `used` and `reserved` together are at most the limit, unless a run used more than it had reserved. */
  reserved: UsedAmounts,
  state: LimitState
}).annotate({ identifier: "LimitUse" })
export type LimitUse = typeof LimitUse.Type

/** The limits of a project and their use today. */
export const ProjectLimits = Schema.Struct({
  projectId: ProjectId,
  timeZone: Schema.String,
  /** Today, in the project's time zone, and when it ends, in ISO 8601. */
  day: Day,
  dayEndsAt: Schema.String,
  runBudget: Schema.optionalKey(Budget),
  limits: Schema.Array(ProjectLimit),
  /** Everyone, the caller, and the persons who have started runs today, as far as there are limits for them. */
  today: Schema.Array(LimitUse)
}).annotate({ identifier: "ProjectLimits" })
export type ProjectLimits = typeof ProjectLimits.Type

/** The state of a limit: that of the amount of which most is used. */
export const limitStateOf = (limit: SetLimit, used: UsedAmounts): LimitState => {
  const states = (["costUsd", "tokens"] as const).map((name) => {
    const of = limit[name]
    return of === undefined ? "open" : limitProgressOf(name, used[name], of)
  })
  return (["reached", "near"] as const).find((state) => states.includes(state)) ?? "open"
}
