/** A run of a real program whose Edge ends under it, and what must be the same as without that. */
import type { Envelope } from "@corral/domain/run/RunEvent"
import { assert } from "@effect/vitest"
import { assertWhole } from "../harness/LogInvariants.ts"
import type { BegunRun, Stage } from "./Stage.ts"

export type EdgeEnd = "SIGKILL" | "SIGTERM"

/** Ends the Edge under a run, and starts the next one, which has the log so far. `meanwhile`: while no Edge is there. */
export const interrupt = async (
  stage: Stage,
  { reader, runId }: BegunRun,
  how: EdgeEnd,
  meanwhile: () => unknown = () => undefined
): Promise<BegunRun> => {
  const { edge } = stage
  if (how === "SIGKILL") await edge.kill()
  else assert.deepStrictEqual(await edge.stop(), { code: 0, signal: null })
  assert.isNotEmpty(edge.survivorsOf(runId), "the program lives on")
  await meanwhile()
  await edge.start()
  const next = await stage.follow(runId)
  const before = reader.frames
  await next.reader.count(before.length)
  assert.deepStrictEqual(next.reader.frames.slice(0, before.length), before, "the log so far is the same")
  return next
}

/** One event in words, without ids and times. */
const happened = ({ payload, type }: Envelope): ReadonlyArray<string> => {
  switch (type) {
    case "run.message.completed":
      // In a confined run, messages of the system name refused connections.
      return payload["role"] === "system" ? [] : [`${String(payload["channel"])}: ${String(payload["text"])}`]
    case "run.tool.call":
      return [`call ${String(payload["tool"])}`]
    case "run.tool.result":
      // Some programs show the id of the process.
      return [`result ${String(payload["status"])} ${String(payload["output"]).replace(/PGID: \d+/, "PGID")}`]
    case "run.completed":
    case "run.failed":
    case "run.cancelled":
      return [`${type} ${String(payload["text"])} ${JSON.stringify(payload["error"])}`]
    default:
      return []
  }
}

/** The text that the run has streamed. */
export const streamedText = (events: ReadonlyArray<Envelope>): string =>
  events
    .flatMap(({ payload, type }) =>
      type === "run.message.delta" && payload["channel"] === "text" ? [String(payload["text"])] : []
    )
    .join("")

/** What the run did and said. Nothing of the streamed text is missing or repeated. */
export const historyOf = (events: ReadonlyArray<Envelope>): ReadonlyArray<string> => {
  assertWhole(events)
  return [...events.flatMap(happened), `streamed: ${streamedText(events)}`]
}

/** Types of events that the one log has more of than the other, such as a diff where the other run changed nothing. */
export const typesBeyond = (events: ReadonlyArray<Envelope>, others: ReadonlyArray<Envelope>): string => {
  const rest = others.map(({ type }) => type)
  const more = events.flatMap(({ type }) => {
    const at = rest.indexOf(type)
    if (at !== -1) rest.splice(at, 1)
    return at === -1 ? [type] : []
  })
  return more.join(" ")
}
