/**
 * What one bad runtime and one bad reader cost: the resident memory of a real Edge, beside what ordinary traffic had made of it.
 *
 * The baseline is taken after some ordinary traffic, and little else runs: a busy Edge collects often, and has free memory that would
 * hide what is left lying.
 */
import type { RunId } from "@corral/domain/identity/Ids"
import { isTerminalType } from "@corral/domain/run/RunEnd"
import { assert, describe, it, onTestFinished } from "@effect/vitest"
import { mint } from "@corral/service/Identifiers"
import { EdgeProcess, openEdgeProcess } from "@corral/testing/edge/EdgeProcess"
import { openPeer } from "@corral/testing/edge/LinkPeer"
import { assertDense, assertWhole } from "../harness/LogInvariants.ts"

const READERS = 100
const MB = 1_000_000

/** Peak memory of the Edge during the work. */
const peakOf = async (edge: EdgeProcess, work: () => Promise<void>): Promise<number> => {
  let most = edge.memory
  const timer = setInterval(() => (most = Math.max(most, edge.memory)), 5)
  try {
    await work()
  } finally {
    clearInterval(timer)
  }
  return most
}

describe.skipIf(process.platform !== "linux")("The Edge's memory", () => {
  it("hardly grows for lines of 100 MB and a reader that never reads", { timeout: 120_000 }, async () => {
    const edge = await openEdgeProcess()
    const { client } = edge
    const warm = await client.create("/stream 10000 2000 2000\n/longline 4\n/say done")
    assertDense(await client.log(warm.id))

    const other = await client.create("/stream 1000000 100 64")
    const open = () => client.follow({ runId: other.id, light: true })
    const rest = await Promise.all(Array.from({ length: READERS - 1 }, open))
    await Promise.all(rest.map((reader) => reader.count(100)))
    const before = edge.memory
    // Its socket is full at once: it asked for 20 MB.
    const never = await client.follow({ runId: warm.id, light: true })
    never.pause()

    const grown: Array<number> = []
    let slowest = 0
    for (let repetition = 0; repetition < 3; repetition++) {
      const peak = await peakOf(edge, async () => {
        const run = await client.create("/longline 100\n/say after")
        const long = await client.follow({ runId: run.id })
        let last = performance.now()
        const ended = long.ended.then(() => true)
        for (let over = false; !over;) {
          const next = rest[0]?.count(rest[0].events.length + 1).then(() => false)
          over = await Promise.race([ended, next ?? ended])
          slowest = Math.max(slowest, performance.now() - last)
          last = performance.now()
        }
        assertWhole(long.events)
        assert.deepStrictEqual(
          long.events.filter(({ type }) => type === "schema.validation_failed").length,
          1,
          "the line is refused and not kept"
        )
      })
      grown.push(Math.round((peak - before) / MB))
    }
    for (const reader of rest) assertDense(reader.events)
    const figures = {
      what: "lines of 100 MB beside 100 readers of which 1 never reads",
      beforeMb: Math.round(before / MB),
      grownMb: grown,
      othersApartMs: Math.round(slowest)
    }
    console.log(JSON.stringify(figures))
    assert.isAtMost(Math.max(...grown), 16)
  })

  it("is bounded while a Hub takes its time", { timeout: 60_000 }, async () => {
    const peer = await openPeer()
    const edge = new EdgeProcess()
    onTestFinished(() => edge.remove())
    await peer.join(edge.home)
    await edge.start()
    await peer.linked()
    peer.pushed.beforeAck = async () => {
      if (peer.pushed.pushes % 100 === 3) return peer.cut()
      await new Promise((resolve) => setTimeout(resolve, 30))
    }
    const peakOfRun = async (): Promise<number> => {
      const runId = mint<RunId>("run", Date.now())
      edge.runIds.add(runId)
      const peak = await peakOf(edge, async () => {
        await peer.start("/stream 20000 0 40", {}, runId)
        await peer.until("the end", () => isTerminalType(peer.log(runId).at(-1)?.type ?? ""), 40_000)
      })
      assertWhole(peer.log(runId))
      return peak
    }
    const ordinary = await peakOfRun()
    const peaks = [await peakOfRun(), await peakOfRun()]
    const grownMb = peaks.map((peak) => Math.round((peak - ordinary) / MB))
    console.log(JSON.stringify({ what: "20,000 events to a Hub that stalls and cuts, again", grownMb }))
    // It goes up and down between collections: over 50 such runs by 60 to 245.
    assert.isAtMost(Math.max(...grownMb), 256)
  })
})
