/**
 * Page of a small desktop client: lists the runs of the Edge on this machine, starts one, follows it, and decides what it asks for. It continues
 * when the Edge starts again, also at another port.
 *
 * The shell around it gives it the address and the token, in memory only; the Edge lists the page's origin in `CORRAL_EDGE_ALLOWED_ORIGINS`.
 */
import { type EdgeConnection, edgeClient } from "@corral/client/Edge"
import { CorralError } from "@corral/client/http/CorralError"
import type { RunBlock } from "@corral/domain/run/RunBlock"
import type { RunView } from "@corral/domain/run/RunView"

/** What the shell hands over. */
interface EdgeLocation {
  readonly url: string
  readonly token: string
}

declare global {
  /** Set by the shell before the page runs. Fails while there is no Edge. */
  var edgeLocation: () => Promise<EdgeLocation>
}

const element = <E extends HTMLElement = HTMLElement>(id: string): E =>
  document.querySelector<E>(`#${id}`) as E
const problem = element("problem")
const form = element<HTMLFormElement>("start")
const fields = form.elements as unknown as Record<"workspace" | "agent", HTMLSelectElement> & {
  readonly text: HTMLInputElement
}

let edge: EdgeConnection
let chosen: string | undefined
/** Ends what follows the chosen run. */
let following = new AbortController()

/** Shows a failure as the Edge words it. */
const attempt = async (action: () => Promise<unknown>): Promise<void> => {
  problem.textContent = ""
  try {
    await action()
  } catch (error) {
    problem.textContent = error instanceof Error ? error.message : String(error)
  }
}

const button = (text: string, onClick: () => Promise<unknown>): HTMLButtonElement => {
  const element = document.createElement("button")
  element.textContent = text
  element.addEventListener("click", () => void attempt(onClick))
  return element
}

const options = (items: ReadonlyArray<{ readonly id: string }>) => items.map(({ id }) => new Option(id, id))

const listRuns = async (): Promise<void> => {
  const { items } = await edge.runs.list({ query: { limit: 20 } })
  const rows = items.map(({ agentId, id, input, state }) => {
    const row = document.createElement("li")
    row.append(
      button(`${agentId}: ${state}`, () => follow(id)),
      ` ${input.text.slice(0, 80)}`
    )
    return row
  })
  element("runs").replaceChildren(...rows)
}

/** Requests that wait for a decision, each with its buttons. */
const showRequests = async (runId: string, { pending }: RunView): Promise<void> => {
  const query = { runId, state: "pending" } as const
  const waiting = pending.size === 0 ? [] : (await edge.permissions.list({ query })).items
  const cards = waiting.map(({ id: approvalId, request }) => {
    const card = document.createElement("div")
    const text = document.createElement("pre")
    text.textContent = JSON.stringify(request, undefined, 2)
    const decide = (decision: "allow" | "deny") =>
      edge.permissions.decide({ payload: { runId, approvalId, decision } }).catch((error: unknown) => {
        // Someone else was faster.
        if (!(error instanceof CorralError) || error.code !== "approval_already_resolved") throw error
      })
    card.append(
      text,
      button("Allow", () => decide("allow")),
      button("Deny", () => decide("deny"))
    )
    return card
  })
  element("requests").replaceChildren(...cards)
}

/** One line for each kind of block that a person reads here; `undefined` for the others. */
const lineOf = (block: RunBlock): string | undefined => {
  switch (block.kind) {
    case "message":
      return `${block.role}: ${block.body.text}`
    case "tool":
      return `${block.label}: ${block.isWaiting ? "waits for a decision" : block.status}`
    case "diff":
      return `${block.files} changed, +${block.additions} -${block.deletions}`
    case "warning":
      return block.message
    default:
      return undefined
  }
}

const showRun = (runId: string, view: RunView): void => {
  element("shown").textContent = `The run is ${view.state}`
  element("shown").title = runId
  const lines = view.blocks.flatMap((block) => {
    const text = lineOf(block)
    if (text === undefined) return []
    const line = document.createElement("li")
    line.textContent = text
    return [line]
  })
  element("blocks").replaceChildren(...lines)
}

const follow = async (runId: string): Promise<void> => {
  chosen = runId
  following.abort()
  following = new AbortController()
  const { signal } = following
  try {
    for await (const view of edge.runView(runId, { signal })) {
      showRun(runId, view)
      await showRequests(runId, view)
    }
  } catch (error) {
    if (!signal.aborted) throw error
  }
}

form.addEventListener("submit", (event) => {
  event.preventDefault()
  void attempt(async () => {
    const { agent, text, workspace } = fields
    const payload = {
      workspace: workspace.value,
      agentId: agent.value,
      mode: "ask",
      input: { text: text.value }
    } as const
    const { id } = await edge.runs.create({ payload })
    text.value = ""
    await follow(id)
  })
})

/** One connection to one Edge, until it is lost. */
const live = async (): Promise<void> => {
  edge = edgeClient(await edgeLocation())
  const [workspaces, agents] = await Promise.all([edge.workspaces.list({}), edge.agents.list({})])
  fields.workspace.replaceChildren(...options(workspaces.items))
  fields.agent.replaceChildren(...options(agents.items))
  await listRuns()
  element("connection").textContent = "Connected."
  const runId = chosen
  if (runId !== undefined) void attempt(() => follow(runId))
  let listed = Promise.resolve()
  for await (const { decoded } of edge.allEvents({ maxFailures: 0 }))
    if (
      decoded._tag === "KnownEvent" &&
      /^run\.(created|started|completed|failed|cancelled)$/.test(decoded.event.type)
    )
      listed = listed.then(listRuns, listRuns)
}

for (;;) {
  try {
    await live()
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    element("connection").textContent = `The Edge cannot be reached. Trying again. ${reason}`
  }
  await new Promise((resolve) => setTimeout(resolve, 1_000))
}
