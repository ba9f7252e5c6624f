/**
 * Programs on clients that generators write from `openapi/hub.json`: each starts a run, follows it, approves its action and prints its diff.
 * Text, because their imports exist only where the clients were generated.
 */

const settings = `
const { HUB_URL: url, TOKEN: token, PROJECT: projectId, TARGET: targetId } = process.env as Record<string, string>
const body = {
  projectId, targetId, workspace: "ws", agentId: "scripted", mode: "ask", input: { text: "/write NAME hi" }
} as const
const pause = () => new Promise((resolve) => setTimeout(resolve, 50))
const known = <A>(answer: { data?: A; error?: { code?: string } | undefined }): A => {
  if (answer.data === undefined) throw new Error(answer.error?.code ?? "no answer")
  return answer.data
}
`

/** Each step differs in the form of its call only. */
const steps = `
const task = known(await createTask())
let runId = task.runId
while (runId === undefined) {
  await pause()
  runId = known(await readTask(task.id)).runId
}
let after = 0
const types: Array<string> = []
while (!types.includes("run.completed")) {
  const page = known(await readEvents(runId, after))
  for (const { payload, seq, type } of page.items) {
    after = seq
    types.push(type)
    if (type === "run.approval.requested") known(await decide(String(payload["approvalId"])))
  }
  if (page.items.length === 0) await pause()
}
const { items } = known(await readDiff(runId))
const { error } = await readTask("tsk_01K00000000000000000000000")
console.log(JSON.stringify({ types, paths: items.map(({ path }) => path), refusal: error?.code }))
`

export const openapiFetchProgram = `
import createClient from "openapi-fetch"
import type { paths } from "./hub.d.ts"
${settings.replace("NAME", "fetch.txt")}
const hub = createClient<paths>({ baseUrl: url, headers: { authorization: \`Bearer \${token}\` } })
const createTask = () => hub.POST("/web/agent-tasks", { body })
const readTask = (id: string) => hub.GET("/client/tasks/{id}", { params: { path: { id } } })
const readEvents = (id: string, after: number) =>
  hub.GET("/client/runs/{id}/events", { params: { path: { id }, query: { after, limit: 200 } } })
const decide = (id: string) =>
  hub.POST("/client/approvals/{id}/decide", { params: { path: { id } }, body: { decision: "allow" } })
const readDiff = (id: string) => hub.GET("/client/runs/{id}/diff", { params: { path: { id } } })
${steps}`

export const heyApiProgram = `
import { approvalsDecide, runsDiff, runsEvents, tasksCreate, tasksGet } from "./hey/index.ts"
import { client } from "./hey/client.gen.ts"
${settings.replace("NAME", "hey.txt")}
// The Hub refuses a request with a token and a cookie.
client.setConfig({ baseUrl: url, auth: ({ scheme }) => (scheme === "bearer" ? token : undefined) })
const createTask = () => tasksCreate({ body })
const readTask = (id: string) => tasksGet({ path: { id } })
const readEvents = (id: string, after: number) => runsEvents({ path: { id }, query: { after, limit: 200 } })
const decide = (id: string) => approvalsDecide({ path: { id }, body: { decision: "allow" } })
const readDiff = (id: string) => runsDiff({ path: { id } })
${steps}`
