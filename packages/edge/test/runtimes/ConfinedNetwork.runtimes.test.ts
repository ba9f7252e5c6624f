/**
 * Connections of real programs in confined runs: a command of the program, or its own tool, connects to a host that the user decides about. The
 * Edge is in this process, and the outside is a server of the test.
 */
import type { AgentId } from "@corral/domain/identity/Ids"
import type { Approval, Decision } from "@corral/domain/approval/Approval"
import { until } from "@corral/testing/time/Until"
import { afterAll, assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { once } from "node:events"
import { existsSync, mkdirSync, writeFileSync } from "node:fs"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { createServer as createSecureServer } from "node:https"
import type { AddressInfo } from "node:net"
import { dirname, join } from "node:path"
import { pageOfApprovals } from "../../src/store/EdgeRequestRows.ts"
import { makeEdgeConfig } from "../../src/config/EdgeConfig.ts"
import { makeRunAuthority } from "../../src/network/RunAuthority.ts"
import { NetworkAccess } from "../../src/network/NetworkAccess.ts"
import { RunSupervisor } from "../../src/run/RunSupervisor.ts"
import { Store } from "../../src/store/Store.ts"
import { canConfine } from "../confinement/CanConfine.ts"
import { inMemory, linesOf, startEdge, startRun } from "../Embedded.ts"
import { temporaryFolder } from "../Folder.ts"
import { Outside, PUBLIC } from "../network/Outside.ts"
import { FakeModels, RIGHT_KEY } from "./FakeModels.ts"
import { install, type Installed } from "./Installation.ts"
import { programs } from "./Programs.ts"
import { promptFor } from "./Script.ts"

const report: Array<string> = []
afterAll(() => console.log(report.join("\n")))

/** Programs whose command connects, and programs whose own tool does. */
const byCommand = ["claude-code", "codex", "opencode-acp", "qwen", "copilot-acp"]
const byTool = ["claude-code", "opencode-acp"]

/** Claude Code shows this tool to its model only after a search, and asks its own service about the host first. */
const settings: Readonly<Record<string, object>> = {
  "claude-code": { skipWebFetchPreflight: true, env: { ENABLE_TOOL_SEARCH: "false" } }
}

const places: Array<{ readonly agentId: string; readonly place: Installed }> = []
for (const program of programs) {
  const ids = [...program.agents.map(({ id }) => id), ...(program.alsoAs ?? [])]
  for (const agentId of ids.filter((id) => byCommand.includes(id) || byTool.includes(id)))
    places.push({ agentId, place: await install(program) })
}

const FROM_OUTSIDE = "a page from outside"

const open = Effect.fnUntraced(function* ({ bin, program }: Installed, agentId: string, isSecure = false) {
  const folder = yield* temporaryFolder
  const [home, workspace] = [join(folder, "home"), join(folder, "workspace")]
  for (const each of [join(home, ".claude"), workspace]) mkdirSync(each, { recursive: true })
  if (settings[agentId] !== undefined)
    writeFileSync(join(home, ".claude", "settings.json"), JSON.stringify(settings[agentId]))
  const models = new FakeModels()
  models.workspace = workspace
  yield* Effect.acquireRelease(
    Effect.promise(() => models.start()),
    () => Effect.sync(() => models.stop())
  )
  const { certificate, signed } = yield* Effect.promise(() => makeRunAuthority([["asked.test"]], Date.now()))
  const authority = join(folder, "authority.pem")
  writeFileSync(authority, certificate)
  const respond = (_: IncomingMessage, response: ServerResponse) =>
    void response.writeHead(200, { "content-type": "text/plain" }).end(FROM_OUTSIDE)
  const server = isSecure ? createSecureServer(signed[0] ?? {}, respond) : createServer(respond)
  yield* Effect.acquireRelease(
    Effect.promise(() => once(server.listen(0, "127.0.0.1"), "listening")),
    () => Effect.sync(() => server.close())
  )
  // It listens on a port, not on a path.
  const { port } = server.address() as AddressInfo
  const outside = new Outside(port, { "asked.test": [PUBLIC] })
  const config = makeEdgeConfig({
    home: join(folder, "edge"),
    confinement: "required",
    runHosts: [new URL(models.url).host],
    environment: {
      ...program.settle({ home, models: models.url, key: RIGHT_KEY }),
      NODE_EXTRA_CA_CERTS: authority,
      HOME: home,
      PATH: [bin, dirname(process.execPath), "/usr/local/bin", "/usr/bin", "/bin"].join(":")
    },
    workspaces: [{ id: "here", path: workspace }]
  })
  const parts = Layer.merge(inMemory, Layer.succeed(NetworkAccess, outside.access))
  const services = yield* startEdge(config, parts)
  const supervisor = Context.get(services, RunSupervisor)
  const store = Context.get(services, Store)

  /** Plays a prompt. Actions of the agent are allowed, and other hosts than the one of the test are denied. */
  const play = Effect.fnUntraced(function* (
    prompt: string,
    decision: Decision,
    mayDecide: () => boolean = () => true
  ) {
    const runPromise = Effect.runPromiseWith(yield* Effect.context())
    const run = yield* startRun(services, prompt, { agentId: agentId as AgentId })
    const approvals: Array<Approval> = []
    const decide = async (): Promise<true | undefined> => {
      for (const approval of pageOfApprovals(store, { runId: run.id, state: "pending", limit: 10 })) {
        const { action, title, tool } = approval.request
        const isConnection = action === "network" && tool === undefined
        const isAsked = isConnection && title.includes("asked.test")
        if (isAsked && !approvals.some(({ id }) => id === approval.id)) approvals.push(approval)
        if (isAsked && !mayDecide()) continue
        const answer = isAsked ? decision : isConnection ? "deny" : "allow"
        await runPromise(
          supervisor.decide(run.id, approval.id, { decision: answer, scope: "once" }, { by: "local" })
        )
      }
      const { state } = await runPromise(supervisor.get(run.id))
      return state === "completed" || state === "failed" ? true : undefined
    }
    yield* Effect.promise(() => until(decide, "the end of the run", 90_000))
    const text = (yield* linesOf(services, run)).join("\n")
    return { text, approvals, last: models.requests.at(-1) ?? "" }
  })
  return { outside, play, workspace }
})

describe.skipIf(!canConfine)("connections of real programs in confined runs", { timeout: 180_000 }, () => {
  for (const { agentId, place } of places) {
    if (place.missing !== undefined) {
      it.skip(`with ${agentId}: ${place.missing}`)
      continue
    }
    describe.runIf(byCommand.includes(agentId))(`a command of ${agentId}`, () => {
      it.live("continues when its host is allowed, and gets a refusal when it is denied", () =>
        Effect.gen(function* () {
          const { outside, play } = yield* open(place, agentId)
          const prompt = promptFor("run", "curl -sS http://asked.test/page")
          const denied = yield* play(prompt, "deny")
          assert.include(denied.text, "run.completed")
          assert.strictEqual(denied.approvals.length, 1)
          assert.include(denied.last, "was not approved", "the model receives the refusal")
          assert.deepStrictEqual(outside.connected, [])
          const allowed = yield* play(prompt, "allow")
          assert.include(allowed.text, "run.completed")
          assert.strictEqual(allowed.approvals.length, 1)
          assert.include(allowed.last, FROM_OUTSIDE, "the model receives the page")
          assert.strictEqual(outside.connected.length, 1)
          report.push(`${agentId}, command: denied, then allowed`)
        })
      )

      it.live("succeeds at its next attempt if the decision comes later", () =>
        Effect.gen(function* () {
          const { play, workspace } = yield* open(place, agentId)
          const [waited, decided] = ["waited.txt", "decided.txt"]
          const fetchTwice = `curl -sS --max-time 1 http://asked.test/; touch ${waited}; while ! test -e ${decided}; do sleep 0.1; done; curl -sS http://asked.test/`
          let isDecided = false
          const later = () => {
            if (isDecided) return true
            if (!existsSync(join(workspace, waited))) return false
            isDecided = true
            // The first attempt has ended. The second one begins when the decision is there.
            setImmediate(() => writeFileSync(join(workspace, decided), ""))
            return true
          }
          const { approvals, last, text } = yield* play(promptFor("run", fetchTwice), "allow", later)
          assert.include(text, "run.completed")
          assert.strictEqual(approvals.length, 1)
          assert.include(last, FROM_OUTSIDE)
          report.push(`${agentId}, command: allowed after the first attempt`)
        })
      )
    })

    describe.runIf(byTool.includes(agentId))(`a tool of ${agentId}`, () => {
      it.live("continues when its host is allowed, and fails when it is denied", () =>
        Effect.gen(function* () {
          // Claude Code makes HTTPS of HTTP.
          const isSecure = agentId === "claude-code"
          const { outside, play } = yield* open(place, agentId, isSecure)
          const prompt = promptFor("fetch", `${isSecure ? "https" : "http"}://asked.test/page`)
          const denied = yield* play(prompt, "deny")
          assert.include(denied.text, "run.completed")
          assert.strictEqual(denied.approvals.length, 1)
          assert.notInclude(denied.last, FROM_OUTSIDE)
          assert.deepStrictEqual(outside.connected, [])
          const allowed = yield* play(prompt, "allow")
          assert.include(allowed.text, "run.completed")
          assert.strictEqual(allowed.approvals.length, 1)
          assert.isAbove(outside.connected.length, 0)
          assert.match(allowed.text, /"run.tool.result".*"status":"completed"/)
          // Some give the page to another model, and its answer to theirs.
          const sees = allowed.last.includes(FROM_OUTSIDE) ? "the page" : "a summary of the page"
          report.push(`${agentId}, tool: denied, then allowed: the model receives ${sees}`)
        })
      )
    })
  }
})
