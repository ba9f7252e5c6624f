/** What an Edge says of its confinement, and what each means refuses in `read_only`. */
import type { EdgeReadiness } from "@corral/domain/http/Health"
import { assert, it } from "@effect/vitest"
import type { EdgeProcess } from "@corral/testing/edge/EdgeProcess"
import { existsSync } from "node:fs"
import { join } from "node:path"

export const confinementOf = async ({ client }: EdgeProcess) => {
  const { body } = await client.ask("GET", "/v1/health")
  // Judged against the contract by the client.
  return (body as EdgeReadiness).confinement
}

export const testReadOnly = (edge: () => EdgeProcess): void => {
  it("cannot write the workspace in read_only, even if the runtime does not ask", async () => {
    const { client, workspace } = edge()
    const { id } = await client.create("/breach broken.txt\n/say done", "read_only")
    const events = await client.log(id)
    assert.strictEqual(events.at(-1)?.type, "run.failed")
    // Without a confinement, the run fails because the file changed.
    assert.notInclude(JSON.stringify(events.at(-1)), "workspace_changed")
    assert.isFalse(existsSync(join(workspace, "broken.txt")))
  })
}
