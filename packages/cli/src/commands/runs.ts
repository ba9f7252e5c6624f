/** `corral runs`: lists the latest runs of an Edge or a Hub, newest first. */
import { HubRunStatus } from "@corral/domain/hub-api/HubRun"
import { MAX_LIMIT } from "@corral/domain/http/Page"
import { Clock, Effect, Option, Schema } from "effect"
import { Command, Flag } from "effect/cli"
import { jsonLines, runServerFlags } from "../Flags.ts"
import { formatRun } from "../run/RunLine.ts"
import { selectRunServer } from "../run/SelectRunServer.ts"
import { Host } from "../terminal/Host.ts"
import { makePaint } from "../terminal/Paint.ts"

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
