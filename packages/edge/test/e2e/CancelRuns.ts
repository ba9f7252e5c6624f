/**
 * Cancels runs of every kind of misbehaviour, all kinds at once, and measures from the request to `run.cancelled`. When that event is
 * there, nothing of the run may be alive.
 */
import { assert } from "@effect/vitest"
import type { Run, RunStatus } from "@corral/domain/run/Run"
import { isTerminal } from "@corral/domain/run/RunEnd"
import type { EdgeProcess } from "@corral/testing/edge/EdgeProcess"
import type { EventReader } from "@corral/testing/edge/EdgeClient"
import { assertWhole } from "../harness/LogInvariants.ts"
import { type Survivor, survivors } from "@corral/testing/edge/Survivors"
import { until } from "@corral/testing/time/Until"

/** Kind → script. It is cancelled once it has said `ready`, or has asked. */
export const misbehaviours = {
  plain: "/say ready\n/stream 1000000 500 64",
  children: "/children 3\n/say ready\n/hang",
  ignoresSignals: "/ignore-signals\n/say ready\n/hang",
  daemon: "/daemon\n/say ready\n/hang",
  forkloop: "/forkloop\n/say ready\n/hang",
  closedStdout: "/say ready\n/close-stdout",
  heldStdout: "/daemon\n/ignore-signals\n/say ready\n/hang",
  longline: "/say ready\n/longline 60\n/hang",
  garbage: "/ignore-signals\n/say ready\n/garbage 3000\n/hang",
  asking: "/ask",
  vanished: "/vanish\n/say ready\n/hang"
} as const satisfies Record<string, string>

export type Misbehaviour = keyof typeof misbehaviours
const kinds = Object.keys(misbehaviours) as ReadonlyArray<Misbehaviour>

/** Those that this Edge promises to end: what wiped its marks needs a control group. */
export const kindsOf = async ({ client }: EdgeProcess): Promise<ReadonlyArray<Misbehaviour>> => {
  const { body } = await client.ask("GET", "/v1/health")
  // Judged against the contract by the client.
  const { containment } = body as { readonly containment: { readonly kind: string } }
  return kinds.filter((kind) => kind !== "vanished" || containment.kind === "cgroup")
}

const isReady = (reader: EventReader) =>
  reader.event(
    ({ payload, type }) =>
      type === "run.approval.requested" || (type === "run.message.completed" && payload["text"] === "ready"),
    30_000
  )

interface Ready {
  readonly kind: Misbehaviour
  readonly id: string
  readonly reader: EventReader
}

const begin = async ({ client }: EdgeProcess, kind: Misbehaviour): Promise<Ready> => {
  const { id } = await client.create(misbehaviours[kind])
  const reader = await client.follow({ runId: id })
  await isReady(reader)
  return { kind, id, reader }
}

/** How long it took from the request to the event, and what was alive when the event was there. */
export interface Cancelled {
  readonly kind: Misbehaviour
  readonly took: number
  readonly left: ReadonlyArray<Survivor>
}

/** Asks as clients do: again where a busy machine took longer to end the run than one request waits. */
const stateAfterCancel = ({ client }: EdgeProcess, id: string): Promise<RunStatus> =>
  until(
    async () => {
      const { body, status, text } = await client.cancel(id)
      assert.strictEqual(status, 200, text)
      const { state } = body as Pick<Run, "state">
      return isTerminal(state) ? state : undefined
    },
    `the end of ${id}`,
    20_000
  )

const cancel = async (edge: EdgeProcess, { id, kind, reader }: Ready): Promise<Cancelled> => {
  const startedAt = performance.now()
  const seen = reader.event("run.cancelled", 20_000).then(() => ({
    kind,
    took: performance.now() - startedAt,
    left: survivors(undefined, new Set([id]))
  }))
  const [cancelled, state] = await Promise.all([seen, stateAfterCancel(edge, id)])
  assert.strictEqual(state, "cancelled")
  assert.strictEqual((await reader.ended).code, 1000)
  assertWhole(reader.events)
  return cancelled
}

/** What is left over, by kind, in words; empty where nothing is. */
export const leftOver = (cancelled: ReadonlyArray<Cancelled>): ReadonlyArray<string> =>
  cancelled.flatMap(({ kind, left }) =>
    left.map(({ command, pid }) => `${kind}: ${pid} ${command.slice(0, 60)}`)
  )

/** One run of that kind. */
export const cancelOne = async (edge: EdgeProcess, kind: Misbehaviour): Promise<Cancelled> =>
  cancel(edge, await begin(edge, kind))

/** One run of each of these kinds, cancelled together. */
export const cancelEach = async (
  edge: EdgeProcess,
  kinds: ReadonlyArray<Misbehaviour>
): Promise<ReadonlyArray<Cancelled>> => {
  const ready = await Promise.all(kinds.map((kind) => begin(edge, kind)))
  return Promise.all(ready.map((each) => cancel(edge, each)))
}

/** Least, median, 99th percentile and most, in whole milliseconds, for all and by kind. */
export const distribution = (cancelled: ReadonlyArray<Cancelled>): string => {
  const line = (name: string, values: ReadonlyArray<number>) => {
    const sorted = values.toSorted((a, b) => a - b)
    const at = (share: number) => Math.round(sorted[Math.floor((sorted.length - 1) * share)] ?? Number.NaN)
    return `${name.padEnd(15)} min ${at(0)}  p50 ${at(0.5)}  p99 ${at(0.99)}  max ${at(1)}`
  }
  const all = line(
    "all",
    cancelled.map(({ took }) => took)
  )
  const seen = kinds.filter((kind) => cancelled.some((each) => each.kind === kind))
  const each = seen.map((kind) =>
    line(
      kind,
      cancelled.filter((each) => each.kind === kind).map(({ took }) => took)
    )
  )
  return [all, ...each].join("\n")
}
