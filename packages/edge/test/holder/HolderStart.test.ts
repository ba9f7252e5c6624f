import { assert, describe, it, onTestFinished } from "@effect/vitest"
import { VERSION } from "@corral/service/Version"
import { Effect } from "effect"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs"
import { connect, createServer, type Server } from "node:net"
import { join } from "node:path"
import { holderKeyFile, holderPlaceOf } from "../../src/holder/HolderPlace.ts"
import { FrameReader, frameTypes, HOLDER_FORMAT, jsonFrame } from "../../src/holder/HolderFrames.ts"
import { HolderIncompatible, inquireHolder } from "../../src/holder/HolderControl.ts"
import { fieldsOf } from "../../src/holder/HolderMessages.ts"
import { startHolder } from "../../src/holder/Holder.ts"
import { EDGE_MARK, RUN_MARK } from "../../src/process/ProcessSweep.ts"
import { openFolder } from "../Folder.ts"
import { newRun, startShell } from "./HeldCase.ts"
import { connectEdge, holdersOf, openHome, storedOutput, untilGone } from "./HolderHome.ts"

/** Listens where the holder of a home would. */
const listenAsHolder = async (home: string, server: Server): Promise<void> => {
  const { folder, socket } = holderPlaceOf(home)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  writeFileSync(holderKeyFile(folder), "the key")
  server.listen(socket)
  await once(server, "listening")
  onTestFinished(() => void server.close())
}

