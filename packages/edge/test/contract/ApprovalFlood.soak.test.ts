/** Runs that flood the Edge with approvals. They do not delay the events of another run that has a reader. */
import { assert, it } from "@effect/vitest"
import { openEdgeProcess } from "@corral/testing/edge/EdgeProcess"

const percentile = (values: ReadonlyArray<number>, share: number): number =>
  values.toSorted((a, b) => a - b)[Math.floor((values.length - 1) * share)] ?? Number.NaN

/** A generous bound for a busy machine. Without limits the median is 12 s. */
const P99_MS = 500
const EVENTS = 3_000

it.each([
  ["5,000 approvals", "ask", "/flood 5000 40 true\\ "],
  ["5,000 approvals of hostile lines", "ask", "/flood 5000 3905 {a,"],
  ["5,000 hostile lines that are denied", "read_only", "/flood 5000 3905 {a,"],
  ["5,000 nested lines that are denied", "read_only", "/flood 5000 3905 a=$("],
  ["20 approvals of 6 MB", "ask", "/flood 20 6000000 x"]
] as const)("%s in %s do not delay another run", { timeout: 300_000 }, async (what, mode, script) => {
  const { client } = await openEdgeProcess()
  const other = await client.create(`/stream ${EVENTS} 200 64`)
  const took: Array<number> = []
  const reader = await client.follow({ runId: other.id })
  const text = /^(\d+) /
  await reader.count(100)
  const over = reader.event(({ payload, type }) => {
    const sent = text.exec(String(payload["text"]))?.[1]
    if (sent !== undefined) took.push(Number(process.hrtime.bigint() - BigInt(sent)) / 1e6)
    return type === "run.completed"
  }, 120_000)
  // Drops the measurements from before the flood.
  took.length = 0
  const flood = await client.create(script, mode)
  await over
  // A run whose requests are denied without a question ends without a cancel.
  if (mode === "read_only" || what.includes("MB"))
    assert.strictEqual((await client.log(flood.id)).at(-1)?.type, "run.completed")
  else assert.strictEqual((await client.cancel(flood.id)).status, 200)
  const [median, p99, most] = [percentile(took, 0.5), percentile(took, 0.99), Math.max(...took)]
  console.log(
    JSON.stringify({
      what: `${what} in ${mode} beside a run that is read`,
      events: took.length,
      medianMs: Number(median.toFixed(1)),
      p99Ms: Number(p99.toFixed(1)),
      mostMs: Number(most.toFixed(1))
    })
  )
  assert.isBelow(p99, P99_MS)
})
