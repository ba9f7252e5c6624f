import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { existsSync, readFileSync } from "node:fs"
import { connect } from "node:net"
import { listen, requestIdOf } from "../../src/http/Listener.ts"

describe("requestIdOf", () => {
  it("takes a good one and no other", () => {
    assert.strictEqual(requestIdOf({ "x-request-id": "a.B-9_" }), "a.B-9_")
    assert.strictEqual(requestIdOf({ "x-request-id": "x".repeat(128) }), "x".repeat(128))
    for (const bad of ["", "a b", "x".repeat(129), "a\r\nb", "a\n", "ü", '"a"']) {
      assert.isUndefined(requestIdOf({ "x-request-id": bad }), JSON.stringify(bad))
    }
    assert.isUndefined(requestIdOf({}))
  })
})

const room = existsSync("/proc/sys/net/core/somaxconn")
  ? Number(readFileSync("/proc/sys/net/core/somaxconn", "utf8"))
  : 0

/** Of all sockets of this system, those that wait for a first answer from that port. */
const knocking = (port: number): number => {
  const address = `:${port.toString(16).toUpperCase().padStart(4, "0")} 02 `
  return readFileSync("/proc/net/tcp", "utf8")
    .split("\n")
    .filter((line) => line.includes(address)).length
}

describe("listen", () => {
  // What a system allows is its own affair: some hold no more than 128.
  it.effect.runIf(room >= 4_096)("has room for 2,000 that connect before one is accepted", () =>
    Effect.gen(function* () {
      const port = yield* listen({ host: "127.0.0.1", port: 0 }, () => ({
        paths: [],
        authorizeRequest: () => ({ _tag: "Pass" }),
        onRequest: (_, response) => void response.end(),
        onUpgrade: (_, socket) => void socket.destroy()
      }))
      const sockets = yield* Effect.acquireRelease(
        Effect.sync(() => Array.from({ length: 2_000 }, () => connect(port, "127.0.0.1"))),
        (opened) => Effect.sync(() => opened.forEach((socket) => socket.destroy()))
      )
      // Sockets connect in the next tick, all of them before the loop turns and the first is accepted.
      const unheard = yield* Effect.callback<number>((resume) =>
        process.nextTick(() => resume(Effect.sync(() => knocking(port))))
      )
      assert.strictEqual(unheard, 0)
      assert.strictEqual(sockets.length, 2_000)
    })
  )
})