describe("Holder", () => {
  it("starts no holder before the first run, and one for all", async () => {
    const home = openHome()
    const edge = await connectEdge({ home })
    assert.deepStrictEqual([edge.holder.found, edge.holder.pid(), holdersOf(home)], [[], undefined, []])
    const runs = await Promise.all(Array.from({ length: 10 }, () => startShell(edge, "echo out")))
    for (const { record } of runs) await record.ended.promise
    assert.deepStrictEqual(holdersOf(home), [edge.holder.pid() ?? 0])
  })

  it("starts the holder once when it is prepared, and the first run finds it", async () => {
    const home = openHome()
    const { holder } = await connectEdge({ home })
    await Effect.runPromise(Effect.all([holder.prepare, holder.prepare], { concurrency: 2 }))
    const [pid = 0] = holdersOf(home)
    assert.strictEqual(holder.pid(), pid)
    const connection = await Effect.runPromise(holder.open(newRun()))
    assert.deepStrictEqual(holdersOf(home), [pid])
    await Effect.runPromise(connection.end)
  })

  it("replaces the socket of a dead holder, and deletes the output that it had stored", async () => {
    const home = openHome()
    const first = await connectEdge({ home })
    const run = await startShell(first, "echo out; read line")
    await run.record.received(4)
    const [dead = 0] = holdersOf(home)
    process.kill(dead, "SIGKILL")
    await run.record.ended.promise
    assert.isTrue(existsSync(holderPlaceOf(home).socket))
    assert.deepStrictEqual(storedOutput(home), [`${run.id}.out`])
    await first.close()
    const second = await connectEdge({ home })
    assert.deepStrictEqual(second.holder.found, [])
    const next = await startShell(second, "echo out")
    await next.record.ended.promise
    assert.deepStrictEqual(storedOutput(home), [`${next.id}.out`])
  })

  it("answers an inquiry, and stays with its Edge", async () => {
    const home = openHome()
    assert.isUndefined(await Effect.runPromise(inquireHolder(home)))
    const edge = await connectEdge({ home, build: "1.0.0" })
    const run = await startShell(edge, "echo out; read line; echo $line")
    await run.record.received(4)
    const found = await Effect.runPromise(inquireHolder(home))
    assert.deepStrictEqual(found, { runs: 1, build: "1.0.0", isCompatible: true })
    run.child.write("on\n")
    await run.record.ended.promise
    assert.strictEqual(run.record.output.toString(), "out\non\n")
  })

  it("has the marks of the run in which its Edge runs, and the folder of compiled code", async () => {
    const home = openHome()
    const cache = { NODE_COMPILE_CACHE: join(home, "compiled") }
    const outer = { [RUN_MARK]: "run_outer", [EDGE_MARK]: "edge_outer", OTHER: "1", ...cache }
    const edge = await connectEdge({ home, environment: outer })
    await startShell(edge, "read line")
    const variables = readFileSync(`/proc/${edge.holder.pid()}/environ`, "utf8").split("\0")
    assert.includeMembers(variables, [`${RUN_MARK}=run_outer`, `${EDGE_MARK}=edge_outer`])
    assert.include(variables, `NODE_COMPILE_CACHE=${cache.NODE_COMPILE_CACHE}`)
    assert.notInclude(variables, "OTHER=1")
  })

  it("leaves a living holder alone when another one is started", async () => {
    const home = openHome()
    const edge = await connectEdge({ home })
    const run = await startShell(edge, "echo out; read line; echo $line")
    await run.record.received(4)
    await Effect.runPromise(startHolder({ home, build: "another", environment: {} }))
    for (const pid of holdersOf(home)) if (pid !== edge.holder.pid()) await untilGone(pid)
    assert.deepStrictEqual(holdersOf(home), [edge.holder.pid() ?? 0])
    run.child.write("still\n")
    await run.record.ended.promise
    assert.strictEqual(run.record.output.toString(), "out\nstill\n")
  })

  it("gives the runs of an Edge that still seems connected to the one that connects last", async () => {
    const home = openHome()
    const first = await connectEdge({ home })
    const run = await startShell(first, "echo out; read line")
    await run.record.received(4)
    const second = await connectEdge({ home })
    assert.strictEqual(second.holder.found.length, 1)
    assert.strictEqual((await run.record.ended.promise).signal, "SIGKILL")
  })

  it("fails with both formats for a holder of another format", async () => {
    const home = openFolder()
    const server = createServer((socket) => {
      socket.once("data", () => {
        socket.write(jsonFrame(frameTypes.welcome, { format: 99, build: "9.9.9", pid: 1, more: "unknown" }))
      })
    })
    await listenAsHolder(home, server)
    const { holder } = await connectEdge({ home })
    const { incompatible } = holder
    assert.strictEqual(incompatible?.holderFormat, 99)
    assert.strictEqual(incompatible?.edgeFormat, HOLDER_FORMAT)
    assert.strictEqual(incompatible?.holderBuild, "9.9.9")
    assert.instanceOf(await Effect.runPromise(Effect.flip(holder.open("run_1"))), HolderIncompatible)
  })

  it("answers an Edge of another format with its own, and continues", async () => {
    const home = openHome()
    const edge = await connectEdge({ home })
    const run = await startShell(edge, "read line; echo $line")
    const { folder, socket } = holderPlaceOf(home)
    const key = readFileSync(holderKeyFile(folder), "utf8")
    const other = connect(socket)
    const answers: Array<unknown> = []
    const reader = new FrameReader({
      onFrame: (type, payload) => void answers.push([type, fieldsOf(payload)]),
      onInvalid: (reason) => void answers.push(reason)
    })
    other.on("data", (chunk: Buffer) => reader.push(chunk))
    other.write(jsonFrame(frameTypes.hello, { format: 99, key }))
    await once(other, "close")
    const pid = edge.holder.pid()
    assert.deepInclude(answers[0], { format: HOLDER_FORMAT, build: VERSION, pid, runs: [] })
    run.child.write("still\n")
    await run.record.ended.promise
    assert.strictEqual(run.record.output.toString(), "still\n")
  })

  it("refuses a folder that is a link", async () => {
    const home = openFolder()
    symlinkSync(openFolder(), join(home, "held"))
    const failure = await Effect.runPromise(Effect.flip(startHolder({ home, build: "1", environment: {} })))
    assert.include(failure.message, "is a link, or belongs to another user")
  })

  it("starts beside a program that does not answer with frames, and opens no run in it", async () => {
    const home = openFolder()
    const sockets = createServer((socket) =>
      socket.once("data", () => socket.write("HTTP/1.1 400 Bad Request\r\n\r\n"))
    )
    await listenAsHolder(home, sockets)
    const { holder } = await connectEdge({ home })
    assert.deepStrictEqual([holder.found, holder.pid()], [[], undefined])
    const failure = await Effect.runPromise(Effect.flip(holder.open("run_1")))
    assert.include(failure.message, "Can't reach the holder")
  })

  it("has a short socket in a home with a long path", async () => {
    const home = join(openHome(), "h".repeat(90))
    mkdirSync(home)
    assert.isAtMost(Buffer.byteLength(holderPlaceOf(home).socket), 103)
    const edge = await connectEdge({ home })
    const { record } = await startShell(edge, "echo out")
    await record.ended.promise
    assert.strictEqual(record.output.toString(), "out\n")
    process.kill(edge.holder.pid() ?? 0, "SIGTERM")
  })

  it("has a key once it listens, and ends at SIGTERM before any Edge connects", async () => {
    const home = openHome()
    const { folder } = holderPlaceOf(home)
    const program = new URL("../../src/holder/main.ts", import.meta.url).pathname
    const child = spawn(process.execPath, [program, home, "test"], {
      stdio: ["ignore", "ignore", "ignore", "pipe"]
    })
    const ready = child.stdio[3]
    if (ready === null || ready === undefined) return assert.fail("no pipe")
    await once(ready, "data")
    assert.isTrue(existsSync(holderKeyFile(folder)))
    process.kill(child.pid ?? 0, "SIGTERM")
    const [code] = await once(child, "exit")
    assert.strictEqual(code, 0)
  })
})
