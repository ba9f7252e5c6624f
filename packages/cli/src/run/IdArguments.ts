/**
 * What a person names on the command line: ids, whole or a start that only one run, session, approval, question or artifact has, and items by their id,
 * the start of it, or their name.
 */
import { ApprovalId, ArtifactId, InputRequestId, RunId, SessionId } from "@corral/domain/identity/Ids"
import { messageOfPrompt } from "@corral/domain/session/TranscribedPrompt"
import { Effect, Schema } from "effect"
import { Argument } from "effect/cli"
import { type CommandFailed, refused } from "../CommandFailed.ts"
import { escapeLine } from "../terminal/VisibleText.ts"
import type { RunServer, ServerCall } from "./RunServer.ts"

/** Starts of ids, by kind: the kind may be missing, and letters may be small. */
const starts = {
  run: /^(?:run_)?[0-9A-HJKMNP-TV-Za-hjkmnp-tv-z]{1,26}$/u,
  ses: /^(?:ses_)?[0-9A-HJKMNP-TV-Za-hjkmnp-tv-z]{1,26}$/u,
  apr: /^(?:apr_)?[0-9A-HJKMNP-TV-Za-hjkmnp-tv-z]{1,26}$/u,
  inq: /^(?:inq_)?[0-9A-HJKMNP-TV-Za-hjkmnp-tv-z]{1,26}$/u,
  art: /^(?:art_)?[0-9A-HJKMNP-TV-Za-hjkmnp-tv-z]{1,26}$/u
} as const

type IdKind = keyof typeof starts

/** Start of an id: at least one character after its kind. */
export const idStart = (kind: IdKind) =>
  Schema.String.check(Schema.isPattern(starts[kind], { expected: `an id like ${kind}_01K…` }))

const idArgument = (name: string, kind: IdKind, description: string) =>
  Argument.String(name).pipe(Argument.withDescription(description), Argument.withSchema(idStart(kind)))

export const runArgument = idArgument("run", "run", "Id of the run, or its start")
export const approvalArgument = idArgument("approval", "apr", "Id of the approval, or its start")
export const inputArgument = idArgument("question", "inq", "Id of the question, or its start")
export const artifactArgument = idArgument("artifact", "art", "Id of the artifact, or its start")

interface IdCandidate {
  readonly id: string
  /** Shown where several match. */
  readonly about: string
}

const SHOWN_CANDIDATES = 10

/** The start as ids have it. */
const canonical = (kind: string, text: string): string => {
  const rest = text.startsWith(`${kind}_`) ? text.slice(kind.length + 1) : text
  return `${kind}_${rest.toUpperCase()}`
}

/** The only candidate that starts so. `undefined` if there is none. */
const uniqueId = (
  kind: string,
  text: string,
  candidates: ReadonlyArray<IdCandidate>
): Effect.Effect<string | undefined, CommandFailed> => {
  const start = canonical(kind, text)
  const matching = candidates.filter(({ id }) => id.startsWith(start))
  if (matching.length < 2) return Effect.succeed(matching[0]?.id)
  const shown = matching
    .slice(0, SHOWN_CANDIDATES)
    .map(({ about, id }) => `  ${id}  ${escapeLine(about)}`.trimEnd())
  const more = matching.length > shown.length ? [`  and ${matching.length - shown.length} more`] : []
  return Effect.fail(refused([`More than one id starts with ${start}:`, ...shown, ...more].join("\n")))
}

const resolve = <Id extends string>(
  kind: string,
  schema: Schema.Codec<Id, string>,
  candidates: ServerCall<ReadonlyArray<IdCandidate>>
) => {
  const isId = Schema.is(schema)
  return (text: string): ServerCall<Id> => {
    const whole = canonical(kind, text)
    if (isId(whole)) return Effect.succeed(whole)
    return Effect.flatMap(candidates, (all) => uniqueId(kind, text, all)).pipe(
      Effect.flatMap((id) =>
        isId(id) ? Effect.succeed(id) : Effect.fail(refused(`No id starts with ${whole}.`))
      )
    )
  }
}

const RUN_PAGES = 10
const PAGE = 200

/** Runs that a start of an id may mean: the latest 2,000. */
const latestRuns = (server: RunServer) =>
  Effect.gen(function* () {
    const candidates: Array<IdCandidate> = []
    let cursor: string | null | undefined
    for (let page = 0; page < RUN_PAGES && cursor !== null; page++) {
      const { items, nextCursor } = yield* server.runs({
        limit: PAGE,
        ...(cursor === undefined ? {} : { cursor })
      })
      for (const { id, input } of items)
        candidates.push({ id, about: messageOfPrompt(input.text).slice(0, 60) })
      cursor = nextCursor
    }
    return candidates
  })

export const resolveRunId = (server: RunServer) => resolve("run", RunId, latestRuns(server))

export const resolveApprovalId = (server: RunServer) =>
  resolve(
    "apr",
    ApprovalId,
    Effect.map(server.approvals, (all) => all.map(({ id, request }) => ({ id, about: request.title })))
  )

export const resolveInputId = (server: RunServer) =>
  resolve(
    "inq",
    InputRequestId,
    Effect.map(server.inputs, (all) => all.map(({ id, title }) => ({ id, about: title })))
  )

export const resolveArtifactId = (server: RunServer, run: RunId) =>
  resolve(
    "art",
    ArtifactId,
    Effect.map(server.artifacts(run), (all) => all.map(({ id, name }) => ({ id, about: name })))
  )

export const resolveSessionId = (
  sessions: ServerCall<ReadonlyArray<{ readonly id: string; readonly title: string }>>
) =>
  resolve(
    "ses",
    SessionId,
    Effect.map(sessions, (all) => all.map(({ id, title }) => ({ id, about: title })))
  )

interface Named {
  readonly id: string
  readonly name: string
}

const formatNames = (all: ReadonlyArray<Named>): string =>
  all.map(({ id, name }) => `${escapeLine(name)} (${id})`).join(", ") || "none"

/** Shortest start of an id after its kind, as in `dev_01`. */
const MIN_START = 6

/** Items with this id or name. Without one, those whose id starts with it. */
export const itemsNamed = <A extends Named>(all: ReadonlyArray<A>, wanted: string): ReadonlyArray<A> => {
  const exact = all.filter(({ id, name }) => id === wanted || name === wanted)
  return exact.length > 0 || wanted.length < MIN_START ? exact : all.filter(({ id }) => id.startsWith(wanted))
}

/** Choice of one item by its id, a unique start of its id, or its name; without one, of the only item. `flag` selects the item on the command line. */
export const selectByName = <A extends Named>(
  what: string,
  flag: string,
  all: ReadonlyArray<A>,
  wanted?: string
) => {
  const matching = wanted === undefined ? all : itemsNamed(all, wanted)
  const [one] = matching
  if (one !== undefined && matching.length === 1) return Effect.succeed(one)
  const problem =
    wanted === undefined
      ? `Choose ${/^[aeiou]/.test(what) ? "an" : "a"} ${what} with ${flag}.`
      : `${matching.length === 0 ? "No" : "More than one"} ${what} is named ${escapeLine(wanted)}.`
  return Effect.fail(refused(`${problem} Available: ${formatNames(matching.length > 1 ? matching : all)}.`))
}
