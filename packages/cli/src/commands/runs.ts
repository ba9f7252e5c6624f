/** `corral runs`: lists the latest runs of an Edge or a Hub, newest first. */
import { type HubRun, HubRunStatus } from "@corral/domain/hub-api/HubRun"
import type { Run } from "@corral/domain/run/Run"
import { MAX_LIMIT } from "@corral/domain/http/Page"
import { Effect, Option, Schema } from "effect"
import { Command, Flag } from "effect/cli"
import { jsonLines, runServerFlags } from "../Flags.ts"
import { fitColumns } from "../terminal/FitColumns.ts"
import { Host } from "../terminal/Host.ts"
import { makePaint, type Paint } from "../terminal/Paint.ts"
import { selectRunServer } from "../run/SelectRunServer.ts"
import { escapeLine } from "../terminal/VisibleText.ts"

const tints = {
  queued: "dim",
  created: "dim",
  starting: "dim",
  running: "cyan",
  waiting_approval: "yellow",
  completed: "green",
  failed: "red",
  cancelled: "dim"
} as const

const PROMPT_SHOWN = 60

/** One line per run. On a terminal, the prompt is truncated to the remaining width. */
const line = (
  { id, state, agentId, workspace, createdAt, input }: Run | HubRun,
  paint: Paint,
  width: number | undefined
): string => {
  const when = `${createdAt.slice(0, 10)} ${createdAt.slice(11, 19)}`
  const [before, status, after] = [`${id}  `, state.padEnd(16), `  ${when}  ${agentId} in ${workspace}  `]
  const room = (width ?? Infinity) - before.length - status.length - after.length
  const prompt = fitColumns(escapeLine(input.text), Math.min(PROMPT_SHOWN, room))
  return `${before}${paint(tints[state], status)}${after}${paint("dim", prompt)}`.trimEnd() + "\n"
}

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
    for (const run of items) host.write(json ? `${JSON.stringify(run)}\n` : line(run, paint, host.width))
    if (json) return
    if (items.length === 0) host.write("No runs found.\n")
    if (nextCursor !== null) host.write(paint("dim", "More runs available. Raise --limit to see them.\n"))
  })
).pipe(Command.withDescription("List the latest runs"))
