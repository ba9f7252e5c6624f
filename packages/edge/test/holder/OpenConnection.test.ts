/** What an Edge keeps in memory of a run while its connection to the holder is open. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { newRun } from "./HeldCase.ts"
import { connectEdge, openHome } from "./HolderHome.ts"

/** Node gives a program the collector only by a flag. */
const collectGarbage = (): void => {
  setFlagsFromString("--expose-gc")
  const collect = runInNewContext("gc") as () => void
  collect()
}

describe("an open connection to the holder", () => {
  it("keeps no state in the memory of the Edge: it has the environment of the program, with its keys", async () => {
    const { holder } = await connectEdge({ home: openHome() })
    const open = async () => {
      const state = new TextEncoder().encode("a state with keys".repeat(1_000))
      const connection = await Effect.runPromise(holder.open(newRun(), state))
      return { connection, state: new WeakRef(state) }
    }
    const opened = await Promise.all([open(), open(), open()])
    // A WeakRef is emptied between two turns of the event loop.
    await new Promise((resolve) => setImmediate(resolve))
    collectGarbage()
    for (const { connection, state } of opened) {
      assert.isUndefined(state.deref())
      assert.isFalse(connection.isClosed)
      await Effect.runPromise(connection.end)
    }
  })
})
