/** A run whose holder cannot be reached: it runs, and says that it ends with its Edge. */
import { assert, it, onTestFinished } from "@effect/vitest"
import { openEdgeInProcess } from "@corral/testing/edge/EdgeInProcess"
import { mkdirSync, rmSync, writeFileSync } from "node:fs"
import { createServer } from "node:net"
import { holderKeyFile, holderPlaceOf } from "../../src/holder/HolderPlace.ts"

it("says in its first event and in its resource that it ends with its Edge", async () => {
  const edge = await openEdgeInProcess({ env: { CORRAL_EDGE_ORPHAN_MS: "60000" } })
  const held = await edge.client.create("/say held")
  await edge.client.log(held.id)
  assert.notProperty(await edge.client.run(held.id), "endsWithEdge")
  await edge.stop()
  // Each connection to the holder is closed, and no holder can listen.
  const { folder, socket } = holderPlaceOf(edge.home)
  rmSync(socket, { force: true })
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  writeFileSync(holderKeyFile(folder), "the key")
  const server = createServer((connection) => connection.destroy())
  await new Promise<void>((resolve) => server.listen(socket, resolve))
  onTestFinished(() => void server.close())
  await edge.start()
  const { id } = await edge.client.create("/say alone")
  const [created] = await edge.client.log(id)
  assert.deepInclude(created?.payload, { endsWithEdge: true })
  assert.deepInclude<object>(await edge.client.run(id), { state: "completed", endsWithEdge: true })
})
