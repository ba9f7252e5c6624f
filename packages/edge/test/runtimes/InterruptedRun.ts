/** A run of a real program whose Edge ends under it, and what must be the same as without that. */
import type { Envelope } from "@corral/domain/run/RunEvent"
import { assert } from "@effect/vitest"
import { assertWhole } from "../harness/LogInvariants.ts"
import type { BegunRun, Stage } from "./Stage.ts"

export type EdgeEnd = "SIGKILL" | "SIGTERM"

/** Ends the Edge under a run, and starts the next one, which has the log so far. `meanwhile`: while no Edge is there. */
export const interrupt = async (
  { edge, follow }: Pick<Stage, "edge" | "follow">,
  { reader, runId }: BegunRun,
  how: EdgeEnd,
  meanwhile: () => unknown = () => undefined
): Promise<BegunRun> => {
  if (how === "SIGKILL") await edge.kill()
  else assert.deepStrictEqual(await edge.stop(), { code: 0, signal: null })
  assert.isNotEmpty(edge.survivorsOf(runId), "the program lives on")
  await meanwhile()
  await edge.start()
  const next = await follow(runId)
  const before = reader.frames
  await next.reader.count(before.length)
  assert.deepStrictEqual(next.reader.frames.slice(0, before.length), before, "the log so far is the same")
  return next
}

/** Names of commands, ids of calls and places of runs differ. What happened does not. */
const happened = ({ payload, type }: Envelope): ReadonlyArray<string> => {
  switch (type) {
    case "run.message.completed":
      // In a confined run, messages of the system name refused connections.
      return payload["role"] === "system" ? [] : [`${String(payload["channel"])}: ${String(payload["text"])}`]
    case "run.tool.call":
      return [`call ${String(payload["name"])}`]
    case "run.tool.result":
      return [`result ${String(payload["status"])} ${String(payload["output"])}`]
    case "run.completed":
    case "run.failed":
    case "run.cancelled":
      return [`${type} ${String(payload["text"])} ${JSON.stringify(payload["error"])}`]
    default:
      return []
  }
}

export const historyOf = (events: ReadonlyArray<Envelope>): ReadonlyArray<string> => {
  assertWhole(events)
  return events.flatMap(happened)
}
