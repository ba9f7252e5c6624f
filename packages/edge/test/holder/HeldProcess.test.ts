import { until } from "@corral/testing/time/Until"
import { groupsHere } from "@corral/testing/edge/Survivors"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { once } from "node:events"
import { existsSync, readFileSync, statSync } from "node:fs"
import { join } from "node:path"
import type { Duplex } from "node:stream"
import { edgeGroup, removeGroup } from "../../src/process/ControlGroup.ts"
import { EDGE_MARK } from "../../src/process/ProcessSweep.ts"
import { openFolder } from "../Folder.ts"
import { newRun, startRun, startShell } from "./HeldCase.ts"
import { connectEdge, holdersOf, openHome, outputFile, storedOutput, untilGone } from "./HolderHome.ts"

const nodeArgs = (script: string) => ({ file: process.execPath, args: ["-e", script] })

describe("HeldProcess", () => {
  it("receives what the program prints, and its end", async () => {
    const edge = await connectEdge({ home: openHome() })
    const { child, record } = await startShell(edge, "echo out; echo err >&2; read line; echo $line; exit 3")
    await record.received(4)
    assert.isFalse(child.isGone)
    child.write("hello\n")
    assert.deepStrictEqual(await record.ended.promise, { code: 3, signal: null, stderr: "err\n" })
    assert.strictEqual(record.output.toString(), "out\nhello\n")
    assert.deepStrictEqual(record.events, ["gone", "end"])
    assert.isTrue(child.isGone)
  })

  it("reports the signal, and the last 16 KiB of stderr from a whole word", async () => {
    const edge = await connectEdge({ home: openHome() })
    const script = "process.stderr.write('word '.repeat(10000), () => process.kill(process.pid, 'SIGKILL'))"
    const { record } = await startRun(edge, nodeArgs(script))
    const { code, signal, stderr } = await record.ended.promise
    assert.deepStrictEqual([code, signal], [null, "SIGKILL"])
    assert.isTrue(stderr.startsWith(" word") || stderr.startsWith("word"))
    assert.isAtMost(stderr.length, 16_384)
    assert.isAtLeast(stderr.length, 16_379)
  })

  it("reports a program that does not exist, in a group and outside", async () => {
    const edge = await connectEdge({ home: openHome() })
    const outside = await startRun(edge, { file: "/nowhere/program" })
    assert.strictEqual((await outside.record.spawnError.promise).code, "ENOENT")
    const grouped = await startRun(edge, { file: "/nowhere/program", group: "/nowhere/group" })
    assert.strictEqual((await grouped.record.spawnError.promise).code, "ENOENT")
    const unusable = await startRun(edge, { file: "/bin/sh", args: ["a\0b"] })
    assert.include((await unusable.record.spawnError.promise).message, "null bytes")
    for (const { child, record } of [outside, grouped, unusable]) {
      assert.isUndefined(child.pid)
      assert.isTrue(child.isGone)
      assert.deepStrictEqual(record.events, ["spawnError"])
    }
  })

  it("reports the signal of a confined program from the exit code of what confines it", async () => {
    const edge = await connectEdge({ home: openHome() })
    const { record } = await startShell(edge, "exit 143", { isConfined: true })
    const { code, signal } = await record.ended.promise
    assert.deepStrictEqual([code, signal], [null, "SIGTERM"])
  })

  it("passes the environment of the run only, in its own session and folder", async () => {
    const edge = await connectEdge({ home: openHome() })
    const cwd = openFolder()
    const id = newRun()
    const { child, record } = await startShell(edge, "env; pwd; cut -d' ' -f6 /proc/self/stat", {
      cwd,
      run: id,
      env: { ONE: "1" }
    })
    await record.ended.promise
    const lines = record.output.toString().trim().split("\n")
    assert.strictEqual(lines.pop(), String(child.pid))
    assert.strictEqual(lines.pop(), cwd)
    const names = lines.map((line) => line.split("=")[0])
    assert.sameMembers(
      names.filter((name) => name !== "_" && name !== "SHLVL" && name !== "OLDPWD"),
      ["PATH", "CORRAL_RUN_ID", "ONE", "PWD"]
    )
    assert.isAbove(child.startTicks, 0)
  })

  it("creates the temporary folder with its settings files before the start", async () => {
    const edge = await connectEdge({ home: openHome() })
    const temporary = join(openFolder(), "run")
    const { record } = await startShell(edge, 'cat "$T/settings"', {
      temporary,
      settingsFiles: [{ env: "S", name: "settings", content: "the settings" }],
      env: { T: temporary }
    })
    await record.ended.promise
    assert.strictEqual(record.output.toString(), "the settings")
    assert.strictEqual(statSync(temporary).mode & 0o777, 0o700)
  })

  it.skipIf(groupsHere === undefined)("starts the program inside its control group", async () => {
    const edge = await connectEdge({ home: openHome() })
    const id = newRun()
    const group = join(edgeGroup(groupsHere ?? "", `edge_${id}`), id)
    const { connection, record } = await startShell(edge, "cat /proc/self/cgroup", { group, run: id })
    await record.ended.promise
    assert.include(record.output.toString(), `corral-edge_${id}/${id}`)
    await Effect.runPromise(connection.end)
    assert.isFalse(existsSync(group))
    removeGroup(group)
  })

  it("carries descriptor 3 in both directions", async () => {
    const edge = await connectEdge({ home: openHome() })
    const { promise, resolve } = Promise.withResolvers<Duplex>()
    const { record } = await startShell(edge, "echo begin >&3; read line <&3; echo got $line", {
      control: resolve
    })
    const channel = await promise
    const [first] = await once(channel, "data")
    assert.strictEqual(String(first), "begin\n")
    channel.write("reply\n")
    await record.ended.promise
    assert.strictEqual(record.output.toString(), "got reply\n")
    assert.isTrue(channel.destroyed)
  })

  it("waits with further output while it is paused", async () => {
    const edge = await connectEdge({ home: openHome() })
    const { child, record } = await startRun(
      edge,
      nodeArgs("process.stdin.once('data', () => process.stdout.write('x'.repeat(5e6)))")
    )
    child.pause()
    child.write("go\n")
    // The holder has answered: what it sent before the pause took effect has arrived.
    const other = await startShell(edge, "exit 0")
    await other.record.ended.promise
    assert.isAtMost(record.bytes, 65_536)
    child.resume()
    child.closeInput()
    assert.strictEqual((await record.ended.promise).code, 0)
    assert.strictEqual(record.bytes, 5_000_000)
  })

  it("gives reads in their own memory", async () => {
    const edge = await connectEdge({ home: openHome() })
    const { record } = await startRun(edge, nodeArgs("process.stdout.write('x'.repeat(1e6))"))
    await record.ended.promise
    const large = record.chunks.filter(({ length }) => length >= 16_384)
    assert.isAbove(large.length, 0)
    for (const { buffer, length } of large) assert.strictEqual(buffer.byteLength, length)
  })

  it("reports SIGKILL when the holder dies, also to a paused run, and the next run starts another one", async () => {
    const home = openHome()
    const edge = await connectEdge({ home })
    const reading = await startShell(edge, "echo begin; read line")
    const paused = await startShell(edge, "read line")
    await reading.record.received(6)
    paused.child.pause()
    const [holder = 0] = holdersOf(home)
    process.kill(holder, "SIGKILL")
    const killed = { code: null, signal: "SIGKILL", stderr: "", isHolderLost: true } as const
    assert.deepStrictEqual(await reading.record.ended.promise, killed)
    assert.deepStrictEqual(await paused.record.ended.promise, killed)
    assert.deepStrictEqual(reading.record.events, ["gone", "end"])
    const next = await startShell(edge, "echo next")
    await next.record.ended.promise
    assert.strictEqual(next.record.output.toString(), "next\n")
    assert.notStrictEqual(edge.holder.pid(), holder)
  })

  it("deletes what it has stored when the run is over, and kills what is left", async () => {
    const home = openHome()
    const edge = await connectEdge({ home })
    const id = newRun()
    const { child, connection, record } = await startShell(edge, "echo begin; sleep 600", { run: id })
    await record.received(6)
    assert.strictEqual(statSync(outputFile(home, id)).mode & 0o777, 0o600)
    assert.strictEqual(statSync(join(home, "held")).mode & 0o777, 0o700)
    await Effect.runPromise(connection.end)
    await untilGone(child.pid ?? 0)
    assert.deepStrictEqual(storedOutput(home), [])
    const reopened = await Effect.runPromise(edge.holder.open(id))
    assert.isTrue(reopened.opened.isNew)
  })

  it("has stored all that it sent once its Edge has left", async () => {
    const home = openHome()
    const edge = await connectEdge({ home })
    const id = newRun()
    const { record } = await startShell(edge, "echo one; echo two; sleep 600", { run: id })
    await record.received(8)
    await edge.close()
    await until(
      async () => readFileSync(outputFile(home, id), "utf8") === "one\ntwo\n" || undefined,
      "the stored output"
    )
  })

  it("has no mark of an Edge, and no open file of it", async () => {
    const home = openHome()
    const edge = await connectEdge({ home, environment: {} })
    await startShell(edge, "read line")
    const pid = edge.holder.pid()
    const variables = readFileSync(`/proc/${pid}/environ`, "utf8").split("\0")
    assert.notInclude(variables.join(" "), EDGE_MARK)
    assert.isAtMost(variables.filter((each) => each !== "").length, 2)
    const session = readFileSync(`/proc/${pid}/stat`, "latin1").split(" ")[5]
    assert.strictEqual(session, String(pid))
  })
})
