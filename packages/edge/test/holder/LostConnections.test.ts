/** Starts of runs whose connection to the holder is lost, as after a pause of the Edge: the holder closes it without a word. */
import { assert, describe, it, onTestFinished } from "@effect/vitest"
import { Effect, Exit } from "effect"
import { renameSync } from "node:fs"
import { connect, createServer, type Socket } from "node:net"
import { holderPlaceOf } from "../../src/holder/HolderPlace.ts"
import { newRun } from "./HeldCase.ts"
import { connectEdge, openHome } from "./HolderHome.ts"

/** When a connection is closed: before its first frame arrives, after it, or after the holder's first answer. */
type Moment = "accepted" | "request" | "answer"

/** Stands in front of the holder and closes the next connections at these moments. */
const loseConnections = async (home: string, moments: Array<Moment>): Promise<void> => {
  const { socket: path } = holderPlaceOf(home)
  const behind = `${path}.b`
  renameSync(path, behind)
  const sockets = new Set<Socket>()
  const server = createServer((edge) => {
    const moment = moments.shift()
    sockets.add(edge)
    edge.on("error", () => undefined)
    if (moment === "accepted") return void edge.destroy()
    const holder = connect(behind)
    sockets.add(holder)
    holder.on("error", () => edge.destroy())
    holder.on("close", () => edge.destroy())
    edge.on("close", () => holder.destroy())
    edge.on("data", (bytes) => {
      holder.write(bytes)
      if (moment === "request") edge.destroy()
    })
    holder.on("data", (bytes) => (moment === "answer" ? edge.destroy() : void edge.write(bytes)))
  })
  await new Promise<void>((resolve) => server.listen(path, resolve))
  onTestFinished(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
    renameSync(behind, path)
  })
}

const state = new TextEncoder().encode("state")

describe("a lost connection to the holder", () => {
  it.each<{ readonly moments: ReadonlyArray<Moment> }>([
    { moments: ["accepted"] },
    { moments: ["request"] },
    { moments: ["answer"] },
    { moments: ["accepted", "request"] },
    { moments: ["answer", "accepted", "request", "answer"] }
  ])("is opened again after $moments", async ({ moments }) => {
    const home = openHome()
    const { holder } = await connectEdge({ home })
    // The holder starts with the first run.
    const first = await Effect.runPromise(holder.open(newRun(), state))
    await loseConnections(home, [...moments])
    const run = newRun()
    const connection = await Effect.runPromise(holder.open(run, state))
    assert.isFalse(connection.isClosed)
    assert.isUndefined(connection.opened.started)
    for (const open of [first, connection]) await Effect.runPromise(open.end)
  })

  it("fails the start after five attempts", async () => {
    const home = openHome()
    const { holder } = await connectEdge({ home })
    const first = await Effect.runPromise(holder.open(newRun(), state))
    await loseConnections(home, Array<Moment>(5).fill("request"))
    const exit = await Effect.runPromiseExit(holder.open(newRun(), state))
    assert.isTrue(Exit.isFailure(exit))
    await Effect.runPromise(first.end)
  })
})
