/** Files of raw output: their bounds, what an earlier Edge has written, and their end. */
import { assert, describe, it, onTestFinished } from "@effect/vitest"
import type { RawRecord } from "@corral/domain/run/RawOutput"
import { RunId } from "@corral/domain/identity/Ids"
import { Context, Effect, Exit, Layer, Logger } from "effect"
import * as fc from "fast-check"
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { EdgeConfig, makeEdgeConfig } from "../../src/config/EdgeConfig.ts"
import { MAX_RUN_BYTES, RawFile, RawOutputs } from "../../src/raw/RawOutputs.ts"
import type { RawRun } from "../../src/raw/RawRun.ts"

const homeOf = (): string => {
  const home = mkdtempSync(join(tmpdir(), "corral-raw-"))
  onTestFinished(() => rmSync(home, { recursive: true, force: true }))
  return home
}

/** The service, as an Edge opens it. */
const opened = (
  home: string,
  { keeps = true, maxBytes = 1_000_000_000 } = {}
): Promise<RawOutputs["Service"]> =>
  Effect.runPromise(
    Effect.scoped(
      Effect.map(
        Layer.build(
          RawOutputs.layer(maxBytes).pipe(
            Layer.provide(
              Layer.succeed(EdgeConfig, makeEdgeConfig({ home, rawOutput: keeps ? "keep" : "off" }))
            ),
            Layer.provide(Logger.layer([]))
          )
        ),
        (context) => Context.get(context, RawOutputs)
      )
    )
  )

const runId = (number: number): RunId => RunId.make(`run_${String(number).padStart(26, "0")}`)
const noSecrets = { values: new Set<string>() }
const recorder = (raw: RawOutputs["Service"], id: RunId): RawRun =>
  raw.record(id, noSecrets) ?? assert.fail("it is not kept")
const text = (value: string): Buffer => Buffer.from(value)
const over = { code: 0, signal: null, stderr: "" }

const recordsOf = async (raw: RawOutputs["Service"], id: RunId): Promise<ReadonlyArray<RawRecord>> =>
  (await Effect.runPromise(raw.read(id)))
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line))
const textsOf = async (raw: RawOutputs["Service"], id: RunId): Promise<ReadonlyArray<string>> =>
  (await recordsOf(raw, id)).flatMap((record) => ("stream" in record ? [record.text] : []))

