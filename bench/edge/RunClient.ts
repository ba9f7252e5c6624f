/** The calls that the benchmarks make, the same on both sides. */
import type { BenchTarget } from "../Target.ts"
import { Subscriber, type SubscriberOptions } from "./Subscriber.ts"

const post = async (target: BenchTarget, path: string, body: unknown): Promise<{ readonly id: string }> => {
  const response = await fetch(`${target.url}${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${target.token}`, "content-type": "application/json" },
    body: JSON.stringify(body)
  })
  const text = await response.text()
  if (!response.ok) throw new Error(`the ${target.side} answered ${response.status} to POST ${path}: ${text}`)
  return JSON.parse(text) as { readonly id: string }
}

/** Starts the scripted runtime with that script; gives the run's id. */
export const createBenchRun = (target: BenchTarget, script: string): Promise<string> =>
  createAgentRun(target, "scripted", script)

/** Starts a run of that agent; gives the run's id. */
export const createAgentRun = async (
  target: BenchTarget,
  agentId: string,
  text: string,
  more: { readonly isolation?: "none" | "overlay" } = {}
): Promise<string> =>
  (await post(target, "/v1/runs", { workspace: "bench", agentId, mode: "ask", input: { text }, ...more })).id

/** Sends a message to a run that waits for one. */
export const sendInput = (target: BenchTarget, runId: string): Promise<unknown> =>
  post(target, `/v1/runs/${runId}/input`, { text: "go" })

/** The approval that a run waits for; only of an Edge. */
export const pendingApproval = async (target: BenchTarget, runId: string): Promise<string> => {
  const response = await fetch(`${target.url}/v1/permissions?runId=${runId}&state=pending`, {
    headers: { authorization: `Bearer ${target.token}` }
  })
  const { items } = (await response.json()) as { readonly items: ReadonlyArray<{ readonly id: string }> }
  const [first] = items
  if (first === undefined) throw new Error(`the run ${runId} waits for no approval`)
  return first.id
}

/** Cancels a run; resolves when it has ended. */
export const cancelBenchRun = async (target: BenchTarget, id: string): Promise<void> => {
  await post(target, `/v1/runs/${id}/cancel`, {})
}

export const allowApproval = (target: BenchTarget, runId: string, approvalId: string): Promise<unknown> =>
  post(target, "/v1/permissions/decide", { runId, approvalId, decision: "allow" })

/** A stream that waits for its readers: `begin` lets it flow, `deltas` is how many each reader gets. */
export interface HeldStream {
  readonly id: string
  readonly readers: ReadonlyArray<Subscriber>
  readonly deltas: number
  readonly begin: () => Promise<unknown>
}

/** A run that streams `count` deltas of `size` characters at `rate` a second (0: as fast as the pipe takes them), and its readers. */
export const holdStream = async (
  target: BenchTarget,
  { count, rate, size }: { readonly count: number; readonly rate: number; readonly size: number },
  readers: number,
  options: SubscriberOptions = {}
): Promise<HeldStream> => {
  const id = await createBenchRun(target, `/wait\n/stream ${count} ${rate} ${size}`)
  let started: () => void = () => undefined
  const running = new Promise<void>((resolve) => {
    started = resolve
  })
  const onEvent = (_run: string, type: string) => type === "run.started" && started()
  const first = await Subscriber.open(target, { ...options, runId: id, onEvent })
  const others = Array.from({ length: readers - 1 }, () => Subscriber.open(target, { ...options, runId: id }))
  const all = [first, ...(await Promise.all(others))]
  await running
  return {
    id,
    readers: all,
    // The word that lets it flow is said as a delta too.
    deltas: count + 1,
    begin: () => sendInput(target, id)
  }
}

/** Waits for the end of every stream; gives how many events were missed, repeated, or are missing at the end. */
export const settle = async ({ readers, deltas }: HeldStream): Promise<number> => {
  await Promise.all(readers.map(({ closed }) => closed))
  return readers.reduce((sum, reader) => sum + reader.faults + Math.abs(deltas - reader.deltas), 0)
}
