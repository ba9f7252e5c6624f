/**
 * Embedded Edge with promises: starts one run, allows what it asks for, and prints its events on stdout.
 * Start it from the root of the repository: `node examples/embed-edge/main.ts`.
 */
import { openEdge } from "@corral/edge/openEdge"

const { HOME = "", PATH = "" } = process.env
const edge = await openEdge({
  workspaces: [{ id: "here", path: import.meta.dirname }],
  environment: { HOME, PATH }
})

const { id } = await edge.start({
  workspace: "here",
  agentId: "scripted",
  input: { text: "/say Hello\n/list\n/shell echo from the shell" }
})
for await (const event of edge.events(id)) {
  process.stdout.write(`${JSON.stringify(event)}\n`)
  if (event.type === "run.approval.requested") {
    const { approvalId } = event.payload
    await edge.decide({ runId: id, approvalId, decision: "allow" })
  }
}
await edge.close()
