/**
 * `corral runs` and `corral show`: the latest runs of an Edge or a Hub, newest first; one of them, or one session of a Hub with its latest
 * messages.
 */
import { MAX_LIMIT } from "@corral/domain/http/Page"
import { type HubRun, HubRunStatus } from "@corral/domain/hub-api/HubRun"
import type { ConfinementKind } from "@corral/domain/run/Confinement"
import type { Run } from "@corral/domain/run/Run"
import { messageOfPrompt } from "@corral/domain/session/TranscribedPrompt"
import { Clock, Effect, Option, Schema } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { jsonLines, jsonObject, type RunServerChoice, runServerFlags } from "../Flags.ts"
import { connectToSignedInHub, memberNames } from "../hub/HubClient.ts"
import { resolveRunId, resolveSessionId } from "../run/IdArguments.ts"
import { selectRunServer } from "../run/SelectRunServer.ts"
import { columnsOf, fitColumns, makePaint, type Paint, paintRow, type Row } from "../terminal/Rows.ts"
import { Host } from "../terminal/Host.ts"
import { listedTime } from "../terminal/ShownTime.ts"
import { escapeLine } from "../terminal/VisibleText.ts"

const tints = {
  queued: "dim",
  created: "dim",
  starting: "dim",
  running: "cyan",
  waiting_approval: "yellow",
  waiting_input: "yellow",
  completed: "green",
  failed: "red",
  cancelled: "dim"
} as const

const PROMPT_SHOWN = 60
/** Columns of a relative time. */
const TIME = 12
/** Columns of an id, a state, a time and the spaces after them. */
const FIXED = 52 + TIME
/** Columns that agent and workspace need besides, before a run takes three lines. */
const PLACE = 24
const INDENT = "  "

const limitsOf = (kind: ConfinementKind): string => {
  if (kind === "none") return "not confined"
  return kind === "landlock" ? "files confined" : "confined"
}

/**
 * A run in a list: one line, or three on a terminal that is too narrow for one. No line is wider than the terminal. `width`: columns of the terminal;
 * `undefined` where the output is not one, so nothing but the prompt is cut and times are absolute.
 */
export const formatRun = (
  { id, state, paused, agentId, workspace, confinement, createdAt, input }: Run | HubRun,
  paint: Paint,
  width: number | undefined,
  now: number
): string => {
  const columns = width ?? Infinity
  const time = listedTime(createdAt, width, now)
  const limits = confinement === undefined ? "" : `, ${limitsOf(confinement.kind)}`
  const place = escapeLine(`${agentId} in ${workspace}${limits}`)
  const prompt = escapeLine(messageOfPrompt(input.text))
  // A run that needs a decision or an answer says so, also while it is paused.
  const isShownPaused = paused === true && state !== "waiting_approval" && state !== "waiting_input"
  const label = isShownPaused ? "paused" : state
  const status = (text: string) => paint(isShownPaused ? "yellow" : tints[state], text)
  if (columns < FIXED + PLACE) {
    const rest = fitColumns(`${place}  ${prompt}`, columns - INDENT.length)
    return `${id}\n${INDENT}${status(label)}  ${time}\n${INDENT}${paint("dim", rest)}\n`
  }
  const shownPlace = fitColumns(place, columns - FIXED)
  const room = columns - FIXED - columnsOf(shownPlace) - INDENT.length
  const shown = room > 1 ? fitColumns(prompt, Math.min(PROMPT_SHOWN, room)) : ""
  return (
    `${id}  ${status(label.padEnd(16))}  ${time.padEnd(TIME)}  ${shownPlace}  ${paint("dim", shown)}`.trimEnd() +
    "\n"
  )
}

const SHOWN_MESSAGES = 50

const print = (host: Host["Service"], rows: ReadonlyArray<Row>): void => {
  const paint = makePaint(host.colours)
  for (const row of rows) host.write(`${paintRow(row, paint).trimEnd()}\n`)
}

const showRun = Effect.fnUntraced(function* (choice: RunServerChoice, start: string, json: boolean) {
  const host = yield* Host
  const { runDetails, UNLIMITED } = yield* Effect.promise(() => import("../show/Details.ts"))
  const server = yield* selectRunServer(choice)
  const run = yield* server.run(yield* resolveRunId(server)(start))
  if (json) return host.write(`${JSON.stringify(run)}\n`)
  print(host, runDetails(run, host.width ?? UNLIMITED, host.invocation, yield* Clock.currentTimeMillis))
})

const showSession = Effect.fnUntraced(function* (choice: RunServerChoice, start: string, json: boolean) {
  const host = yield* Host
  const { activeSessions } = yield* Effect.promise(() => import("../chat/OpenChat.ts"))
  const { sessionDetails } = yield* Effect.promise(() => import("../show/Details.ts"))
  const { UNLIMITED } = yield* Effect.promise(() => import("../show/Details.ts"))
  const { calls } = yield* connectToSignedInHub(choice.hub)
  const id = yield* resolveSessionId(activeSessions(calls, choice))(start)
  const session = yield* calls.sessions.get({ params: { id } })
  const { items } = yield* calls.sessions.messages({ params: { id }, query: { limit: SHOWN_MESSAGES } })
  const messages = items.toReversed()
  if (json) return host.write(`${JSON.stringify({ session, messages })}\n`)
  const names = yield* memberNames(calls, session.projectId)
  const now = yield* Clock.currentTimeMillis
  print(host, sessionDetails(session, messages, names, host.width ?? UNLIMITED, now))
})

/** `corral show`: one run of an Edge or a Hub, or one session of a Hub with its latest messages. */
export const showCommand = Command.make(
  "show",
  {
    ...runServerFlags,
    json: jsonObject,
    id: Argument.String("id").pipe(
      Argument.withDescription("Id of a run or a session, or the start of it"),
      Argument.withSchema(
        Schema.String.check(
          Schema.isPattern(/^(?:run|ses)_[0-9A-Za-z]{1,26}$/u, {
            expected: "an id like run_01K… or ses_01K…"
          })
        )
      )
    )
  },
  ({ id, json, ...choice }) =>
    id.startsWith("ses_") ? showSession(choice, id, json) : showRun(choice, id, json)
).pipe(Command.withDescription("Show a run, or a session with its latest messages"))

export const runsCommand = Command.make(
  "runs",
  {
    ...runServerFlags,
    state: Flag.Literals("state", HubRunStatus.literals).pipe(
      Flag.withDescription("Only runs in this state"),
      Flag.optional
    ),
    limit: Flag.Int("limit").pipe(
      Flag.withDescription(`Number of runs, 1 to ${MAX_LIMIT}`),
      Flag.withSchema(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: MAX_LIMIT }))),
      Flag.withDefault(20)
    ),
    json: jsonLines
  },
  Effect.fn(function* ({ state, limit, json, ...choice }) {
    const host = yield* Host
    const server = yield* selectRunServer(choice)
    const { items, nextCursor } = yield* server.runs({
      limit,
      ...(Option.isSome(state) ? { state: state.value } : {})
    })
    const paint = makePaint(host.colours)
    const now = yield* Clock.currentTimeMillis
    for (const run of items)
      host.write(json ? `${JSON.stringify(run)}\n` : formatRun(run, paint, host.width, now))
    if (json) return
    if (items.length === 0) host.write("No runs found.\n")
    if (nextCursor !== null) host.write(paint("dim", "More runs available. Raise --limit to see them.\n"))
  })
).pipe(Command.withDescription("List the latest runs"))
