/**
 * Client of a running Edge, with promises: starts a run, follows it, allows what it asks for, and prints its diff. Start it from the root of the
 * repository: `CORRAL_EDGE_URL=… CORRAL_EDGE_TOKEN_FILE=… node examples/client/main.ts WORKSPACE PROMPT`.
 */
import { edgeClient } from "@corral/client/Edge"
import { CorralError } from "@corral/client/http/CorralError"
import { readFileSync } from "node:fs"

const { CORRAL_EDGE_TOKEN_FILE = "", CORRAL_EDGE_URL = "http://127.0.0.1:4870" } = process.env
const [workspace = "here", text = "/write hello.txt hi"] = process.argv.slice(2)

const edge = edgeClient({
  url: CORRAL_EDGE_URL,
  token: readFileSync(CORRAL_EDGE_TOKEN_FILE, "utf8").trim()
})

/** Allows an action once. Someone else can decide first. */
const allow = async (runId: string, approvalId: string): Promise<void> => {
  try {
    await edge.permissions.decide({ payload: { runId, approvalId, decision: "allow" } })
  } catch (error) {
    if (!(error instanceof CorralError) || error.code !== "approval_already_resolved") throw error
  }
}

const { id } = await edge.runs.create({
  payload: { workspace, agentId: "scripted", mode: "ask", input: { text } }
})
for await (const { decoded } of edge.runEvents(id)) {
  if (decoded._tag === "UnknownEvent") continue
  const { payload, type } = decoded.event
  process.stdout.write(`${type}\n`)
  if (type === "run.approval.requested") await allow(id, payload.approvalId)
}

const { items } = await edge.diffs.diff({ params: { id } })
for (const { additions, deletions, path } of items)
  process.stdout.write(`${path} +${additions} -${deletions}\n`)