describe("Raw outputs", () => {
  it("keep the newest part of a run, and say how much was left out", async () => {
    const home = homeOf()
    const raw = await opened(home)
    const run = recorder(raw, runId(1))
    const line = `${"x".repeat(1_000)}\n`
    for (let i = 0; i < 20; i++) run.push(text(line.repeat(1_000)))
    run.push(text("last\n"))
    run.end(over)
    const [first, ...records] = await recordsOf(raw, runId(1))
    const ends = records.flatMap((record) => ("end" in record ? [record.end ?? 0] : []))
    assert.deepStrictEqual(first, { leftOut: (ends[0] ?? 0) - line.length })
    assert.isAbove((ends[0] ?? 0) - line.length, 10_000_000)
    assert.deepInclude(records.at(-2), { text: "last", end: 20 * 1_000 * line.length + 5 })
    const sizes = readdirSync(join(home, "raw")).map((name) => statSync(join(home, "raw", name)).size)
    assert.isAtMost(
      sizes.reduce((sum, size) => sum + size),
      MAX_RUN_BYTES
    )
    assert.isAbove(
      sizes.reduce((sum, size) => sum + size),
      MAX_RUN_BYTES / 4
    )
  })

  it("delete those of the oldest runs first, live ones too, whose newer lines then say what is left out", async () => {
    const home = homeOf()
    const raw = await opened(home, { maxBytes: 10_000 })
    const [first, second] = [recorder(raw, runId(1)), recorder(raw, runId(2))]
    first.push(text("a\n".repeat(50)))
    second.push(text("b\n".repeat(50)))
    const third = recorder(raw, runId(3))
    third.push(text("c\n".repeat(50)))
    assert.isTrue(Exit.isFailure(await Effect.runPromiseExit(raw.read(runId(1)))))
    first.push(text("again\n"))
    assert.deepStrictEqual((await recordsOf(raw, runId(1)))[0], { leftOut: 100 })
    const total = readdirSync(join(home, "raw"))
      .map((name) => statSync(join(home, "raw", name)).size)
      .reduce((sum, size) => sum + size)
    assert.isAtMost(total, 10_000)
    // The next Edge counts them, too.
    const next = await opened(home, { maxBytes: 100 })
    recorder(next, runId(4)).push(text("d\n"))
    assert.deepStrictEqual(readdirSync(join(home, "raw")), [`${runId(4)}.jsonl`])
  })

  it("go with their run, and are read and deleted without the setting", async () => {
    const home = homeOf()
    const raw = await opened(home)
    const run = recorder(raw, runId(1))
    run.push(text("a\n"))
    run.end(over)
    const next = await opened(home, { keeps: false })
    assert.isUndefined(next.record(runId(2), noSecrets))
    assert.deepStrictEqual(await textsOf(next, runId(1)), ["a"])
    await Effect.runPromise(next.forgetRun(runId(1)))
    assert.deepStrictEqual(readdirSync(join(home, "raw")), [])
    const failure = await Effect.runPromise(Effect.flip(next.read(runId(1))))
    assert.include(failure.message, "CORRAL_EDGE_RAW_OUTPUT")
  })

  it("create nothing without the setting", async () => {
    const home = homeOf()
    const raw = await opened(home, { keeps: false })
    await Effect.runPromise(raw.forgetRun(runId(1)))
    assert.isFalse(existsSync(join(home, "raw")))
  })

  it("end for a run whose records the disk refuses, and the run continues", async () => {
    const home = homeOf()
    const raw = await opened(home)
    const run = recorder(raw, runId(1))
    run.push(text("a\n"))
    rmSync(join(home, "raw"), { recursive: true })
    run.push(text("b\n"))
    run.end(over)
    assert.isTrue(Exit.isFailure(await Effect.runPromiseExit(raw.read(runId(1)))))
  })

  it("have each line once, wherever the Edge was killed", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.oneof(fc.string({ maxLength: 20 }), fc.constant('{"text":"s"}'), fc.constant("-----BEGIN ")),
          {
            minLength: 1,
            maxLength: 40
          }
        ),
        fc.array(fc.nat(2_000), { maxLength: 6 }),
        fc.nat(2_000),
        fc.nat(60),
        async (lines, places, killedAt, torn) => {
          const home = mkdtempSync(join(tmpdir(), "corral-raw-"))
          const printed = lines.map((line) => line.replaceAll(/[\n\r\uFEFF]/g, "").toWellFormed())
          const output = text(printed.map((line) => `${line}\n`).join(""))
          const push = (run: RawRun, until: number): void => {
            const cuts = [...places.filter((place) => place < until), until].toSorted((a, b) => a - b)
            for (const [i, to] of cuts.entries()) run.push(output.subarray(cuts[i - 1] ?? 0, to))
          }
          const killed = Math.min(killedAt, output.length)
          const first = await opened(home)
          push(recorder(first, runId(1)), killed)
          const file = join(home, "raw", `${runId(1)}.jsonl`)
          // A record that the kill cut off.
          if (existsSync(file))
            appendFileSync(
              file,
              '{"at":"2026-06-09T00:00:00.000Z","stream":"stdout","text":"cut'.slice(0, torn)
            )
          const next = await opened(home)
          const run = recorder(next, runId(1))
          push(run, output.length)
          run.end(over)
          assert.deepStrictEqual(await textsOf(next, runId(1)), printed)
          const third = await opened(home)
          const again = recorder(third, runId(1))
          push(again, output.length)
          again.end(over)
          assert.deepStrictEqual(await textsOf(third, runId(1)), printed)
          assert.lengthOf(
            (await recordsOf(third, runId(1))).filter((record) => "exit" in record),
            1
          )
          rmSync(home, { recursive: true })
        }
      ),
      { numRuns: 60 }
    )
  })

  it("end for a run whose records can't be continued, and the run continues", async () => {
    const home = homeOf()
    await opened(home)
    const raw = await opened(home)
    mkdirSync(join(home, "raw", `${runId(1)}.jsonl`, "inner"), { recursive: true })
    const run = recorder(raw, runId(1))
    run.push(text("a\n"))
    run.end(over)
    assert.isTrue(Exit.isFailure(await Effect.runPromiseExit(raw.read(runId(1)))))
  })

  it.each([
    ["nothing", ""],
    ["the beginning of a record", '{"fr'],
    ["a record with other bytes", '{"from":0}\n\0\0\0\n'],
    ["no record", "\n\n"]
  ])("begin again where a crash left %s, and their run continues", async (_, left) => {
    const home = homeOf()
    await opened(home)
    writeFileSync(join(home, "raw", `${runId(1)}.jsonl`), left)
    const raw = await opened(home)
    await Effect.runPromiseExit(raw.read(runId(1)))
    const run = recorder(raw, runId(1))
    run.push(text("a\nb\n"))
    run.end(over)
    assert.deepStrictEqual(await textsOf(raw, runId(1)), ["a", "b"])
  })

  it("continue after a kill with the older file, where the newer one has no position", () => {
    const folder = homeOf()
    const file = new RawFile(folder, "a")
    const record = (index: number, padding: number): RawRecord => ({
      at: "2026-06-09T00:00:00.000Z",
      stream: "stdout",
      text: "x".repeat(padding),
      ...(index < 2 ? { end: index + 1 } : {})
    })
    file.append([record(0, 10)], 0)
    file.append([record(1, 10)], 1)
    file.append([record(2, MAX_RUN_BYTES / 2)], 2)
    assert.lengthOf(readdirSync(folder), 2)
    assert.strictEqual(new RawFile(folder, "a").resume(), 2)
    assert.lengthOf(readdirSync(folder), 1)
    assert.strictEqual(new RawFile(folder, "a").read()?.split("\n").length, 3)
    assert.strictEqual(new RawFile(folder, "b").resume(), 0)
  })
})
