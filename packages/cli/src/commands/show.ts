/** `corral show`: one run of an Edge or a Hub, or one session of a Hub with its latest messages. */
import { Clock, Effect, Schema } from "effect"
import { Argument, Command } from "effect/cli"
import { jsonObject, type RunServerChoice, runServerFlags } from "../Flags.ts"
import { memberNames } from "../hub/MemberNames.ts"
import { connectToSignedInHub } from "../hub/SignedInHub.ts"
import { resolveRunId, resolveSessionId } from "../run/IdArguments.ts"
import { selectRunServer } from "../run/SelectRunServer.ts"
import { Host } from "../terminal/Host.ts"
import { makePaint } from "../terminal/Paint.ts"
import { paintRow, type Row } from "../terminal/WrapText.ts"

const SHOWN_MESSAGES = 50

const print = (host: Host["Service"], rows: ReadonlyArray<Row>): void => {
  const paint = makePaint(host.colours)
  for (const row of rows) host.write(`${paintRow(row, paint).trimEnd()}\n`)
}

const showRun = Effect.fnUntraced(function* (choice: RunServerChoice, start: string, json: boolean) {
  const host = yield* Host
  const { runDetails, UNLIMITED } = yield* Effect.promise(() => import("../show/ShowRun.ts"))
  const server = yield* selectRunServer(choice)
  const run = yield* server.run(yield* resolveRunId(server)(start))
  if (json) return host.write(`${JSON.stringify(run)}\n`)
  print(host, runDetails(run, host.width ?? UNLIMITED, host.invocation, yield* Clock.currentTimeMillis))
})

const showSession = Effect.fnUntraced(function* (choice: RunServerChoice, start: string, json: boolean) {
  const host = yield* Host
  const { activeSessions } = yield* Effect.promise(() => import("../chat/OpenHubChat.ts"))
  const { sessionDetails } = yield* Effect.promise(() => import("../show/ShowSession.ts"))
  const { UNLIMITED } = yield* Effect.promise(() => import("../show/ShowRun.ts"))
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
