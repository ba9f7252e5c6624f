/** An Edge of this version with a holder of the version before windows, and the other way round. The older side speaks frames by itself. */
import { assert, describe, it, onTestFinished } from "@effect/vitest"
import { once } from "node:events"
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { connect, createServer, type Socket } from "node:net"
import { FrameReader, frameOf, frameTypes, HOLDER_FORMAT, jsonFrame } from "../../src/holder/HolderFrames.ts"
import { fieldsOf, type OpenedRun } from "../../src/holder/HolderMessages.ts"
import { holderKeyFile, holderPlaceOf } from "../../src/holder/HolderPlace.ts"
import { openFolder } from "../Folder.ts"
import { markOf, newRun, startShell } from "./HeldCase.ts"
import { connectEdge, openHome } from "./HolderHome.ts"

const BYTES = 3_000_000

type Frame = readonly [type: number, payload: Buffer]

/** Passes each frame of a connection to the handler. */
const readFrames = (socket: Socket, onFrame: (...frame: Frame) => void): void => {
  const reader = new FrameReader({ onFrame, onInvalid: (reason) => assert.fail(reason) })
  socket.on("data", (chunk: Buffer) => reader.push(chunk))
  socket.on("error", () => undefined)
}

/** A holder without windows: what it says and sends, for one run. */
const listenAsEarlierHolder = async (home: string): Promise<ReadonlyArray<Frame>> => {
  const frames: Array<Frame> = []
  const opened: OpenedRun = {
    isNew: true,
    keepBytes: 0,
    stdinBytes: 0,
    isInputClosed: false,
    outputBytes: 0,
    isWhole: true
  }
  const server = createServer((socket) => {
    readFrames(socket, (type, payload) => {
      frames.push([type, Buffer.from(payload)])
      if (type === frameTypes.hello)
        socket.write(
          jsonFrame(frameTypes.welcome, { format: HOLDER_FORMAT, build: "0.1.0", pid: 1, runs: [] })
        )
      if (type === frameTypes.open) socket.write(jsonFrame(frameTypes.opened, opened))
      if (type === frameTypes.start) socket.write(jsonFrame(frameTypes.started, { pid: 1, startTicks: 0 }))
      if (type !== frameTypes.read) return
      socket.write(frameOf(frameTypes.data, Buffer.alloc(BYTES, "x")))
      socket.write(jsonFrame(frameTypes.ended, { code: 0, signal: null, stderr: "" }))
    })
  })
  const { folder, socket } = holderPlaceOf(home)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  writeFileSync(holderKeyFile(folder), "the key")
  server.listen(socket)
  await once(server, "listening")
  onTestFinished(() => void server.close())
  return frames
}

describe("Windows of output", () => {
  it("are not used by an Edge whose holder is of an earlier version", async () => {
    const home = openFolder()
    const frames = await listenAsEarlierHolder(home)
    const run = await startShell(await connectEdge({ home }), "true")
    await run.record.received(BYTES)
    run.child.reportUnread(0)
    run.child.write("later")
    await run.record.ended.promise
    const types = frames.map(([type]) => type)
    assert.include(types, frameTypes.read)
    assert.notInclude(types, frameTypes.processed)
    run.connection.close()
  })

  it("do not hold output back from an Edge of an earlier version", async () => {
    const home = openHome()
    const edge = await connectEdge({ home })
    const run = await startShell(edge, "read line")
    const { folder, socket } = holderPlaceOf(home)
    const key = readFileSync(holderKeyFile(folder), "utf8")
    const earlier = connect(socket)
    onTestFinished(() => void earlier.destroy())
    let bytes = 0
    const ended = new Promise<void>((resolve) =>
      readFrames(earlier, (type, payload) => {
        if (type === frameTypes.data) bytes += payload.length
        if (type === frameTypes.ended) resolve()
      })
    )
    const id = newRun()
    earlier.write(jsonFrame(frameTypes.open, { run: id, key }))
    const spec = {
      file: "/bin/sh",
      args: ["-c", `yes | head -c ${BYTES}`],
      cwd: "/",
      env: { PATH: process.env.PATH ?? "" },
      stdin: "ignore",
      isConfined: false,
      hasControl: false,
      mark: markOf(id),
      maxBytes: 1_000_000_000,
      until: {}
    }
    earlier.write(jsonFrame(frameTypes.start, spec))
    earlier.write(jsonFrame(frameTypes.read, { from: 0 }))
    await ended
    assert.strictEqual(bytes, BYTES)
    run.child.closeInput()
    await run.record.ended.promise
  })

  it("hold output back from an Edge of this version until it has processed some", async () => {
    const home = openHome()
    const edge = await connectEdge({ home })
    const run = await startShell(edge, `yes | head -c ${BYTES}`, { reports: false })
    await run.record.received(1)
    // Each report lets more arrive; without reports, nothing does.
    let bytes = 0
    while (bytes < BYTES) {
      await run.record.received(bytes + 1)
      assert.isAtMost(run.record.bytes - bytes, 400_000)
      bytes = run.record.bytes
      run.child.reportUnread(0)
    }
    assert.strictEqual((await run.record.ended.promise).code, 0)
  })

  it("refuse a report of output that was not sent", async () => {
    const home = openHome()
    const edge = await connectEdge({ home })
    const run = await startShell(edge, "read line")
    const { folder, socket } = holderPlaceOf(home)
    const other = connect(socket)
    onTestFinished(() => void other.destroy())
    const refusal = new Promise<unknown>((resolve) =>
      readFrames(other, (type, payload) => {
        if (type === frameTypes.refused) resolve(fieldsOf(payload)?.reason)
      })
    )
    const key = readFileSync(holderKeyFile(folder), "utf8")
    other.write(jsonFrame(frameTypes.open, { run: run.id, key }))
    other.write(jsonFrame(frameTypes.processed, { from: 1 }))
    assert.strictEqual(await refusal, "that output was not sent")
  })
})
