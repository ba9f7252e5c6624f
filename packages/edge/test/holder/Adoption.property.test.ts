import { bundledProgram } from "@corral/testing/process/BundledProgram"
import { effort } from "@corral/testing/time/Effort"
import { assert, describe, it, onTestFinished } from "@effect/vitest"
import * as fc from "fast-check"
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import { openFolder } from "../Folder.ts"
import { adoptRun, newRun, startRun } from "./HeldCase.ts"
import { connectEdge, openHome } from "./HolderHome.ts"

const source = (path: string): string => fileURLToPath(new URL(path, import.meta.url))
/** A process of an Edge. Its holder is next to it, as in a build. */
const EDGE = bundledProgram(source("CopyingEdge.ts"), { "holder.cjs": source("../../src/holder/main.ts") })

/** Text in which each part differs from each other part. */
const distinctText = (bytes: number): string => {
  let text = ""
  for (let at = 0; text.length < bytes; at++) text += `${at.toString(36)} `
  return text.slice(0, bytes)
}

const BYTES = 600_000

/** Starts an Edge as a process, and kills it once the run has printed that many bytes for it, or all. */
const copyUntil = async (home: string, run: string, file: string, bytes: number): Promise<void> => {
  const edge: ChildProcess = spawn(process.execPath, [EDGE, home, run, file], {
    stdio: ["ignore", "pipe", "inherit"]
  })
  onTestFinished(() => void edge.kill("SIGKILL"))
  const exited = once(edge, "exit")
  let first: number | undefined
  if (edge.stdout === null) return assert.fail("no output")
  for await (const line of createInterface(edge.stdout)) {
    const position = Number(line)
    first ??= position
    if (position >= Math.min(first + bytes, BYTES)) break
  }
  edge.kill("SIGKILL")
  await exited
}

describe("a run whose Edge is killed", () => {
  it("loses and repeats no byte of stdin and stdout", { timeout: 600_000 * effort }, () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 1, max: 100_000 }), { minLength: 2, maxLength: 3 }),
        fc.integer({ min: 0, max: BYTES }),
        async (cuts, from) => {
          const home = openHome()
          const run = newRun()
          const text = distinctText(BYTES)
          const file = join(openFolder(), "input")
          writeFileSync(file, text)
          for (const bytes of cuts) await copyUntil(home, run, file, bytes)
          const edge = await connectEdge({ home })
          const { child, connection, record } = await adoptRun(edge, run)
          const { stdinBytes } = connection.opened
          assert.isAtMost(stdinBytes, text.length)
          child.write(text.slice(stdinBytes))
          child.closeInput()
          await record.ended.promise
          assert.isTrue(record.output.equals(Buffer.from(text)), `${record.bytes} bytes`)
          const again = await adoptRun(edge, run, from)
          await again.record.ended.promise
          assert.isTrue(again.record.output.equals(Buffer.from(text.slice(from))))
          assert.isTrue(again.connection.opened.isInputClosed)
          await edge.close()
        }
      ),
      { numRuns: 3 * effort }
    )
  )

  it(
    "loses and repeats no byte for any sizes of writes and any number of Edges",
    { timeout: 600_000 * effort },
    () =>
      fc.assert(
        fc.asyncProperty(
          fc.array(fc.array(fc.integer({ min: 1, max: 60_000 }), { minLength: 1, maxLength: 30 }), {
            minLength: 1,
            maxLength: 5
          }),
          async (edges) => {
            const home = openHome()
            const total = edges.flat().reduce((sum, size) => sum + size, 0)
            const text = distinctText(total)
            let edge = await connectEdge({ home })
            let { id, ...run } = await startRun(edge, { file: "/bin/cat" })
            let at = 0
            for (const sizes of edges) {
              for (const size of sizes) {
                run.child.write(text.slice(at, at + size))
                at += size
              }
              // Closed while frames are on their way.
              await edge.close()
              edge = await connectEdge({ home })
              run = await adoptRun(edge, id)
              at = run.connection.opened.stdinBytes
            }
            run.child.write(text.slice(at))
            run.child.closeInput()
            await run.record.ended.promise
            assert.isTrue(run.record.output.equals(Buffer.from(text)))
            await edge.close()
          }
        ),
        { numRuns: 6 * effort }
      )
  )
})
