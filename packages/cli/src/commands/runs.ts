/**
 * `corral runs` and `corral show`: the latest runs of an Edge or a Hub, newest first; one of them, or one session of a Hub with its latest
 * messages.
 */
import { MAX_LIMIT } from "@corral/domain/http/Page"
import { HubRunStatus } from "@corral/domain/hub-api/HubRun"
import { Clock, Effect, Option, Schema } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { type RunServerChoice, jsonLines, jsonObject, runServerFlags } from "../Flags.ts"
import { memberNames } from "../hub/MemberNames.ts"
import { connectToSignedInHub } from "../hub/HubClient.ts"
import { resolveRunId, resolveSessionId } from "../run/IdArguments.ts"
import { formatRun } from "../run/RunLine.ts"
import { selectRunServer } from "../run/SelectRunServer.ts"
import { Host } from "../terminal/Host.ts"
import { makePaint } from "../terminal/Paint.ts"
import { type Row, paintRow } from "../terminal/WrapText.ts"

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
  const { activeSessions } = yield* Effect.promise(() => import("../chat/OpenHubChat.ts"))
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
