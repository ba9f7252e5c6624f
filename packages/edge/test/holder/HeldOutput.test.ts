import { until } from "@corral/testing/time/Until"
import { assert, describe, it, onTestFinished } from "@effect/vitest"
import { Effect } from "effect"
import { spawnSync } from "node:child_process"
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmdirSync, statSync, truncateSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { adoptRun, startRun, startShell } from "./HeldCase.ts"
import { connectEdge, endHolders, openHome, outputFile, storedOutput } from "./HolderHome.ts"
import { openFolder } from "../Folder.ts"

const MIB = 1_048_576

/** Lines with their number: a byte that is lost or repeated shows. */
const NUMBERED = `
  let at = 0
  const more = () => {
    let text = ""
    while (text.length < 65536) text += String(at++).padStart(9, "0") + "\\n"
    process.stdout.write(text, more)
  }
  more()`

const assertNumbered = (output: Buffer): void => {
  const lines = Math.floor(output.length / 10)
  let expected = ""
  for (let at = 0; at < lines; at++) expected += `${String(at).padStart(9, "0")}\n`
  assert.isTrue(output.subarray(0, lines * 10).equals(Buffer.from(expected)))
}

const mountInMemory = (folder: string): boolean =>
  spawnSync("mount", ["-t", "tmpfs", "-o", "size=2m", "tmpfs", folder]).status === 0

const unmount = (folder: string): void => void spawnSync("umount", ["-l", folder])

const canMount = ((): boolean => {
  const folder = mkdtempSync(join(tmpdir(), "corral-mount-"))
  const isMounted = mountInMemory(folder)
  if (isMounted) unmount(folder)
  rmdirSync(folder)
  return isMounted
})()

/** Whether the program sleeps and its stored output does not grow. */
const untilItWaits = (file: string, pid: number, atLeast: number): Promise<number> => {
  let last = 0
  return until(async () => {
    const { size } = statSync(file)
    const isAsleep = /\) S /.test(readFileSync(`/proc/${pid}/stat`, "latin1"))
    const isStill = isAsleep && size === last && size >= atLeast
    last = size
    return isStill ? size : undefined
  }, "the wait of the program")
}

describe("stdout in the holder", () => {
  it("makes a program wait that prints without end while no Edge reads, then continues", async () => {
    const home = openHome()
    const first = await connectEdge({ home })
    const { child, id } = await startRun(first, { file: process.execPath, args: ["-e", NUMBERED] })
    await first.close()
    const size = await untilItWaits(outputFile(home, id), child.pid ?? 0, 16 * MIB)
    assert.isAtMost(size, 17 * MIB)
    const second = await connectEdge({ home })
    const { record } = await adoptRun(second, id)
    await record.received(40 * MIB)
    assertNumbered(record.output)
  })

  it("makes a program wait soon while its reader is paused", async () => {
    const home = openHome()
    const edge = await connectEdge({ home })
    const { child, id, record } = await startShell(edge, "yes 123456789")
    await record.received(1)
    child.pause()
    const before = record.bytes
    const file = outputFile(home, id)
    // What the program printed before the Edge read is in the file already.
    const stored = statSync(file).size
    const size = await untilItWaits(file, child.pid ?? 0, 1)
    // What is not read may be in the socket, too.
    assert.isAtMost(size - stored, 3 * MIB)
    child.resume()
    await record.received(before + 20 * MIB)
    assert.strictEqual(
      record.output.toString("latin1").replaceAll("123456789\n", "").length % 10,
      record.bytes % 10
    )
  })

  it("passes on what exceeds the maximum, whole for the Edge that reads", async () => {
    const home = openHome()
    const edge = await connectEdge({ home })
    const bytes = 5_000_000
    const { child, connection, id, record } = await startRun(edge, {
      file: process.execPath,
      args: [
        "-e",
        `process.stdout.write(Buffer.alloc(${bytes}, "0123456789"), () => process.stdin.resume())`
      ],
      limits: { maxBytes: 1_000_000 }
    })
    await record.received(bytes)
    assert.isFalse(existsSync(outputFile(home, id)))
    assert.isTrue(record.output.equals(Buffer.alloc(bytes, "0123456789")))
    child.closeInput()
    assert.strictEqual((await record.ended.promise).code, 0)
    connection.close()
  })

  it("cannot be read again from its beginning once it is not whole", async () => {
    const home = openHome()
    const edge = await connectEdge({ home })
    const run = await startShell(edge, "yes | head -c 200000; read line", { limits: { maxBytes: 100_000 } })
    await run.record.received(200_000)
    const again = await adoptRun(edge, run.id)
    assert.isFalse(again.connection.opened.isWhole)
    assert.strictEqual((await again.record.ended.promise).signal, "SIGKILL")
  })

  it("ends the connection if another program has cut the stored output", async () => {
    const home = openHome()
    const first = await connectEdge({ home })
    const run = await startShell(first, "yes | head -c 200000; read line")
    await run.record.received(200_000)
    truncateSync(outputFile(home, run.id), 50_000)
    await first.close()
    const second = await connectEdge({ home })
    const { record } = await adoptRun(second, run.id)
    assert.strictEqual((await record.ended.promise).signal, "SIGKILL")
    assert.isAtMost(record.bytes, 50_000)
  })

  it.skipIf(!canMount)(
    "passes output on when the disk is full, and ends the run without an Edge",
    async () => {
      const home = join(openFolder(), "home")
      mkdirSync(home)
      const { status } = spawnSync("mount", ["-t", "tmpfs", "-o", "size=2m", "tmpfs", home])
      if (status !== 0) return assert.fail("cannot mount a folder in memory")
      onTestFinished(async () => {
        await endHolders(home)
        unmount(home)
      })
      const edge = await connectEdge({ home })
      const run = await startRun(edge, {
        file: process.execPath,
        args: ["-e", `process.stdout.write(Buffer.alloc(5e6, "0123456789"), () => process.stdin.resume())`]
      })
      await run.record.received(5_000_000)
      assert.isTrue(run.record.output.equals(Buffer.alloc(5_000_000, "0123456789")))
      assert.deepStrictEqual(storedOutput(home), [])
      await edge.close()
      const next = await connectEdge({ home })
      const { opened } = await Effect.runPromise(next.holder.open(run.id))
      assert.isFalse(opened.isWhole)
    }
  )
})
