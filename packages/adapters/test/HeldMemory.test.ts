/** Memory that each adapter of the registry holds. In a separate process, where a garbage collection has little to look at. */
import { assert, describe, it } from "@effect/vitest"
import { Buffer } from "node:buffer"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { MAX_LINE_BYTES } from "../src/text/Lines.ts"
import { recordings, registry } from "@corral/testing/recordings/Fixtures"

setFlagsFromString("--expose-gc")
const collect: unknown = runInNewContext("gc")
/** Bytes that are held, the dead ones collected. */
const held = (): number => {
  assert(typeof collect === "function")
  collect()
  const { external, heapUsed } = process.memoryUsage()
  return heapUsed + external
}

for (const [id, adapter] of registry) {
  describe(id, () => {
    it("holds no more than a line's limit, of three times as much without a newline", () => {
      const [recording] = recordings(id)
      assert(recording !== undefined)
      const protocol = adapter.protocol(recording.start)
      const piece = Buffer.alloc(65_536, '{"type":"')
      const atFirst = held()
      let most = 0
      for (let read = 1; read <= 384; read++) {
        protocol.step(piece)
        // A little below the limit, where it holds most, and long after.
        if (read === 120 || read === 380) most = Math.max(most, held() - atFirst)
      }
      assert.isBelow(most, 1.5 * MAX_LINE_BYTES)
      assert.isNotEmpty(protocol.end(recording.exit))
    })
  })
}
