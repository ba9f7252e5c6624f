/** A runtime may print anything: the run continues, other runs are unaffected, the Edge does not grow. */
import { assert, describe, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { openEdgeProcess } from "@corral/testing/edge/EdgeProcess"
import { UncontendedTime } from "@corral/testing/time/Until"
import { assertWhole } from "../harness/LogInvariants.ts"

describe("A runtime's output", () => {
  it("that is garbage becomes schema.validation_failed, and the run completes", async () => {
    const { client } = await openEdgeProcess()
    const run = await client.create("/say before\n/garbage 200\n/say after")
    const events = await client.log(run.id)
    assertWhole(events)
    assert.strictEqual(events.at(-1)?.type, "run.completed")
    assert.isAtLeast(events.filter(({ type }) => type === "schema.validation_failed").length, 50)
    const messages = events
      .filter(({ type }) => type === "run.message.completed")
      .map(({ payload }) => payload)
    // Some of the garbage are pieces of a message that is never told whole: the end of the run completes it.
    const pieces = events
      .filter(({ payload, type }) => type === "run.message.delta" && payload["messageId"] === "g")
      .map(({ payload }) => payload["text"])
    assert.isNotEmpty(pieces)
    assert.deepStrictEqual(
      messages.map(({ text }) => text),
      ["before", "after", pieces.join("")]
    )
    assert.strictEqual(messages.at(-1)?.["messageId"], "g")
  })

  it("that is lines of 100 MB stops no other run and is not kept", async () => {
    const edge = await openEdgeProcess()
    const { client } = edge
    const other = await client.create("/stream 1000000 200 64")
    const reader = await client.follow({ runId: other.id })
    await reader.count(50)
    const before = edge.memory
    const run = await client.create("/longline 100\n/longline 100\n/longline 100\n/say after")
    const long = await client.follow({ runId: run.id })
    let most = before
    let slowest = 0
    let last = new UncontendedTime()
    const ended = long.ended.then(() => true)
    for (let over = false; !over;) {
      const next = reader.count(reader.events.length + 1).then(() => false)
      over = await Promise.race([ended, next])
      slowest = Math.max(slowest, last.millis)
      last = new UncontendedTime()
      most = Math.max(most, edge.memory)
    }
    assertWhole(long.events)
    assert.strictEqual(long.events.at(-1)?.type, "run.completed")
    const invalid = long.events.filter(({ type }) => type === "schema.validation_failed")
    assert.strictEqual(invalid.length, 3)
    const grown = Math.round((most - before) / 1e6)
    console.log(
      `three lines of 100 MB: the Edge grew by ${grown} MB, another run's events came ${Math.round(slowest)} ms apart at most`
    )
    // 24 MB alone, and up to 34 MB beside other programs.
    assert.isBelow(grown, 48, "dead reads are given back at once: left to the collector they are some 70 MB")
    assert.isBelow(slowest, 2_000, "a generous bound: the strict figure is the benchmark's")
  })

  it("that is long is cut into events of 256 KiB at most", async () => {
    const edge = await openEdgeProcess({ grants: ["full_access"] })
    const { client } = edge
    const script = "/stream 3 0 900000\n/shell head -c 3000000 /dev/zero | tr '\\0' 'é'\n/say after"
    const run = await client.create(script, "full_access")
    const events = await client.log(run.id)
    // Checks the size of every payload.
    assertWhole(events)
    assert.strictEqual(events.at(-1)?.type, "run.completed")
    const streamed = events
      .filter(({ payload, type }) => type === "run.message.delta" && payload["channel"] === "text")
      .map(({ payload }) => String(payload["text"]))
      .join("")
    assert.isAtLeast(streamed.length, 2_700_000, "streamed text is split and not lost")
  })

  it("never reaches the log of the Edge", async () => {
    const edge = await openEdgeProcess()
    const run = await edge.client.create("/say a-very-private-word\n/garbage 20\n/crash")
    assertWhole(await edge.client.log(run.id))
    assert.notInclude(edge.stderr, "a-very-private-word")
    assert.notInclude(edge.stderr, readFileSync(`${edge.home}/edge.token`, "utf8").trim())
  })
})
